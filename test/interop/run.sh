#!/usr/bin/env bash
# Runs colock and other libraries on the same locks. The test with node-redlock uses five servers and one
# server. The test with redis-py's Lock uses one.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"
# shellcheck source-path=SCRIPTDIR source=others.sh
source "$colock_root/test/interop/others.sh"

usage() {
    cat <<'TEXT'
Usage: test/interop/run.sh [--only NAME] [--seconds S] [--json FILE]
       test/interop/run.sh --help

Prepares the machine (cmake/bootstrap.sh --interop), builds, and fetches node-redlock into the build folder. Starts
redis-servers on free loopback ports. Then processes of colock and of another library acquire the same locks.

First it checks step by step that each library respects the locks of the other, and that each can release and extend its
own and let it expire. Then all processes compete for S seconds. If a library acquired the lock less than once per
second, they compete again, up to 12 times. No two critical sections may overlap, colock must acquire the lock S times in
each competition, and no key may remain. If another library acquires it less than S times in all, a NOTE reports this. In
three of the competitions, each process takes up to three names at once.

  --only NAME   run only redlock_n5, redlock_n1, redis_py_n1, redlock_sets_n5, redlock_sets_n1, or sets_n3, in which 16
                processes of colock compete (default: all)
  --seconds S   duration of the competition in seconds, 1 to 3600 (default: 5)
  --json FILE   write all figures to FILE
  --help        print this text

Environment:
  COLOCK_INTEROP_PROGRAMS=DIR   use the programs in this folder instead of building them
  COLOCK_REDIS_SERVER=PROGRAM   server to start (default: redis-server)

Exit codes:
  0  all checks passed
  1  a check failed
  2  wrong usage
  3  the other library is not available on this machine
TEXT
}

only=
options=()
while (($# > 0)); do
    case $1 in
        --only)
            option_value "$@"
            if [[ ! $2 =~ ^(redlock_n5|redlock_n1|redis_py_n1|redlock_sets_n5|redlock_sets_n1|sets_n3)$ ]]; then refuse "--only: no such thing as $2"; fi
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
    colock_bootstrap "${colock_release_needs[@]}"
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
