#!/usr/bin/env bash
# Runs ctest, and repeats each failed integration test once.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

readonly most_flaky=2

usage() {
    cat <<TEXT
Usage: test/repeat_failed.sh FOLDER [CTEST OPTION...]
       test/repeat_failed.sh --help

Runs ctest with these options. FOLDER is the build folder of the tests.
If a test with the label "integration" fails, it runs a second time, alone. If it passes then, it is flaky.
A flaky test does not fail the run, and ctest's summary counts it as passed. It is still a defect.

These fail the run:
  - a test that fails twice, in one run or in two runs with one COLOCK_FLAKY
  - more than $most_flaky flaky tests
  - any failed test without this label, or with the label "chaos": its faults are random
  - a test that could not be started

Before ctest's summary, it lists the tests that took more than half of their timeout. They do not fail the run, but they
may fail on a slower machine.

Exit code: 0 if the run passed.

Environment:
  COLOCK_FLAKY=FILE   file for the name of each flaky test and the output of its failure (default: build/flaky.txt).
                      The flaky tests that are already in the file count too.
  COLOCK_NEAR_TIMEOUT=FILE   file to which the list of tests near their timeout is added (default: none)
TEXT
}

case ${1:-} in
    -*) common_option "$1" ;;
    "") refuse "FOLDER is missing" ;;
esac
folder=$1
shift
flaky_file=${COLOCK_FLAKY:-$colock_root/build/flaky.txt}
[[ -e $folder/CTestTestfile.cmake ]] || refuse "FOLDER has no tests: $folder"
work=
temporary_folder work

readonly count_line='^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)'
readonly failed_line='^[[:space:]]+[0-9]+ - (.+) \(([^()]*)\)'   # the name, and how it failed

# Prints "NAME|HOW" for each failed test.
failed_tests() {
    local line is_list=false
    while IFS= read -r line; do
        if [[ $line == "The following tests FAILED:" ]]; then
            is_list=true
        elif $is_list && [[ $line =~ $failed_line ]]; then
            printf '%s|%s\n' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        fi
    done <"$work/summary"
}

# list_has LINE TEXT
list_has() { grep -qxF -e "$1" <<<"$2"; }

flaky_names() {
    if [[ -e $flaky_file ]]; then sed -n 's/^FLAKY //p' "$flaky_file"; fi
}

# output_of NAME: prints the output of a test in ctest's last run.
output_of() {
    NAME=$1 awk '
        !inside && /^[0-9]+\/[0-9]+ Testing: / { inside = substr($0, index($0, ": ") + 2) == ENVIRON["NAME"] }
        inside { print "    " $0 }
        inside && index($0, "\"" ENVIRON["NAME"] "\" end time:") == 1 { exit }
    ' "$folder/Testing/Temporary/LastTest.log"
}

# passes_alone NAME CTEST-OPTION...
passes_alone() {
    local pattern status=0
    # shellcheck disable=SC2001  # a set of characters
    pattern=$(sed 's/[][().*+?^$|\\]/\\&/g' <<<"$1")
    ctest "${@:2}" --tests-regex "^$pattern\$" >"$work/repetition" 2>&1 || status=$?
    if ((status != 0)); then sed 's/^/    /' "$work/repetition"; fi   # indented: it has a summary of its own
    return "$status"
}

# print_summary FLAKY...: prints ctest's summary as if these tests had passed.
print_summary() {
    local line failed total is_list=false
    while IFS= read -r line; do
        if [[ $line =~ $count_line ]]; then
            failed=$((BASH_REMATCH[1] - $#)) total=${BASH_REMATCH[2]}
            printf '%s%% tests passed, %s tests failed out of %s\n' $((100 * (total - failed) / total)) "$failed" "$total"
        elif [[ $line == "The following tests FAILED:" ]]; then
            if ((failed == 0)); then break; fi
            is_list=true
            printf '%s\n' "$line"
        elif ! $is_list || [[ ! $line =~ $failed_line ]] || ! list_has "${BASH_REMATCH[1]}" "$(printf '%s\n' "$@")"; then
            printf '%s\n' "$line"
        fi
    done <"$work/summary"
    ((failed == 0))
}

# report_near_timeout: lists the tests that took more than half of their timeout.
report_near_timeout() {
    local list
    if [[ ! -s $work/results.xml ]]; then return; fi
    list=$(python3 "$colock_root/test/near_timeout.py" "$work/tests.json" "$work/results.xml")
    if [[ -n $list ]]; then
        say "tests near their timeout"
        printf '%s\n\n' "$list"
        if [[ -n ${COLOCK_NEAR_TIMEOUT:-} ]]; then printf '%s\n' "$list" >>"$COLOCK_NEAR_TIMEOUT"; fi
    fi
}

# This comes before the run, because ctest overwrites its log here too.
ctest --test-dir "$folder" --show-only=json-v1 >"$work/tests.json"
integration=$(ctest --test-dir "$folder" --show-only --label-regex '^integration$' --label-exclude '^chaos$' | sed -n 's/^ *Test *#[0-9]*: //p')

status=0
ctest "$@" --output-junit "$work/results.xml" 2>&1 | hold_back_summary "$work/summary" || status=$?
report_near_timeout
if ((status == 0)) || ! grep -qE "$count_line" "$work/summary"; then
    cat "$work/summary"
    exit "$status"
fi

flaky_before=$(flaky_names)
candidates=()
while IFS='|' read -r name how; do
    if list_has "$name" "$flaky_before"; then
        say "$name has failed a second time: it is not repeated"
    elif [[ $how != "Not Run" ]] && list_has "$name" "$integration"; then
        candidates+=("$name")
    fi
done < <(failed_tests)

flaky=()
count=$(flaky_names | wc -l)
if ((count + ${#candidates[@]} > most_flaky)); then
    say "$((count + ${#candidates[@]})) integration tests have failed. At most $most_flaky may be flaky, so none is repeated."
else
    for name in "${candidates[@]}"; do output_of "$name" >"$work/output.$name"; done   # the repetitions overwrite the log
    for name in "${candidates[@]}"; do
        say "$name has failed: repeating it alone"
        if passes_alone "$name" "$@"; then
            say "FLAKY $name: it passes alone. Its failure is in $flaky_file."
            mkdir -p "$(dirname "$flaky_file")"
            { printf 'FLAKY %s\n' "$name"; cat "$work/output.$name"; } >>"$flaky_file"
            flaky+=("$name")
        fi
    done
fi
printf '\n'
print_summary "${flaky[@]}" || exit "$status"
