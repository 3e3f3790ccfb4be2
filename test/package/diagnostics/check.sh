#!/usr/bin/env bash
# check.sh COMPILER FLAG...: checks what the compiler prints about two mistakes. A duration in place of a completion token
# gets a short error. A temporary body that GCC 12 destroys twice gets a warning. This is a ctest test, and not meant to be
# run by hand. It also compiles all nested adapters of completion tokens.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here most_lines=45

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

if compile duration.cpp; then fail "acquire accepts a duration"; fi
lines=$(wc -l <<<"$messages")
printf 'mutex.acquire(1s): an error of %s lines (limit %s)\n' "$lines" "$most_lines"
((lines <= most_lines)) || fail "the error is too long"
[[ $(grep -m 1 error: <<<"$messages") =~ duration\.cpp.*acquire ]] || fail "the first line of the error does not name the call"

compile nesting.cpp || fail "two adapters of completion tokens cannot be nested"

compile bodies.cpp || fail "a correct body does not compile"
[[ -z $messages ]] || fail "there is a warning about a correct body"
compile bodies.cpp -DTEMPORARY || fail "a temporary body does not compile"
if [[ $("$compiler" --version) != *clang* ]] && (($("$compiler" -dumpversion | cut -d. -f1) < 13)); then
    warnings=$(grep -c 'bodies.cpp:.*GCC 12 destroys a temporary body twice' <<<"$messages" || true)
    ((warnings == 2)) || fail "there are $warnings warnings about the temporary bodies, and not two"
    compile bodies.cpp -DTEMPORARY -DCOLOCK_ALLOW_TEMPORARY_BODIES || fail "the warning cannot be switched off"
fi
[[ -z $messages ]] || fail "there is a warning that nobody needs"
