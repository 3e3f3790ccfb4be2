#!/usr/bin/env bash
# Runs the simulation: many seeded worlds in virtual time, full of faults, and checkers that see everything.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/simulation/run.sh [--seeds A..B | --seconds S] [--profile NAME] [--rule NAME] [--json FILE]
       test/simulation/run.sh --seed S [--profile NAME] [--trace]
       test/simulation/run.sh --scenario NAME [--trace]
       test/simulation/run.sh --mutants [--half 1|2 | --mutant NAME] [--seeds A..B] [--profile NAME] [--json FILE]
       test/simulation/run.sh [--profiles | --scenarios | --help]

Prepares the machine (cmake/bootstrap.sh), builds, and runs schedules: each is a world of clients, instances and a
network of its own, made from a seed, in virtual time, with the library's own engine and whatever faults the profile
has in force. Prints schedules, steps, injected faults by kind, acquisitions, violations and the rate. Exit code 0
only if nothing was violated and all faults of the profiles were really injected.

  --seeds A..B     these schedules (default 1..10000; with --mutants 1..3000)
  --seconds S      fresh seeds for so long, and before them all that ever failed (failed_seeds.txt)
  --profile NAME   all with these faults; without, the seed decides
  --rule NAME      only violations of this rule count (see checker.hpp), as with --rule "mutual exclusion"
  --profiles       the names, and what they stand for
  --json FILE      write all figures to FILE
  --seed S         one schedule
  --scenario NAME  one thing that goes wrong, step by step, with exact expectations (see scenario.cpp)
  --scenarios      their names, and what they are about
  --trace          the schedule, or the scenario, told as a timeline
  --mutants        run broken variants of the library, and say in how many schedules each is caught; all must be, and
                   also by the scenarios that were made for it
  --half 1|2       with --mutants: only every other one, from the first or the second on
  --mutant NAME    with --mutants: only those that have this in their names
  --help           this text

Environment: COLOCK_BOOST_VERSION=1.NN picks the Boost (see cmake/bootstrap.sh --help).
TEXT
}

options=()
program=colock_simulation
while (($# > 0)); do
    case $1 in
        --mutants) program=colock_simulation_mutants; options+=("$1") ;;
        --trace | --profiles | --scenarios) options+=("$1") ;;
        --seconds)
            option_value "$@"
            options+=("$1" "$2" --failed-seeds "$colock_root/test/simulation/failed_seeds.txt")
            shift
            ;;
        --json) output_option "$@"; options+=("$1" "$2"); shift ;;
        --seeds | --seed | --scenario | --profile | --rule | --half | --mutant) option_value "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap
colock_build release "$program"
say "simulating"
run_interruptible "$colock_root/build/release/test/simulation/$program" "${options[@]}"
