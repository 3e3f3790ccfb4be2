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

# What cmake/bootstrap.sh would install for each need on a machine that has none of it.
needs() {
    local bootstrap=$work/cmake/bootstrap.sh library='g++ cmake ninja-build nlohmann-json3-dev libssl-dev' need each
    if [[ ! -r /etc/os-release ]] || ! grep -qx 'ID=debian' /etc/os-release; then return 0; fi
    mkdir -p "$work/cmake" "$work/bin"
    cp "$root/cmake/bootstrap.sh" "$work/cmake"
    printf '#!/bin/sh\n' >"$work/bin/dpkg-query"   # it finds no package
    chmod +x "$work/bin/dpkg-query"
    export PATH=$work/bin:$PATH COLOCK_BOOST_VERSION=1.88
    expect 1 "missing: $library Boost 1.88." followed_by_dot "$bootstrap" --check --library
    expect 1 "missing: $library libcli11-dev libsqlite3-dev redis-server curl Boost 1.88." \
        followed_by_dot "$bootstrap" --check --examples
    expect 1 "missing: $library libcli11-dev liblua5.1-0-dev redis-server prometheus python3 openssl curl procps pkgconf \
ccache Boost 1.88." followed_by_dot "$bootstrap" --check --tests
    expect 0 "promtool (in the package" "$bootstrap" --help
    expect 1 "missing: $library libcli11-dev libbenchmark-dev redis-server Boost 1.88." \
        followed_by_dot "$bootstrap" --check --benchmarks
    expect 1 "missing: clang-format." followed_by_dot "$bootstrap" --check --format
    expect 1 "missing: gcovr clang-tidy python3." followed_by_dot "$bootstrap" --check --coverage --tidy
    expect 1 "missing: g++ cmake ninja-build doxygen." followed_by_dot "$bootstrap" --check --reference
    expect 1 "missing: chromium" "$bootstrap" --check --page   # and node, if there is none
    expect 1 "missing: g++ g++-99." followed_by_dot "$bootstrap" --check --compiler g++-99
    expect 2 "--compiler needs a name" "$bootstrap" --compiler
    expect 2 "--compiler needs a name" "$bootstrap" --compiler --check
    for need in '' --work; do   # each package once
        for each in libcli11-dev liblua5.1-0-dev libbenchmark-dev gcovr clang-format clang-tidy doxygen pkgconf ccache; do
            # shellcheck disable=SC2086  # no argument, or one
            expect 1 " $each " "$bootstrap" --check $need
            # shellcheck disable=SC2086
            (($("$bootstrap" --check $need | tr ' ' '\n' | grep -cx "$each") == 1)) || fail "bootstrap.sh $need names $each twice"
        done
    done
}

# So that the end of the output can be expected, too.
followed_by_dot() {
    local status=0 output
    output=$("$@") || status=$?
    printf '%s.\n' "$output"
    return "$status"
}

# Each script asks cmake/bootstrap.sh for what it uses, and for nothing else.
callers() {
    local script release='--tests --examples --benchmarks'
    mkdir -p "$work/cmake"
    cp "$root/cmake/script.sh" "$work/cmake"
    # shellcheck disable=SC2016  # the inner shell's
    printf '#!/bin/sh\necho "asked for: $*."\nexit 9\n' >"$work/cmake/bootstrap.sh"
    chmod +x "$work/cmake/bootstrap.sh"
    for script in examples/like_counter/demo.sh .ci/run test/{run,lint,compilers}.sh \
        test/{simulation,benchmark,interop}/run.sh test/interop/others.sh test/integration/chaos.sh; do
        mkdir -p "$work/${script%/*}"
        cp "$root/$script" "$work/$script"
    done
    asks "--examples" examples/like_counter/demo.sh --seconds 1
    asks "$release" test/run.sh
    asks "$release" test/run.sh --all
    asks "$release" test/run.sh --standstill
    asks "--tests" test/run.sh --asan
    asks "--tests" test/run.sh --tsan
    asks "--tests --coverage" test/run.sh --coverage
    asks "--format" test/lint.sh --format
    asks "--format" test/lint.sh --fix
    asks "--reference" test/lint.sh --reference
    asks "--tidy --library" test/lint.sh --tidy
    asks "--format --reference --tidy --library" test/lint.sh
    asks "--benchmarks" test/benchmark/run.sh --micro
    asks "--benchmarks --valkey" test/benchmark/run.sh --workload native_release
    asks "$release" test/simulation/run.sh --seconds 1
    asks "$release" test/integration/chaos.sh --seconds 1
    asks "$release" test/interop/run.sh
    asks "--examples" test/compilers.sh --compiler g++-12
    asks "--work --servers --page" .ci/run
}

# asks NEEDS SCRIPT ARGUMENT...
asks() {
    local needs=$1 script=$2
    shift 2
    expect 9 "asked for: $needs." "$work/$script" "$@"
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
