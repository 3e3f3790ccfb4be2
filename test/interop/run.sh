#!/usr/bin/env bash
# colock and other libraries on the same locks: node-redlock on five servers and on one, redis-py's Lock on one.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"
# shellcheck source-path=SCRIPTDIR source=others.sh
source "$colock_root/test/interop/others.sh"

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
        --json) output_option "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

wanted() { [[ -z $only || $only == "$1"_* ]]; }

programs=${COLOCK_INTEROP_PROGRAMS:-}
if [[ -z $programs ]]; then
    colock_bootstrap
    colock_build release interop_driver
    programs=$colock_root/build/release/test/interop
fi
python=$(python_with_redis || true)
if { wanted redlock && ! has_node; } || { wanted redis_py && [[ -z $python ]]; }; then
    install_others
    python=$(python_with_redis || true)
fi
if wanted redlock; then
    has_node || cannot_be_had "there is no node or npm"
    fetch_redlock "$programs/node" "$colock_root/test/interop/redlock_worker.mjs"
    options+=(--redlock node "$programs/node/redlock_worker.mjs")
fi
if wanted redis_py; then
    [[ -n $python ]] || cannot_be_had "no Python here has redis-py"
    options+=(--redis-py "$python" "$colock_root/test/interop/redis_py_worker.py")
fi

say "colock and ${only:-all others} on the same locks"
run_with_servers "$programs/interop_driver" --colock "$programs/colock_worker" "${options[@]}"
