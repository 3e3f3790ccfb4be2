#!/usr/bin/env bash
# Measures colock and compares it with a hand-written RESP loop, on servers that it starts itself.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"
# shellcheck source-path=SCRIPTDIR source=../interop/others.sh
source "$colock_root/test/interop/others.sh"

usage() {
    cat <<'TEXT'
Usage: test/benchmark/run.sh [--quick] [--workload NAME] [--peers] [--repetitions N] [--seconds S] [--check]
                             [--json FILE] [--chart FILE.svg] [--section FILE.md]
       test/benchmark/run.sh --from FILE [--chart FILE.svg] [--section FILE.md]
       test/benchmark/run.sh --micro
       test/benchmark/run.sh --help

Prepares the machine (cmake/bootstrap.sh) and builds the release with interprocedural optimization. Starts redis-servers
on free loopback ports and runs the workloads. Prints tables of medians, and the bounds that colock has set itself.

Three clients run in alternation:
  colock       this library
  raw          a hand-written RESP loop that does only what a lock needs
  boost_redis  the same loop with Boost.Redis, and one request for each command

Workloads:
  uncontended     1 and 5 servers with 1, 64 and 1,000 tasks, each with a lock of its own
  paced           one task that pauses for 5 ms after each command. It shows the cost of waking up.
  hot_key_local   all tasks of one client compete for one lock, with 64 hand-offs (the default) and without a limit
  hot_key_hold    tasks that hold one lock for a while: 16 in one process, in two, and in 16 processes
  watchdog        one client holds and renews 100,000 leases for a minute
  slow_minority   64 tasks with a lock each, while two of five servers are stopped or 200 ms away

Workloads that run only if --workload names them:
  shared          a shared_mutex compared with a mutex: writes, reads, one hot name read inside one process, and 16
                  processes on one name with 90 % reads
  reentrant       a reentrant_mutex compared with a mutex, and how often an owner enters again by try_reenter
  fifo            a mutex with a binding order compared with one without: a name for each task, and one name for all
  versioned       compare_exchange and update of a versioned value compared with a mutex, on one server: a name for each
                  task, and one name for all
  once            once compared with a mutex: it finds a result, and it runs its body for a new name each time
  semaphore       a semaphore compared with a mutex: one permit, 16 free ones, 16 of which 8 are taken, and 1,024 that are
                  all out while 64 waiters want one
  multi           a multi_mutex of 2, 4 and 16 names compared with a mutex
  overload        1,000 and 100,000 tasks with a lock each, while the client holds 1,000 leases. With 1, 3 and 5 servers,
                  with one of five stopped or 100 ms away, and with half a core for the client.
  outage          20,000, 40,000 and 80,000 tasks with a lock each, while all servers stop for 3 s. With 3 servers, also beside
                  8 busy loops, with a Sentinel and with a Cluster.
  cluster         a Redis Cluster of one master and of three, at full speed and with limited speed
  native_release  releases on Valkey by its own command and by a script

  --quick          5 servers only, 3 repetitions of 1 s. Takes three minutes instead of twelve.
                   (hot_key_hold: 3 s. watchdog: one run of 15 s.)
  --workload NAME  run only this workload
  --peers          also measure node-redlock and, with one server, redis-py's asyncio Lock. This applies to uncontended,
                   and to hot_key_hold in one process. `redlock+` is node-redlock with its fastest settings.
  --repetitions N  runs of each measurement (default: 5)
  --seconds S      duration of each run in seconds (default: 2)
  --check          exit with code 1 if a bound is not met
  --json FILE      write all figures to FILE
  --chart FILE     draw the throughput of uncontended with its spread, as SVG
  --section FILE   write tables of the figures and bounds, as Markdown
  --from FILE      measure nothing: make the chart and the section from a file that --json has written
  --micro          run the microbenchmarks instead (Google Benchmark): state machines, wire format and timers
  --help           print this text

Environment:
  COLOCK_REDIS_SERVER=PROGRAM   server to start (default: redis-server)
  COLOCK_BOOST_VERSION=1.NN     version of Boost to use (see cmake/bootstrap.sh --help)
TEXT
}

options=()
needs=(--benchmarks)
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
            if [[ $2 == native_release ]]; then needs=(--benchmarks --valkey); fi
            shift
            ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap "${needs[@]}"
if [[ " ${needs[*]} " == *" --valkey "* ]] && [[ -z ${COLOCK_REDIS_SERVER:-} ]]; then
    # Prefers the unpacked Valkey over that of the system.
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
