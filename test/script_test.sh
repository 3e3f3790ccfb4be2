#!/usr/bin/env bash
# script_test.sh WHAT: checks the immediate messages of the user-facing scripts when something is wrong. ctest
# runs it. It is not meant to be run by hand.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { printf 'script_test.sh: %s\n' "$*" >&2; exit 1; }

# expect STATUS TEXT COMMAND...: checks the exit code of the command, and that its output has this text.
expect() {
    local expected=$1 text=$2 status=0 output
    shift 2
    output=$("$@" 2>&1) || status=$?
    ((status == expected)) || fail "$*: exit code $status, not $expected: $output"
    [[ $output == *"$text"* ]] || fail "$*: it does not say \"$text\", but: $output"
}

# A file for results that cannot be written is refused before the work. A file that can be written is not
# left behind empty.
json() {
    local script option
    for script in test/simulation/run.sh test/benchmark/run.sh test/interop/run.sh test/integration/chaos.sh \
        examples/like_counter/demo.sh; do
        expect 2 "--json: cannot write $work/none/file" "$root/$script" --json "$work/none/file"
        expect 2 "unknown option --no-such-option" "$root/$script" --json "$work/file" --no-such-option
        [[ ! -e $work/file ]] || fail "$script leaves an empty file behind"
    done
    for option in --chart --section; do
        expect 2 "$option: cannot write $work/none/file" "$root/test/benchmark/run.sh" "$option" "$work/none/file"
    done
}

# The build folder of a clone that was moved is not used any more.
moved() {
    mkdir -p "$work/cmake" "$work/build/release/CMakeFiles"
    cp "$root/cmake/script.sh" "$work/cmake"
    printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\n' "$work" >"$work/build/release/CMakeCache.txt"
    # shellcheck disable=SC2016  # the inner shell's
    local forget=(bash -c 'source "$1/cmake/script.sh"; colock_forget_other_folder release' - "$work")
    expect 0 "" "${forget[@]}"
    [[ -e $work/build/release/CMakeCache.txt ]] || fail "the clone's own build folder was not kept"
    printf 'CMAKE_HOME_DIRECTORY:INTERNAL=/nowhere/colock\n' >"$work/build/release/CMakeCache.txt"
    expect 0 "build/release was configured in another folder (/nowhere/colock): configuring it anew" "${forget[@]}"
    [[ ! -e $work/build/release/CMakeCache.txt ]] || fail "the other folder's cache was kept"
}

# Ctrl-C at any moment, including the first ones, is answered by one line. The terminal sends SIGINT to
# the whole group.
interrupted() {
    local programs=$1 delay
    for delay in 0.05 0.1 0.15 0.2 0.3 0.5 0.7 1; do
        # shellcheck disable=SC2016  # Python's
        LIKE_COUNTER_PROGRAMS=$programs TMPDIR=$work python3 -c '
import os, signal, subprocess, sys, time
script = subprocess.Popen([sys.argv[1], "--memory", "--serve"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
time.sleep(float(sys.argv[2]))
os.killpg(script.pid, signal.SIGINT)
try:
    output = script.communicate(timeout=5)[0]
except subprocess.TimeoutExpired:  # bash 5.2 may lose a signal that comes during a command substitution: so press it again
    os.killpg(script.pid, signal.SIGINT)
    output = script.communicate(timeout=30)[0]
said = [line for line in output.splitlines() if "interrupted" in line or ": No such" in line or "error" in line]
if said not in ([], ["demo.sh: interrupted"]) or (not said and script.returncode != -signal.SIGINT):
    sys.exit(f"interrupted after {sys.argv[2]} s it ends with {script.returncode} and says: {output}")
' "$root/examples/like_counter/demo.sh" "$delay" || fail "Ctrl-C"
    done
    [[ -z $(ls -A "$work") ]] || fail "left behind: $(ls -A "$work")"
}

"$@"
