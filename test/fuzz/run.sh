#!/usr/bin/env bash
# Fuzzes the RESP reader. It uses libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer.
# shellcheck source-path=SCRIPTDIR source=../../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/fuzz/run.sh [--seconds S] [--keep]
       test/fuzz/run.sh --help

Builds the fuzz target with clang and runs it, starting with the inputs in test/fuzz/corpus. The RESP reader gets each
input as a whole and in pieces, and must return the same replies. The exit code is 0 only if no input failed. An input
that fails is saved in the current folder.

  --seconds S    duration in seconds (default: 120)
  --keep         update test/fuzz/corpus: add inputs that reach new code, and remove inputs that are no longer needed
  --help         print this text
TEXT
}

seconds=120 keep=false
while (($# > 0)); do
    case $1 in
        --seconds) option_value "$@"; seconds=$2; shift ;;
        --keep) keep=true ;;
        *) common_option "$1" ;;
    esac
    shift
done

command -v clang++ >/dev/null || die "clang++ is needed (Debian: apt-get install clang)"
corpus=$colock_root/test/fuzz/corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang++ -std=c++20 -O1 -g -Wall -Wextra -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -I "$colock_root/src" "$colock_root/test/fuzz/reader_fuzz.cpp" "$colock_root/src/resp/reader.cpp" -o "$work/fuzz"
mkdir "$work/found"
say "fuzzing for $seconds s"
"$work/fuzz" -max_total_time="$seconds" -max_len=8192 -timeout=10 -verbosity=1 -print_final_stats=1 \
    "$work/found" "$corpus" 2>&1 | tail -n 12
status=${PIPESTATUS[0]}
if ((status == 0)) && $keep; then
    mkdir "$work/smaller"
    "$work/fuzz" -merge=1 "$work/smaller" "$corpus" "$work/found" 2>/dev/null
    rm -f "$corpus"/*
    cp "$work/smaller"/* "$corpus"
    say "test/fuzz/corpus has $(find "$corpus" -type f | wc -l) inputs"
fi
exit "$status"
