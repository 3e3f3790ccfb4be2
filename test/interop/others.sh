# shellcheck shell=bash
# Other lock libraries, as far as a registry provides them. Sourced after cmake/script.sh.
# shellcheck disable=SC2154  # colock_root and colock_script are set there

# What nobody can help who has no network: not a failure of ours.
cannot_be_had() { printf '%s: skipped, %s\n' "$colock_script" "$*" >&2; exit 3; }

has_node() { command -v node >/dev/null && command -v npm >/dev/null; }

# The first Python that has redis-py; Debian's package is for Debian's own.
python_with_redis() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import redis.lock' 2>/dev/null; then printf '%s' "$python"; return 0; fi
    done
    return 1
}

install_others() { "$colock_root/cmake/bootstrap.sh" --interop || say "not all could be installed"; }

# fetch_redlock FOLDER SCRIPT: node-redlock, and a script that uses it, which looks for it in its own folder. Quick, and
# without the network, when it was done before.
fetch_redlock() {
    local folder=$1 source=$colock_root/test/interop
    mkdir -p "$folder"
    exec 9>"$folder/.lock"
    flock 9
    cp "$2" "$folder/"
    if [[ ! -e $folder/.complete ]] || ! cmp -s "$source/package-lock.json" "$folder/package-lock.json"; then
        say "fetching node-redlock"
        rm -f "$folder/.complete"
        cp "$source/package.json" "$source/package-lock.json" "$folder/"
        run_interruptible timeout 300 npm ci --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error \
            --fetch-retries=1 --fetch-timeout=60000 || cannot_be_had "npm could not install node-redlock (see above)"
        touch "$folder/.complete"
    fi
    exec 9>&-
}
