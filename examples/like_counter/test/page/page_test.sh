#!/usr/bin/env bash
# page_test.sh PROGRAMS PICTURES: runs page_test.mjs, and checks that neither a process nor a file of the
# demo is left. The exit code is 3 if this machine has no Chromium or no node. If COLOCK_NEEDS_BROWSER is
# set, it is 1.
set -euo pipefail

LIKE_COUNTER_PROGRAMS=$1 pictures=$2
export LIKE_COUNTER_PROGRAMS
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { printf 'page_test.sh: %s\n' "$*" >&2; exit 1; }

cannot_run() {
    if [[ -n ${COLOCK_NEEDS_BROWSER:-} ]]; then fail "$*"; fi
    printf 'page_test.sh: skipped, %s\n' "$*" >&2
    exit 3
}

command -v node >/dev/null || cannot_run "there is no node (cmake/bootstrap.sh --page installs it)"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    cannot_run "there is no chromium (cmake/bootstrap.sh --page installs it)"

TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

# Whatever the demo starts works in a folder below TMPDIR.
processes_left() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$TMPDIR/*" 2>/dev/null || true; }

node "$here/page_test.mjs" "$chromium" "$here/../../demo.sh" "$pictures"
[[ -z $(processes_left) ]] || fail "left running: $(processes_left)"
[[ -z $(ls -A "$TMPDIR") ]] || fail "left in TMPDIR: $(ls -A "$TMPDIR")"
