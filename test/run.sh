#!/usr/bin/env bash
# Bootstraps, builds, and runs colock's tests.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/run.sh [--coverage | --asan | --tsan] [--quick]
       test/run.sh --standstill [--seed N]
       test/run.sh --help

Prepares the machine (cmake/bootstrap.sh), builds, and runs every test:
  - unit tests and the simulation
  - integration tests on real redis-servers, with a minute of random faults (test/integration/chaos.sh)
  - tests of the package
  - tests with other lock libraries on the same locks

Prints the figures of the simulation and ctest's summary. The exit code is 0 only if all tests passed.
If an integration test fails, it is repeated once, alone (see test/repeat_failed.sh --help).

  --quick      skip the tests that take longer than a minute
  --coverage   run the unit tests of src/core only, and print its line coverage. Fails if it is below 95 %.
  --asan       run unit and integration tests under AddressSanitizer and UndefinedBehaviorSanitizer
  --tsan       run the tests in which more than one thread uses colock under ThreadSanitizer
  --standstill run integration tests only, in the dev build. Each test and its servers are stopped again and again for up to
               300 ms (see test/standstill.sh --help). A failed test is not repeated. Tests with the label "chaos" are
               left out, because they stop servers themselves and count each outage.
  --seed N     seed of the stops, from 0 to 32767 (default: random)
  --help       print this text

Environment:
  COLOCK_BOOST_VERSION=1.NN   version of Boost to use (see cmake/bootstrap.sh --help)
  COLOCK_FLAKY=FILE           file for the flaky tests. It may have entries of earlier runs. (default: a new build/flaky.txt)
TEXT
}

# run_tests PRESET [CTEST OPTION...]
run_tests() {
    local preset=$1
    shift
    say "testing ($preset)"
    (cd "$colock_root" && test/repeat_failed.sh "build/$preset" --preset "$preset" "$@") | with_summaries "$colock_root/build/$preset/test/simulation"
}

# with_summaries FOLDER: copies the output of ctest. If a test has left a summary in the folder, prints
# it below the test.
with_summaries() {
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line"
        if [[ $line =~ Test\ +#[0-9]+:\ ([a-z0-9_]+)\ .*Passed && -f $1/${BASH_REMATCH[1]}.txt ]]; then
            sed 's/^/        /' "$1/${BASH_REMATCH[1]}.txt"
        fi
    done
}

measure_coverage() {
    colock_build coverage core_test
    find "$colock_root/build/coverage" -name '*.gcda' -delete
    run_tests coverage "${selection[@]}"
    say "line coverage of src/core"
    gcovr --root "$colock_root" --filter "$colock_root/src/core/" --exclude-unreachable-branches --exclude-throw-branches \
        --fail-under-line 95 "$colock_root/build/coverage" || die "the line coverage of src/core is under 95 %"
}

test_standing_still() {
    colock_build dev integration_tests
    say "testing (dev)"
    cd "$colock_root"
    test/standstill.sh "${seed[@]}" ctest --preset dev --label-regex '^integration$' --label-exclude '^chaos$'
}

mode=release
selection=()
seed=()
set_mode() {
    if [[ $mode != release && $mode != "$1" ]]; then refuse "--$1 and --$mode exclude each other"; fi
    mode=$1
}
while (($# > 0)); do
    case $1 in
        --quick) selection=(--label-exclude '^long$') ;;
        --coverage | --asan | --tsan | --standstill) set_mode "${1#--}" ;;
        --seed) option_value "$@"; seed=(--seed "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done
if ((${#selection[@]} > 0)) && [[ $mode == standstill ]]; then refuse "--quick and --standstill exclude each other"; fi
if ((${#seed[@]} > 0)) && [[ $mode != standstill ]]; then refuse "--seed is an option of --standstill"; fi

if [[ -z ${COLOCK_FLAKY:-} ]]; then
    export COLOCK_FLAKY=$colock_root/build/flaky.txt
    rm -f "$COLOCK_FLAKY"
fi

case $mode in
    coverage) colock_bootstrap --tests --coverage ;;
    asan | tsan) colock_bootstrap --tests ;;
    *) colock_bootstrap "${colock_release_needs[@]}" ;;
esac
"$colock_root/cmake/bootstrap.sh" --servers || say "tests on other servers than the system's are left out"
case $mode in
    coverage) measure_coverage ;;
    standstill) test_standing_still ;;
    *)
        colock_build "$mode"
        run_tests "$mode" "${selection[@]}"
        ;;
esac
