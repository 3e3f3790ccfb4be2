#!/usr/bin/env bash
# measure.sh COMPILER FLAG...: compiles asio.cpp and colock.cpp five times each, in turns, prints the median times and
# their ratio, and fails when colock.cpp takes more than 1.5 times as long. A ctest test; not meant to be run by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here repetitions=5 limit_percent=150

milliseconds_of() {
    local start=${EPOCHREALTIME/[.,]/}
    "$compiler" -std=c++20 "${flags[@]}" -c -o /dev/null "$here/$1.cpp"
    printf '%s\n' $(((${EPOCHREALTIME/[.,]/} - start) / 1000))
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

compiler=$1
shift
flags=("$@")
asio=() colock=()
milliseconds_of asio >/dev/null   # the first reads the headers from disk
for ((i = 0; i < repetitions; ++i)); do
    asio+=("$(milliseconds_of asio)")
    colock+=("$(milliseconds_of colock)")
done

asio_median=$(median "${asio[@]}")
colock_median=$(median "${colock[@]}")
percent=$((100 * colock_median / asio_median))
printf 'boost/asio.hpp and co_spawn: %s ms; colock/colock.hpp, a lock and co_spawn: %s ms; ratio %s.%02d (limit 1.50)\n' \
    "$asio_median" "$colock_median" $((percent / 100)) $((percent % 100))
((percent <= limit_percent))
