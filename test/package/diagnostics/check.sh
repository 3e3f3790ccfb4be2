#!/usr/bin/env bash
# check.sh COMPILER FLAG...: checks what the compiler prints about the mistakes of new users, which mistakes.cpp numbers. The
# errors of GCC have at most 15 lines, and one of the first four says what to do. A temporary body that GCC 12 destroys
# twice gets a warning. This is a ctest test, and not meant to be run by hand. It also compiles all nested adapters of
# completion tokens.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here most_lines=15

compiler=$1
shift
flags=("$@")
export LC_ALL=C

# compile SOURCE [FLAG...]: sets `messages` to all that the compiler prints. Its status is that of the compiler.
compile() {
    local source=$1
    shift
    messages=$("$compiler" -std=c++20 -Wall -Wextra -fsyntax-only "${flags[@]}" "$@" "$here/$source" 2>&1)
}

fail() {
    printf '%s\n%s\n' "$messages" "$1"
    exit 1
}

is_clang=false
[[ $("$compiler" --version) != *clang* ]] || is_clang=true
readonly is_clang

# mistake NUMBER EXPECTED [LINES]: checks the result of a mistake. EXPECTED is "compiles", or a part of the first lines.
# GCC prints at most LINES lines. Clang also lists the functions that do not fit, so its errors have no limit.
mistake() {
    local status=compiles lines
    compile mistakes.cpp -Wno-unused-parameter -Wno-unused-but-set-variable -Wno-unused-variable "-DMISTAKE=$1" || status=fails
    lines=$(grep -c . <<<"$messages" || true)
    printf 'mistake %s: %s, %s lines\n' "$1" "$status" "$lines"
    if [[ $2 == compiles ]]; then
        [[ $status == compiles ]] || fail "mistake $1 does not compile, and it should"
        return
    fi
    [[ $status == fails ]] || fail "mistake $1 compiles"
    if $is_clang; then
        head -n 8 <<<"$messages" | grep -q "$2" || fail "the first 8 lines about mistake $1 do not have: $2"
    else
        head -n 4 <<<"$messages" | grep -q "$2" || fail "the first 4 lines about mistake $1 do not have: $2"
        ((lines <= ${3:-$most_lines})) || fail "mistake $1 has an error of $lines lines. The limit is ${3:-$most_lines}"
    fi
}

mistake 0 compiles # It is none.
mistake 1 a_timeout_has_a_unit_such_as_200ms
mistake 2 times_in_options_have_a_unit_such_as_10s
mistake 3 times_in_options_have_a_unit_such_as_10s
mistake 4 a_deadline_is_of_the_steady_clock
for body in 5 6 7; do mistake "$body" body_takes_lease_reference_and_returns_awaitable; done
mistake 9 config_from_uri_takes_a_uri
mistake 10 options_have_names_such_as_ttl_10s
mistake 11 semaphore_has_a_number_of_permits
mistake 12 lock_is_acquirable_or_comes_in_owned
mistake 13 'deleted function'
mistake 16 compiles # A multi_mutex takes any range of strings.
mistake 17 once_body_returns_awaitable_of_string
mistake 18 update_function_returns_string_or_optional_string
mistake 19 options_come_before_the_token
mistake 20 try_acquire_for_limits_the_wait
mistake 21 lock_has_acquire_shared

# These are recorded as they are.
mistake 14 deleted
mistake 15 'exception specification'
mistake 25 "no member named 'lock'"
if $is_clang; then
    mistake 8 'In file included'
    for one in 22 23 24; do mistake "$one" compiles; done
else
    mistake 8 'In file included' 20
    mistake 22 'designator order'
    mistake 23 'array used as initializer'
    mistake 24 compiles
fi

compile nesting.cpp || fail "two adapters of completion tokens cannot be nested"

compile bodies.cpp || fail "a correct body does not compile"
[[ -z $messages ]] || fail "there is a warning about a correct body"
compile bodies.cpp -DTEMPORARY || fail "a temporary body does not compile"
if ! $is_clang && (($("$compiler" -dumpversion | cut -d. -f1) < 13)); then
    warnings=$(grep -c 'bodies.cpp:.*GCC 12 destroys a temporary body twice' <<<"$messages" || true)
    ((warnings == 2)) || fail "there are $warnings warnings about the temporary bodies, and not two"
    compile bodies.cpp -DTEMPORARY -DCOLOCK_ALLOW_TEMPORARY_BODIES || fail "the warning cannot be switched off"
fi
[[ -z $messages ]] || fail "there is a warning that nobody needs"
