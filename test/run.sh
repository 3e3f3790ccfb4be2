#!/usr/bin/env bash
# Bootstraps, builds, and runs colock's tests.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/run.sh [--all [--turn NAME] | --asan | --tsan | --coverage]
       test/run.sh --standstill [--seed N]
       test/run.sh --help

Prepares the machine (cmake/bootstrap.sh), builds, and runs the first tier of the tests. It is for users and for daily work:
  - unit tests, the checks of the documents and of the layers
  - conformance and integration tests on the system's redis-server
  - the scenarios of the simulation, and ten seconds of random worlds
  - a consumer of the installed library

Prints the figures of the simulation and ctest's summary. The exit code is 0 only if all tests passed.
If an integration test fails, it is repeated once, alone (see test/repeat_failed.sh --help).

  --all        also run the second tier: examples, other servers, mutants of the simulation, packages and recipes, other lock
               libraries, the page of the like counter, Prometheus, random faults, and tests that take longer than a minute.
               test/second_tier.txt lists the labels of these tests.
  --turn NAME  with --all, of the other servers use only NAME: valkey or redis8. Tests for which each server matters still use
               both. Leave out a test on the system's server if it also runs on NAME. .ci/run uses this, because it
               runs the tests on the system's server under AddressSanitizer.
  --without LABEL  with --all, leave out the tests with this label. May be repeated.
  --coverage   run the unit tests of src/core only, and print its line coverage. Fails if it is below 95 %.
  --asan       run unit and integration tests under AddressSanitizer and UndefinedBehaviorSanitizer
  --tsan       run the tests in which more than one thread uses colock under ThreadSanitizer
  --standstill run integration tests only, in the dev build. Each test and its servers are stopped again and again for up to
               300 ms (see test/standstill.sh --help). A failed test is not repeated. The second tier is left out. Its
               random faults stop servers themselves and count each outage.
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
    run_tests coverage
    say "line coverage of src/core"
    gcovr --root "$colock_root" --filter "$colock_root/src/core/" --exclude-unreachable-branches --exclude-throw-branches \
        --fail-under-line 95 "$colock_root/build/coverage" || die "the line coverage of src/core is under 95 %"
}

test_standing_still() {
    colock_build dev integration_tests
    say "testing (dev)"
    cd "$colock_root"
    test/standstill.sh "${seed[@]}" ctest --preset dev --label-regex '^integration$' "${selection[@]}"
}

mode=first_tier
turn=
without=()
seed=()
set_mode() {
    if [[ $mode != first_tier && $mode != "$1" ]]; then refuse "--$1 and --$mode exclude each other"; fi
    mode=$1
}
while (($# > 0)); do
    case $1 in
        --all | --coverage | --asan | --tsan | --standstill) set_mode "${1#--}" ;;
        --turn)
            option_value "$@"
            if [[ $2 != valkey && $2 != redis8 ]]; then refuse "--turn needs valkey or redis8, not $2"; fi
            turn=$2
            shift
            ;;
        --without) option_value "$@"; without+=("$2"); shift ;;
        --seed) option_value "$@"; seed=(--seed "$2"); shift ;;
        *) common_option "$1" ;;
    esac
    shift
done
if [[ $mode != all ]] && [[ -n $turn ]]; then refuse "--turn is an option of --all"; fi
if [[ $mode != all ]] && ((${#without[@]} > 0)); then refuse "--without is an option of --all"; fi
if [[ $mode != standstill ]] && ((${#seed[@]} > 0)); then refuse "--seed is an option of --standstill"; fi
if [[ $turn == valkey ]]; then without+=(also_on_valkey turn_of_redis8); fi
if [[ $turn == redis8 ]]; then without+=(also_on_redis8 turn_of_valkey); fi
if [[ $mode == first_tier || $mode == standstill ]]; then mapfile -t without < <(grep -v -e '^#' -e '^$' "$colock_root/test/second_tier.txt"); fi
if [[ $mode == asan || $mode == tsan ]]; then without=(long); fi
selection=()
if ((${#without[@]} > 0)); then selection=(--label-exclude "^($(IFS='|'; printf '%s' "${without[*]}"))\$"); fi

if [[ -z ${COLOCK_FLAKY:-} ]]; then
    export COLOCK_FLAKY=$colock_root/build/flaky.txt
    rm -f "$COLOCK_FLAKY"
fi

case $mode in
    coverage) colock_bootstrap --tests --coverage ;;
    asan | tsan) colock_bootstrap --tests ;;
    *) colock_bootstrap "${colock_release_needs[@]}" ;;
esac
if [[ $mode != first_tier && $mode != coverage ]]; then
    "$colock_root/cmake/bootstrap.sh" --servers || say "tests on other servers than the system's are left out"
fi
case $mode in
    first_tier)
        colock_build release first_tier
        run_tests release "${selection[@]}"
        ;;
    all)
        colock_build release
        run_tests release "${selection[@]}"
        ;;
    coverage) measure_coverage ;;
    standstill) test_standing_still ;;
    asan | tsan)
        colock_build "$mode"
        run_tests "$mode" "${selection[@]}"
        ;;
esac
