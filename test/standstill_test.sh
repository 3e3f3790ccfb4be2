#!/usr/bin/env bash
# Tests standstill.sh with a command, its test and the test's two servers, which do nothing. ctest runs it. It
# is not meant to be run by hand.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
work=$(mktemp -d)
standstill=
cleanup() {
    if [[ -n $standstill ]]; then
        kill -TERM "$standstill" 2>/dev/null || true
        wait "$standstill" || true
    fi
    rm -rf "$work"
}
trap cleanup EXIT

fail() { printf 'standstill_test.sh: %s\n' "$*" >&2; exit 1; }

wait_until() {
    local deadline=$((SECONDS + 60))
    until "$@"; do
        ((SECONDS < deadline)) || fail "did not happen within 60 s: $*"
        sleep 0.01
    done
}

# Prints the letter of a process's state, T if it is stopped. Prints nothing if the process has ended.
state() { awk '$1 == "State:" { print $2 }' "/proc/$1/status" 2>/dev/null || true; }
is_stopped() { [[ $(state "$1") == T ]]; }
runs() { [[ $(state "$1") == [RSD] ]]; }
is_no_longer_stopped() { ! is_stopped "$1"; }

# expect_stop PID: checks that the process is stopped, and continues.
expect_stop() {
    wait_until is_stopped "$1"
    wait_until runs "$1"
}

start() {
    rm -f "$work/test" "$work/servers"
    # shellcheck disable=SC2016  # the variables are for the inner shells
    "$root/test/standstill.sh" --seed 1 bash -c 'bash -c '\''
        for ((i = 0; i < 2; ++i)); do sleep 300 & echo $! >>"$0/servers"; done
        trap "kill \$(cat \"$0/servers\")" EXIT
        trap "exit 1" TERM
        echo $$ >"$0/test"
        wait
    '\'' "$0"; exit 3' "$work" >"$work/output" 2>&1 &
    standstill=$!
    wait_until test -s "$work/test"
    test=$(<"$work/test")
    mapfile -t servers <"$work/servers"
}

# A command may have no test yet.
output=$("$root/test/standstill.sh" sleep 0.5) || fail "a command without a test fails"
[[ $output == *" 0 stops,"* ]] || fail "not 0 stops: $output"

# The test and its servers are stopped, and continue.
start
for process in "$test" "${servers[@]}"; do expect_stop "$process"; done

# A process that the test has stopped stays stopped.
kill -STOP "${servers[0]}"
expect_stop "${servers[1]}"
expect_stop "$test"
is_stopped "${servers[0]}" || fail "a server that the test had stopped goes on"

# This also holds if the process was already stopped then. At the very end of a stop this is not detected, so
# the check has three tries.
for ((i = 1;; ++i)); do
    wait_until is_stopped "${servers[1]}"
    kill -STOP "${servers[1]}"
    expect_stop "$test"
    if is_stopped "${servers[1]}"; then break; fi
    ((i < 3)) || fail "a server goes on that the test has stopped"
done
kill -CONT "${servers[@]}"

# The exit code is that of the command.
kill "${servers[@]}"
status=0
wait "$standstill" || status=$?
standstill=
((status == 3)) || fail "exit code $status, not 3: $(<"$work/output")"
grep -qx '== standstill: seed 1' "$work/output" || fail "it does not print its seed: $(<"$work/output")"

# After an interruption no process stays stopped.
for process in test server; do
    start
    pid=$test
    if [[ $process == server ]]; then pid=${servers[0]}; fi
    wait_until is_stopped "$pid"
    kill -TERM "$standstill"
    wait "$standstill" || true
    standstill=
    wait_until is_no_longer_stopped "$pid"
    ! runs "$test" || wait_until test ! -e "/proc/$test"
done
