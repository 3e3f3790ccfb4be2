#!/usr/bin/env bash
# Tests repeat_failed.sh with small ctest projects. ctest runs it. It is not meant to be run by hand.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export COLOCK_FLAKY=$work/build/flaky.txt

fail() { printf 'repeat_failed_test.sh: %s:\n%s\n' "$*" "$output" >&2; exit 1; }

new_project() {
    rm -rf "$work/tests" "$work/runs"
    mkdir -p "$work/tests" "$work/runs"
}

# Starts a project for which no flaky test is known.
new_run() {
    rm -rf "$work/build"
    new_project
}

# add_test NAME LABEL COMMAND [TIMEOUT]: adds a test. bash runs the command, with the number of
# this run in $run.
add_test() {
    printf 'add_test("%s" bash "-c" [==[\n%s\n]==])\nset_tests_properties("%s" PROPERTIES LABELS "%s" TIMEOUT %s)\n' \
        "$1" "printf 'x' >>'$work/runs/$1'; run=\$(wc -c <'$work/runs/$1'); $3" "$1" "$2" "${4:-60}" >>"$work/tests/CTestTestfile.cmake"
}

# shellcheck disable=SC2016  # the variable is for the tests' shell
readonly once='echo "run $run of a test that fails once"; ((run > 1))'

# expect_run STATUS SUMMARY: runs the project. Compares the exit code (0, or any other) and
# ctest's last count.
expect_run() {
    local status=0
    output=$("$root/test/repeat_failed.sh" "$work/tests" --test-dir "$work/tests" --output-on-failure 2>&1) || status=$?
    (((status == 0) == ($1 == 0))) || fail "exit code $status"
    [[ $(grep -E '^[0-9]+% tests passed' <<<"$output") == "$2" ]] || fail "its summary is not \"$2\""
}

# expect_runs NAME COUNT
expect_runs() { (($(wc -c <"$work/runs/$1") == $2)) || fail "$1 did not run $2 times"; }

# expect_flaky NAME...: checks that the file has these names and no others.
expect_flaky() {
    [[ $(sed -n 's/^FLAKY //p' "$COLOCK_FLAKY" 2>/dev/null | paste -sd ' ') == "$*" ]] || fail "flaky are not exactly: $*"
}

# A test that fails once is repeated, and ctest's summary ends the output as if it had passed.
new_run
add_test passes integration true
add_test case.fault-70 "long;integration" "$once"
add_test caseXfault-70 integration true
expect_run 0 "100% tests passed, 0 tests failed out of 3"
expect_runs case.fault-70 2
expect_runs caseXfault-70 1
expect_flaky case.fault-70
grep -qx '    run 1 of a test that fails once' "$COLOCK_FLAKY" || fail "the file lacks the output of the failure"
! grep -q 'run 2' "$COLOCK_FLAKY" || fail "the file has the output of the repetition"
[[ $output == *"Total Test time"* && $output != *"tests FAILED"* && $output != *"Errors while running"* ]] ||
    fail "the end is not that of a run that passed"

# A second failure of a flaky test in the same CI run fails it.
new_project
add_test case.fault-70 integration "$once"
expect_run 1 "0% tests passed, 1 tests failed out of 1"
expect_runs case.fault-70 1

# Two flaky tests pass, in one run or in two.
new_project
add_test second integration "$once"
expect_run 0 "100% tests passed, 0 tests failed out of 1"
expect_flaky case.fault-70 second

# A third flaky test fails the run.
new_project
add_test third integration "$once"
expect_run 1 "0% tests passed, 1 tests failed out of 1"
new_run
for name in one two three; do add_test "$name" integration "$once"; done
add_test passes integration true
expect_run 1 "25% tests passed, 3 tests failed out of 4"

# If the repetition of a test fails, this test fails the run. The flaky test does not.
new_run
add_test flaky integration "$once"
add_test always_fails integration 'echo "what went wrong"; false'
expect_run 1 "50% tests passed, 1 tests failed out of 2"
expect_runs always_fails 2
expect_flaky flaky
failed=$(sed -n '/tests FAILED/,$p' <<<"$output")
[[ $failed == *always_fails* && $failed != *flaky* ]] || fail "the list of failed tests is wrong"

# A test without the label is not repeated.
new_run
add_test unit_test unit "$once"
expect_run 1 "0% tests passed, 1 tests failed out of 1"
expect_runs unit_test 1
expect_flaky

# A test with random faults is not repeated. If the second run passes, the first one still found a defect.
new_run
add_test chaos_test "integration;chaos" "$once"
expect_run 1 "0% tests passed, 1 tests failed out of 1"
expect_runs chaos_test 1
expect_flaky

# A test that hangs once is flaky. A test without a program is not.
new_run
# shellcheck disable=SC2016
add_test hangs integration '((run > 1)) || exec sleep 60' 5
expect_run 0 "100% tests passed, 0 tests failed out of 1"
expect_flaky hangs
new_run
printf 'add_test(missing "%s")\nset_tests_properties(missing PROPERTIES LABELS integration)\n' "$work/none" \
    >"$work/tests/CTestTestfile.cmake"
expect_run 1 "0% tests passed, 1 tests failed out of 1"
expect_flaky
[[ $output != *"repeating"* ]] || fail "a test without a program was repeated"

# If nothing fails, the output is that of ctest.
new_run
add_test passes unit true
expect_run 0 "100% tests passed, 0 tests failed out of 1"
[[ $output != *"near their timeout"* ]] || fail "a test far from its timeout was listed"

# A test that takes more than half of its timeout is listed, whether it passes or fails. It does
# not fail the run.
export COLOCK_NEAR_TIMEOUT=$work/near_timeout.txt
new_run
add_test is_quick unit true
add_test is_slow unit 'sleep 3' 6
expect_run 0 "100% tests passed, 0 tests failed out of 2"
grep -A1 '^== tests near their timeout$' <<<"$output" | grep -qE '^is_slow: [0-9.]+ s of 6 s$' || fail "the slow test is not listed"
[[ $output != *is_quick:* ]] || fail "the quick test is listed"
new_run
add_test hangs unit 'sleep 60' 1
expect_run 1 "0% tests passed, 1 tests failed out of 1"
[[ $(sed 's/:.*//' "$COLOCK_NEAR_TIMEOUT") == $'is_slow\nhangs' ]] || fail "the file does not have the lists of both runs"
