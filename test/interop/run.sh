#!/usr/bin/env bash
# colock and other libraries on the same locks: node-redlock on five servers and on one, redis-py's Lock on one.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/interop/run.sh [--only NAME] [--seconds S] [--json FILE] [--help]

Prepares the machine (cmake/bootstrap.sh --interop), builds, fetches node-redlock into the build tree, starts
redis-servers on free loopback ports, and lets processes of colock and of another library take the same locks. Checks,
step by step, that each respects what the other holds, releases, extends and lets expire; then, with all of them at it
for S seconds, that no two critical sections overlap, that each library gets its turn, and that nothing is left behind.

  --only NAME   redlock_n5, redlock_n1 or redis_py_n1 (default: all three)
  --seconds S   of contention, 1 to 3600 (default 5)
  --json FILE   write all figures to FILE
  --help        this text

Environment:
  COLOCK_INTEROP_PROGRAMS=DIR   use the programs in this folder instead of building them
  COLOCK_REDIS_SERVER           the server to use instead of redis-server

Exit codes: 0 all well; 1 not so; 2 wrong use; 3 the other library cannot be had on this machine.
TEXT
}

only=
options=()
while (($# > 0)); do
    case $1 in
        --only)
            option_value "$@"
            if [[ ! $2 =~ ^(redlock_n5|redlock_n1|redis_py_n1)$ ]]; then refuse "--only: no such thing as $2"; fi
            only=$2 options+=("$1" "$2")
            shift
            ;;
        --seconds)
            option_value "$@"
            if [[ ! $2 =~ ^[0-9]{1,4}$ ]] || ((10#$2 < 1 || 10#$2 > 3600)); then
                refuse "--seconds needs a number from 1 to 3600, not $2"
            fi
            options+=("$1" "$((10#$2))")
            shift
            ;;
        --json) option_value "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

# What nobody can help who has no network: not a failure of ours.
cannot_be_had() { printf '%s: skipped, %s\n' "$colock_script" "$*" >&2; exit 3; }

wanted() { [[ -z $only || $only == "$1"_* ]]; }

has_node() { command -v node >/dev/null && command -v npm >/dev/null; }

# The first Python that has redis-py; Debian's package is for Debian's own.
python_with_redis() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import redis.lock' 2>/dev/null; then printf '%s' "$python"; return 0; fi
    done
    return 1
}

# fetch_redlock FOLDER: node-redlock and its worker, which looks for it in its own folder. Quick, and without the
# network, when it was done before.
fetch_redlock() {
    local folder=$1 source=$colock_root/test/interop
    mkdir -p "$folder"
    exec 9>"$folder/.lock"
    flock 9
    cp "$source/redlock_worker.mjs" "$folder/"
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

programs=${COLOCK_INTEROP_PROGRAMS:-}
if [[ -z $programs ]]; then
    colock_bootstrap
    colock_build release interop_driver
    programs=$colock_root/build/release/test/interop
fi
python=$(python_with_redis || true)
if { wanted redlock && ! has_node; } || { wanted redis_py && [[ -z $python ]]; }; then
    "$colock_root/cmake/bootstrap.sh" --interop || say "not all could be installed"
    python=$(python_with_redis || true)
fi
if wanted redlock; then
    has_node || cannot_be_had "there is no node or npm"
    fetch_redlock "$programs/node"
    options+=(--redlock node "$programs/node/redlock_worker.mjs")
fi
if wanted redis_py; then
    [[ -n $python ]] || cannot_be_had "no Python here has redis-py"
    options+=(--redis-py "$python" "$colock_root/test/interop/redis_py_worker.py")
fi

say "colock and ${only:-all others} on the same locks"
run_with_servers "$programs/interop_driver" --colock "$programs/colock_worker" "${options[@]}"
