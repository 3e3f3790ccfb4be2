#!/usr/bin/env bash
# demo_test.sh PROGRAMS EXPECTED_STATUS [demo.sh's arguments]: runs demo.sh, and checks its exit code, its JSON, and
# that neither a process nor a file of it is left.
set -euo pipefail

LIKE_COUNTER_PROGRAMS=$1 expected=$2
export LIKE_COUNTER_PROGRAMS
shift 2
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR" "$result"' EXIT
result=$(TMPDIR='' mktemp)

fail() { printf 'demo_test.sh: %s\n' "$*" >&2; exit 1; }

# Whatever demo.sh starts works in a folder below TMPDIR.
processes_left() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$TMPDIR/*" 2>/dev/null || true; }

status=0
"$(dirname "${BASH_SOURCE[0]}")/../demo.sh" "$@" --json "$result" || status=$?
((status == expected)) || fail "exit code $status, expected $expected"
for field in accepted counted set_members mismatches lock_violations errors likes_per_second latency_us p50 p99 \
    seconds instances faults stale_writes_refused; do
    grep -q "\"$field\":" "$result" || fail "the JSON has no $field"
done
if [[ " $* " == *" --stale-writer "* ]]; then
    grep -q '"stale_writes_refused": 1,*$' "$result" || fail "the stale write was not refused"
fi
[[ -z $(processes_left) ]] || fail "left running: $(processes_left)"
[[ -z $(ls -A "$TMPDIR") ]] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
