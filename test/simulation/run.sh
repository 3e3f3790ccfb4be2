#!/usr/bin/env bash
# Runs the simulation: many seeded worlds with faults in virtual time. Checkers with full knowledge observe
# them.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/simulation/run.sh [--seeds A..B | --seconds S] [--profile NAME] [--rule NAME] [--json FILE]
       test/simulation/run.sh --seed S [--profile NAME] [--mutant NAME] [--trace]
       test/simulation/run.sh --scenario NAME [--mutant NAME] [--trace]
       test/simulation/run.sh --mutants [--mutant NAME] [--update-seeds] [--seeds A..B] [--profile NAME] [--json FILE]
       test/simulation/run.sh --profiles | --scenarios | --help

Prepares the machine (cmake/bootstrap.sh), builds, and runs schedules in virtual time. A schedule is a world with clients,
instances and a network, made from a seed. The clients run the library's own engine. A profile says which faults the
world injects. Prints the number of schedules, steps, faults of each kind, acquisitions and violations, and the rate. The
exit code is 0 only if there was no violation and each fault of the profiles was injected.

  --seeds A..B     run these seeds (default: 1..10000)
  --seconds S      run new seeds for S seconds, after all seeds that have ever failed (failed_seeds.txt)
  --profile NAME   use this profile for all seeds (default: the seed selects one)
  --rule NAME      count only violations of this rule, for example "mutual exclusion". checker.hpp lists the rules.
  --json FILE      write all figures to FILE
  --seed S         run one schedule
  --scenario NAME  run one scenario: a few steps with exact expectations (see scenario_*.cpp)
  --trace          print the schedule or the scenario as a timeline
  --mutants        run variants of the library with one fault each, and print what catches each: the scenarios that name
                   it, which must all fail, or else a schedule with a violation. The seed of mutant_seeds.txt comes first.
  --update-seeds   with --mutants: write the seeds that were found to mutant_seeds.txt
  --mutant NAME    with --mutants: run only the mutants whose names contain NAME
                   with --seed or --scenario: run it with this mutant, to see what catches it
  --profiles       print the profiles with their descriptions
  --scenarios      print the scenarios with their descriptions
  --help           print this text

Environment:
  COLOCK_BOOST_VERSION=1.NN   version of Boost to use (see cmake/bootstrap.sh --help)
TEXT
}

options=()
program=colock_simulation
while (($# > 0)); do
    case $1 in
        --mutants)
            program=colock_simulation_mutants
            options+=("$1" --mutant-seeds "$colock_root/test/simulation/mutant_seeds.txt")
            ;;
        --update-seeds | --trace | --profiles | --scenarios) options+=("$1") ;;
        --seconds)
            option_value "$@"
            options+=("$1" "$2" --failed-seeds "$colock_root/test/simulation/failed_seeds.txt")
            shift
            ;;
        --json) output_option "$@"; options+=("$1" "$2"); shift ;;
        --mutant) option_value "$@"; program=colock_simulation_mutants; options+=("$1" "$2"); shift ;;
        --seeds | --seed | --scenario | --profile | --rule) option_value "$@"; options+=("$1" "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap "${colock_release_needs[@]}"
colock_build release "$program"
say "simulating"
run_interruptible "$colock_root/build/release/test/simulation/$program" "${options[@]}"
