# shellcheck shell=bash
# Finds or fetches other lock libraries. Sourced after cmake/script.sh.
# shellcheck disable=SC2154  # colock_root and colock_script are set there

# Skips the test. A missing network is not a failure of colock.
cannot_be_had() { printf '%s: skipped, %s\n' "$colock_script" "$*" >&2; exit 3; }

has_node() { command -v node >/dev/null && command -v npm >/dev/null; }

# Prints the first Python that has redis-py. Debian's package is only for Debian's own Python.
python_with_redis() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import redis.lock' 2>/dev/null; then printf '%s' "$python"; return 0; fi
    done
    return 1
}

install_others() { "$colock_root/cmake/bootstrap.sh" --interop || say "not all could be installed"; }

# fetch_redlock FOLDER SCRIPT: Installs node-redlock and a script that uses it in the folder. The script
# imports node-redlock from there. If both are already installed, this is quick and needs no network.
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
