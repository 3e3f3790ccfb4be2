#!/usr/bin/env bash
# Measures colock against a hand-written RESP loop, on servers of its own.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/benchmark/run.sh [--quick] [--workload NAME] [--json FILE] [--check] [--repetitions N] [--seconds S] [--help]

Prepares the machine (cmake/bootstrap.sh), builds the release with interprocedural optimization, starts redis-servers on free loopback ports, and runs in
alternation `raw`, a hand-written RESP loop that does nothing but what a lock must, and `colock`: 1 and 5 servers, 1, 64
and 1000 tasks, each with a lock of its own (workload `uncontended`); then `colock` alone with all tasks on one lock, as it is
passed on 64 times (the default) and as often as there is time (workload `hot_key_local`). Prints tables of medians, and
the bounds that colock has set itself.

  --quick          5 servers only, 3 repetitions of 1 s: a minute instead of four
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
while (($# > 0)); do
    case $1 in
        --quick | --check) options+=("$1") ;;
        --workload | --json | --repetitions | --seconds) option_value "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap
colock_build benchmark colock_benchmark
say "measuring"
run_with_servers "$colock_root/build/benchmark/test/benchmark/colock_benchmark" run "${options[@]}"
