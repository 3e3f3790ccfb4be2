#!/usr/bin/env bash
# Checks the layout of all C++ sources (clang-format) and the library's code (clang-tidy).
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/lint.sh [--format | --tidy | --fix] [--help]

Without options: clang-format on all C++ sources, and clang-tidy on the library's.

  --format   only clang-format
  --tidy     only clang-tidy
  --fix      let clang-format rewrite the sources instead of complaining
  --help     this text
TEXT
}

format_sources() {
    local sources=()
    mapfile -t sources < <(find include src test examples \( -name '*.cpp' -o -name '*.hpp' \) -print | sort)
    say "clang-format: ${#sources[@]} files"
    clang-format "$@" "${sources[@]}" || die "run test/lint.sh --fix"
}

tidy_one() {
    local output
    if output=$(clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option "$1" 2>/dev/null); then
        printf '   ok      %s\n' "$1"
    else
        printf '   WRONG   %s\n%s\n' "$1" "$output"
        return 1
    fi
}

tidy_library() {
    local sources=()
    colock_build release colock   # for compile_commands.json and the generated headers
    # boost_redis.cpp is somebody else's code.
    mapfile -t sources < <(find src -name '*.cpp' ! -name boost_redis.cpp -print | sort)
    say "clang-tidy: ${#sources[@]} files"
    export -f tidy_one
    # shellcheck disable=SC2016  # $1 is for the inner shell
    printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy_one "$1"' tidy_one ||
        die "clang-tidy found something"
}

format=(--dry-run --Werror) tidy=true
while (($# > 0)); do
    case $1 in
        --format) tidy=false ;;
        --tidy) format=() ;;
        --fix) format=(-i) tidy=false ;;
        *) common_option "$1" ;;
    esac
    shift
done

colock_bootstrap
cd "$colock_root"
if ((${#format[@]} > 0)); then format_sources "${format[@]}"; fi
if $tidy; then tidy_library; fi
say "nothing to complain about"
