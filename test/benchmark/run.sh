#!/usr/bin/env bash
# Measures colock against a hand-written RESP loop, on servers of its own.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/benchmark/run.sh [--quick] [--workload NAME] [--json FILE] [--check] [--repetitions N] [--seconds S] [--help]

Prepares the machine (cmake/bootstrap.sh), builds the release with interprocedural optimization, starts redis-servers on free
loopback ports, measures, and prints tables of medians, and the bounds that colock has set itself. The workloads:

  uncontended     `raw`, a hand-written RESP loop that does nothing but what a lock must, and `colock`, in alternation: 1 and
                  5 servers, 1, 64 and 1000 tasks, each with a lock of its own
  hot_key_local   all tasks of one client on one lock, as it is passed on 64 times (the default), or as often as there is time
  hot_key_hold    16 tasks of one process, two processes, 16 processes on one lock, which each holds for a while
  native_release  on Valkey, releases by a command of its own and by a script; only when it is named

  --quick          5 servers only, 3 repetitions of 1 s (hot_key_hold: 3 s): two minutes instead of seven
  --workload NAME  only this one
  --json FILE      write all figures to FILE
  --check          exit code 1 when a bound is not met
  --repetitions N  of each run (default 5)
  --seconds S      of each run (default 2)
  --help           this text

Environment: COLOCK_REDIS_SERVER names the server to use instead of redis-server; COLOCK_BOOST_VERSION=1.NN picks the
Boost (see cmake/bootstrap.sh --help).
TEXT
}

options=()
bootstrap_options=()
while (($# > 0)); do
    case $1 in
        --quick | --check) options+=("$1") ;;
        --workload | --json | --repetitions | --seconds)
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
if ((${#bootstrap_options[@]} > 0)) && [[ -z ${COLOCK_REDIS_SERVER:-} && -x $colock_root/build/valkey/valkey-server ]]; then
    export COLOCK_REDIS_SERVER=$colock_root/build/valkey/valkey-server
fi
colock_build benchmark colock_benchmark
say "measuring"
run_with_servers "$colock_root/build/benchmark/test/benchmark/colock_benchmark" run "${options[@]}"
