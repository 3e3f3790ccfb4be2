#!/usr/bin/env bash
# Runs ctest, and stops its tests and their servers again and again, as a busy machine does.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

readonly longest_gap=400 longest_stop=300   # ms

usage() {
    cat <<TEXT
Usage: test/standstill.sh [--seed N] COMMAND [ARGUMENT...]
       test/standstill.sh --help

Runs the command, for example ctest. While it runs, each of its child processes is a test. Again and again, a test or one of
its own child processes is stopped (SIGSTOP) for 1 to $longest_stop ms. Up to $longest_gap ms pass between two such stops.
A process that the test itself has stopped is left alone. No process stays stopped when this script ends.

  --seed N   seed of all random times and choices, from 0 to 32767 (default: random). It is printed.
  --help     print this text

Exit code: that of the command.
TEXT
}

seed=$RANDOM
while (($# > 0)); do
    case $1 in
        --seed) option_value "$@"; seed=$2; shift ;;
        -*) common_option "$1" ;;
        *) break ;;
    esac
    shift
done
if [[ ! $seed =~ ^[0-9]+$ ]] || ((seed > 32767)); then refuse "--seed $seed: it must be a number from 0 to 32767"; fi
if (($# == 0)); then refuse "COMMAND is missing"; fi
work=
temporary_folder work
: >"$work/stops"

sleep_ms() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

# status_of PID FIELD: stores the first word of a field of /proc/PID/status in the variable `value`. It is
# empty if the process has ended.
status_of() {
    local field rest
    value=
    {
        while read -r field value rest && [[ $field != "$2:" ]]; do value=; done <"/proc/$1/status"
    } 2>/dev/null || true
}

# is_test PID: whether the process is a child of the command.
is_test() {
    local value
    status_of "$1" PPid
    [[ $value == "$command" ]]
}

# is_in PID STATES: whether the state of the process is one of these letters.
is_in() {
    local value
    status_of "$1" State
    [[ -n $value && $2 == *"$value"* ]]
}

# has_pending_stop PID: whether SIGSTOP (19) is pending for the process.
has_pending_stop() {
    local value
    status_of "$1" ShdPnd
    (((16#${value:-0} >> 18) & 1))
}

stopped=   # the process that the current harasser has stopped

# Wakes the stopped process, unless the test itself has sent SIGSTOP to it.
wake() {
    if [[ -n $stopped ]] && ! { is_in "$stopped" T && has_pending_stop "$stopped"; }; then
        kill -CONT "$stopped" 2>/dev/null || true
    fi
    stopped=
}

# stop_for PID MS: stops the process for this time.
stop_for() {
    is_in "$1" RSD || return 0   # it has ended, or the test has stopped it
    stopped=$1
    kill -STOP "$1" 2>/dev/null || true
    while is_in "$1" RSD && has_pending_stop "$1"; do sleep_ms 1; done   # a busy machine takes its time
    printf '%s %s\n' "$1" "$2" >>"$work/stops"
    sleep_ms "$2"
    wake
}

# harass TEST: stops the test or one of its children at random times, until the test ends.
harass() {
    local test=$1 children gap
    trap wake EXIT
    trap 'exit 143' TERM
    RANDOM=$seed
    while true; do
        gap=$((RANDOM % longest_gap))
        sleep_ms "$gap"
        is_test "$test" || return 0
        mapfile -t children < <(pgrep -P "$test")
        if ((${#children[@]} == 0 || RANDOM % 2 == 0)); then children=("$test"); fi
        stop_for "${children[RANDOM % ${#children[@]}]}" $((1 + RANDOM % longest_stop))
    done
}

declare -A harassers=()   # test -> harasser

# If this script is interrupted, the tests are ended too.
# shellcheck disable=SC2317  # script.sh calls it
before_cleanup() {
    local test
    for test in "${!harassers[@]}"; do
        if is_test "$test"; then kill -TERM "$test" 2>/dev/null || true; kill -CONT "$test" 2>/dev/null || true; fi
    done
}

say "standstill: seed $seed"
"$@" &
command=$!
stop_at_exit "$command"
while kill -0 "$command" 2>/dev/null; do
    running=" $({ pgrep -P "$command" || true; } | paste -sd ' ') "
    for test in $running; do
        if [[ -z ${harassers[$test]:-} ]]; then
            harass "$test" &
            harassers[$test]=$!
            stop_at_exit "$!"
        fi
    done
    for test in "${!harassers[@]}"; do
        if [[ $running != *" $test "* ]]; then unset "harassers[$test]"; fi   # Its harasser ends too.
    done
    sleep_ms 200
done
status=0
wait "$command" || status=$?
say "standstill: $(wc -l <"$work/stops") stops, seed $seed"
exit "$status"
