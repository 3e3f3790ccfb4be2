#!/usr/bin/env bash
# Builds colock with other compilers than the system's, with our warnings as errors.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/compilers.sh [--compiler NAME]... [--quick | --tests]
       test/compilers.sh --help

Prepares the machine (cmake/bootstrap.sh), and builds the library, each public header alone, and the examples with each
compiler. A warning is an error. Then runs the example quickstart on locks in memory. The builds are in
build/compilers/NAME.

g++ builds with optimization, because some of its warnings need it. clang++ builds without it, which takes less time.

  --compiler NAME   g++-N or clang++-N (default: g++-12, g++-14, clang++-14 and clang++-19). May be repeated. Without this
                    option, a compiler that is neither on this machine nor offered by Debian is left out.
  --quick           build only the library and quickstart. The compiler checks the headers and the other examples, and
                    generates no code for them.
  --tests           also build the unit tests, and run them
  --help            print this text

Exit codes:
  0  all builds passed
  1  a build or a test failed
  2  wrong usage
  3  a compiler that was named is not available
TEXT
}

compilers=() named=true tests=false quick=false
while (($# > 0)); do
    case $1 in
        --compiler)
            option_value "$@"
            if [[ ! $2 =~ ^(g\+\+|clang\+\+)-[0-9]+$ ]]; then refuse "--compiler needs a name like g++-12 or clang++-14, not $2"; fi
            compilers+=("$2")
            shift
            ;;
        --tests) tests=true ;;
        --quick) quick=true ;;
        *) common_option "$1" ;;
    esac
    shift
done
if $quick && $tests; then refuse "--quick and --tests exclude each other"; fi
if ((${#compilers[@]} == 0)); then
    named=false
    compilers=(g++-12 g++-14 clang++-14 clang++-19)
fi

# path_of COMPILER: on this machine, or where cmake/bootstrap.sh has unpacked it.
path_of() { PATH=$PATH:$colock_root/build/$1 command -v "$1"; }

# has COMPILER: it is there, or has been installed now. Without root or a network it is not available.
has() {
    path_of "$1" >/dev/null && return 0
    run_interruptible "$colock_root/cmake/bootstrap.sh" --compiler "$1" || return 1
    path_of "$1" >/dev/null || die "$1 was installed, but is not there"
}

# check_syntax FOLDER: checks the public headers, each alone, and the examples with the commands of this build.
check_syntax() {
    python3 - "$1/compile_commands.json" "$colock_root" <<'PYTHON' | xargs -0 -n 1 -P "$(nproc)" sh -c || die "the compiler reports errors"
import json, pathlib, re, shlex, sys
commands, root = sys.argv[1], pathlib.Path(sys.argv[2])
for entry in json.load(open(commands)):
    file = pathlib.Path(entry["file"])
    if root / "examples" not in file.parents and "verify_interface_header_sets" not in str(file):
        continue
    words = shlex.split(entry["command"])
    while words and not re.search(r"(clang|g)\+\+", words[0]):   # without ccache, which does not store such runs
        del words[0]
    if "-o" in words:
        del words[words.index("-o"):words.index("-o") + 2]
    words.remove("-c")
    print(f"cd {shlex.quote(entry['directory'])} && {shlex.join(words)} -fsyntax-only", end="\0")
PYTHON
}

# build COMPILER
build() {
    local folder=$colock_root/build/compilers/$1 targets=(colock all_verify_interface_header_sets examples/all) options=()
    if $quick; then targets=(colock quickstart); fi
    if [[ $1 == g++* ]]; then options+=(-DCMAKE_BUILD_TYPE=Release); else options+=(-DCMAKE_BUILD_TYPE=None); fi
    if $tests; then
        options+=(-DCOLOCK_BUILD_TESTS=ON)
        targets+=(unit_tests)
    else
        options+=(-DCOLOCK_BUILD_TESTS=OFF)
    fi
    mkdir -p "$folder"
    cmake -S "$colock_root" -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$(path_of "$1")" \
        -DCOLOCK_BUILD_BENCHMARKS=OFF -DCOLOCK_UNITY_BUILD=OFF "${options[@]}" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; die "cmake could not configure a build with $1"; }
    run_interruptible cmake --build "$folder" --target "${targets[@]}" || die "the build with $1 failed"
    if $quick; then check_syntax "$folder"; fi
    run_interruptible "$folder/examples/quickstart" memory://a || die "quickstart, built with $1, failed"
    if $tests; then
        run_interruptible ctest --test-dir "$folder" --label-regex '^unit$' --output-on-failure --no-tests=error \
            --exclude-regex '^(docs_|layers|scripts_|bootstrap_|failed_tests|tests_stand_still|.* --)' ||
            die "unit tests, built with $1, failed"
    fi
}

needs=(--examples)
if $tests; then needs+=(--tests); fi
colock_bootstrap "${needs[@]}"
for compiler in "${compilers[@]}"; do
    if has "$compiler"; then
        say "$("$(path_of "$compiler")" --version | head -n 1)"
        build "$compiler"
    elif $named; then
        printf '%s: %s is not available here\n' "$colock_script" "$compiler" >&2
        exit 3
    else
        say "$compiler is not available here: SKIPPED"
    fi
done
say "no compiler warns"
