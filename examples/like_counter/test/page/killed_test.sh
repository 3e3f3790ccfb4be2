#!/usr/bin/env bash
# killed_test.sh PROGRAMS: kills the driver that shows the page, and checks that its servers and services end
# with it.
set -euo pipefail

programs=$1
work=$(mktemp -d)
driver=
finish() {
    if [[ -n $driver ]]; then kill -KILL "$driver" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap finish EXIT

fail() { printf 'killed_test.sh: %s\n' "$*" >&2; exit 1; }

# All of them work below this folder.
processes() { { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$work*" 2>/dev/null || true; } | wc -l; }

# wait_for WHAT COMMAND...: until the command succeeds.
wait_for() {
    local what=$1 deadline=$((SECONDS + 30))
    shift
    until "$@"; do
        ((SECONDS < deadline)) || fail "$what: not within the time allowed"
        sleep 0.05
    done
}

there_are() { (($(processes) == $1)); }

cd /
"$programs/like_counter_driver" page --service "$programs/like_counter_service" --folder "$work" --instances 3 \
    >"$work/output" </dev/null &
driver=$!
wait_for "the page" grep -q '^page: http://127.0.0.1:' "$work/output"
there_are 6 || fail "$(processes) processes, not 3 lock servers, a data server and 2 services"
kill -KILL "$driver"
wait "$driver" 2>/dev/null || true
driver=
wait_for "the end of all processes" there_are 0
