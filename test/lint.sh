#!/usr/bin/env bash
# Checks the layout of all C++ sources, the comments of the API, and the library's code. The tools are
# clang-format, Doxygen and clang-tidy.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/lint.sh [--format | --reference | --tidy | --fix]
       test/lint.sh --help

Without options, runs clang-format on all C++ sources, makes the reference of the API with Doxygen, and runs clang-tidy on
the sources of the library. clang-tidy checks them in the groups of cmake/unity.cmake, which takes a quarter of the time. A
group that has passed is not checked again until its sources, their includes or the options change. The results are in
~/.cache/colock/tidy.

  --format      run only clang-format
  --reference   make only the reference
  --tidy        run only clang-tidy
  --fix         format the sources with clang-format
  --help        print this text
TEXT
}

format_sources() {
    local sources=()
    mapfile -t sources < <(find include src test examples \( -name '*.cpp' -o -name '*.hpp' \) -print | sort)
    say "clang-format: ${#sources[@]} files"
    clang-format "$@" "${sources[@]}" || die "run test/lint.sh --fix"
}

# The user's cache folder stores which groups have passed clang-tidy, under a hash of everything that this
# depends on. This is clang-tidy itself, its options, the command, and the content of all files that are
# included.
verdicts=${XDG_CACHE_HOME:-$HOME/.cache}/colock/tidy

# hash_of COMMAND: prints the hash for the file that the compiler's command names last. Prints nothing if the
# command does not work.
hash_of() {
    local dependencies root=$PWD
    dependencies=$(cd build/tidy && eval "$1 -M -MT x" | tr -d '\\\n' | sed 's/^x://') || return 0
    {
        clang-tidy --version
        cat .clang-tidy
        declare -f tidy_one
        printf '%s\n' "${1//"$PWD"/}"
        # shellcheck disable=SC2086  # a list of files
        (cd build/tidy && sed "s:$root/::" $dependencies)
    } | sha256sum | cut -d ' ' -f 1
}

# tidy_one FILE COMMAND. Only the file of a group may include sources.
tidy_one() {
    local output hash
    hash=$(hash_of "$2")
    if [[ -n $hash && -e $verdicts/$hash ]]; then
        touch "$verdicts/$hash"
        printf '   ok      %s (as before)\n' "$1"
    elif output=$(clang-tidy --quiet -p build/tidy --checks=-bugprone-suspicious-include \
        --extra-arg=-Wno-unknown-warning-option "$1" 2>/dev/null); then
        if [[ -n $hash ]]; then : >"$verdicts/$hash"; fi
        printf '   ok      %s\n' "$1"
    else
        printf '   WRONG   %s\n%s\n' "$1" "$output"
        return 1
    fi
}

# print_commands: prints pairs of a file and the command that compiles it, without -o and -c. A file is a source of
# the library, or a group of sources.
print_commands() {
    python3 -c '
import json, os, pathlib, re, shlex, sys
missing = set(map(str, pathlib.Path("src").rglob("*.cpp")))
for entry in json.load(open("build/tidy/compile_commands.json")):
    file, command = os.path.relpath(entry["file"]), shlex.split(entry["command"])
    if file.startswith("src/") or "/Unity/" in file:
        included = re.findall("#include \"(.*)\"", open(file).read()) if "/Unity/" in file else [file]
        missing -= set(map(os.path.relpath, included))
        output = command.index("-o")
        command[output:output + 2] = []
        command.remove("-c")
        print(file, shlex.join(command), sep="\0", end="\0")
if missing:
    sys.exit(f"no target has these sources: {sorted(missing)}")
'
}

tidy_library() {
    colock_build tidy generated/kinds/scripts.hpp
    say "clang-tidy: the sources of the library"
    test/unused_names.py src || die "remove these declarations"
    if grep -rnE '^ *#include .*\.cpp"' src include; then die "include no source"; fi
    mkdir -p "$verdicts"
    find "$verdicts" -type f -mtime +30 -delete
    export -f tidy_one hash_of
    export verdicts
    # shellcheck disable=SC2016  # $1 and $2 are for the inner shell
    print_commands | xargs -0 -n 2 -P "$(nproc)" bash -c 'tidy_one "$1" "$2"' tidy_one ||
        die "clang-tidy found something"
}

format=(--dry-run --Werror) reference=true tidy=true
while (($# > 0)); do
    case $1 in
        --format) reference=false tidy=false ;;
        --reference) format=() tidy=false ;;
        --tidy) format=() reference=false ;;
        --fix) format=(-i) reference=false tidy=false ;;
        *) common_option "$1" ;;
    esac
    shift
done

needs=()
if ((${#format[@]} > 0)); then needs+=(--format); fi
if $reference; then needs+=(--reference); fi
if $tidy; then needs+=(--tidy --library); fi
colock_bootstrap "${needs[@]}"
cd "$colock_root"
if ((${#format[@]} > 0)); then format_sources "${format[@]}"; fi
if $reference; then colock_build docs; fi
if $tidy; then tidy_library; fi
say "lint passed"
