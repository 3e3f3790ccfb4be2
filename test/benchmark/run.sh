#!/usr/bin/env bash
# Measures colock against a hand-written RESP loop, on servers of its own.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"
# shellcheck source-path=SCRIPTDIR source=../interop/others.sh
source "$colock_root/test/interop/others.sh"

usage() {
    cat <<'TEXT'
Usage: test/benchmark/run.sh [--micro]
       test/benchmark/run.sh --from FILE [--chart FILE.svg] [--section FILE.md]
       test/benchmark/run.sh [--quick] [--workload NAME] [--peers] [--json FILE] [--chart FILE.svg] [--section FILE.md] [--check]
                             [--repetitions N] [--seconds S] [--help]

Prepares the machine (cmake/bootstrap.sh), builds the release with interprocedural optimization, starts redis-servers on free
loopback ports, measures, and prints tables of medians, and the bounds that colock has set itself. The workloads:

  uncontended     `raw`, a hand-written RESP loop that does nothing but what a lock must, `boost_redis`, the same by Boost.Redis
                  with a request for each command, and `colock`, in alternation: 1 and 5 servers, 1, 64 and 1000 tasks, each
                  with a lock of its own
  paced           the same three, one task that pauses for 5 ms after each command: what waking up costs
  hot_key_local   all tasks of one client on one lock, handed off 64 times (the default), or as often as there is time
  hot_key_hold    16 tasks of one process, two processes, 16 processes on one lock, which each holds for a while
  watchdog        one client holds 100,000 leases for a minute, and renews them
  slow_minority   64 tasks with a lock each, and two of five servers stopped, or 200 ms away; and the same of `raw`
  shared          a shared_mutex beside a mutex: write and read, each task with a lock of its own; one hot name read inside one
                  process; 16 processes on one name at 90 % reads, for 20 s; only when it is named
  overload        1,000 and 100,000 tasks with a lock each beside 1,000 leases: 1, 3 and 5 servers; of five, one stopped, one 100 ms away,
                  and half a core for the client; only when it is named
  cluster         a Redis Cluster of one master and of three, as fast as they are, and held back; only when it is named
  native_release  on Valkey, releases by a command of its own and by a script; only when it is named

  --quick          5 servers only, 3 repetitions of 1 s (hot_key_hold: 3 s; watchdog: once 15 s): three minutes instead of twelve
  --workload NAME  only this one
  --peers          also node-redlock (`redlock`, and `redlock+` with the settings that make it fastest), and on one server
                   redis-py's asyncio Lock; in `uncontended` and in `hot_key_hold` inside one process
  --json FILE      write all figures to FILE
  --chart FILE     draw the throughput of `uncontended` with its spread, as SVG
  --section FILE   write tables of the figures and bounds, as Markdown
  --from FILE      instead of measuring: chart and section of what --json has written
  --check          exit code 1 when a bound is not met
  --micro          instead of all that: the state machines, the wire format and the timers by themselves (Google Benchmark)
  --repetitions N  of each run (default 5)
  --seconds S      of each run (default 2)
  --help           this text

Environment: COLOCK_REDIS_SERVER names the server to use instead of redis-server; COLOCK_BOOST_VERSION=1.NN picks the
Boost (see cmake/bootstrap.sh --help).
TEXT
}

options=()
bootstrap_options=()
peers=false
micro=false
from=
while (($# > 0)); do
    case $1 in
        --quick | --check) options+=("$1") ;;
        --peers) peers=true ;;
        --micro) micro=true ;;
        --from)
            option_value "$@"
            from=$2
            shift
            ;;
        --json | --chart | --section)
            output_option "$@"
            options+=("$1" "$2")
            shift
            ;;
        --workload | --repetitions | --seconds)
            option_value "$@"
            options+=("$1" "$2")
            if [[ $2 == native_release ]]; then bootstrap_options=(--valkey); fi
            shift
            ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap "${bootstrap_options[@]}"
if ((${#bootstrap_options[@]} > 0)) && [[ -z ${COLOCK_REDIS_SERVER:-} ]]; then
    # The one that was unpacked, or else the system's.
    COLOCK_REDIS_SERVER=$(PATH=$colock_root/build/valkey:$PATH command -v valkey-server) || die "there is no Valkey here"
    export COLOCK_REDIS_SERVER
fi
if $micro; then
    ((${#options[@]} == 0)) || refuse "--micro takes no other options"
    colock_build benchmark colock_micro_benchmark
    exec "$colock_root/build/benchmark/test/benchmark/colock_micro_benchmark"
fi
colock_build benchmark colock_benchmark
if [[ -n $from ]]; then
    for option in "${options[@]}"; do
        if [[ $option == --* && $option != --chart && $option != --section ]]; then
            refuse "--from measures nothing: it takes --chart and --section only, not $option"
        fi
    done
    if $peers; then refuse "--from measures nothing: it takes --chart and --section only, not --peers"; fi
    exec "$colock_root/build/benchmark/test/benchmark/colock_benchmark" report --from "$from" "${options[@]}"
fi
if $peers; then
    if ! has_node || [[ -z $(python_with_redis) ]]; then install_others; fi
    has_node || cannot_be_had "there is no node or npm"
    python=$(python_with_redis) || cannot_be_had "no Python here has redis-py"
    fetch_redlock "$colock_root/build/benchmark/peers" "$colock_root/test/benchmark/peers/node_redlock.mjs"
    options+=(--redlock "$colock_root/build/benchmark/peers/node_redlock.mjs")
    options+=(--redis-py "$python" "$colock_root/test/benchmark/peers/redis_py.py")
fi
say "measuring"
run_with_servers "$colock_root/build/benchmark/test/benchmark/colock_benchmark" run "${options[@]}"
