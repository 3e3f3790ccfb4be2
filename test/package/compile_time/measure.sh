#!/usr/bin/env bash
# measure.sh COMPILER FLAG...: compiles asio.cpp and colock.cpp alternately, three times each. It prints the
# median processor times and their ratio. It fails if colock.cpp takes more than 1.5 times as long. Processor
# time depends little on other load. This is a ctest test, and not meant to be run by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here repetitions=3 limit_percent=150

export LC_ALL=C
TIMEFORMAT=%3U   # Seconds in user mode.

milliseconds_of() {
    local seconds
    seconds=$({ time "$compiler" -std=c++20 "${flags[@]}" -c -o /dev/null "$here/$1.cpp" 2>&3; } 3>&2 2>&1) || return
    printf '%s\n' $((10#${seconds/./}))
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

compiler=$1
shift
flags=("$@")
asio=() colock=()
for ((i = 0; i < repetitions; ++i)); do
    time_of_asio=$(milliseconds_of asio)
    time_of_colock=$(milliseconds_of colock)
    asio+=("$time_of_asio")
    colock+=("$time_of_colock")
done

asio_median=$(median "${asio[@]}")
colock_median=$(median "${colock[@]}")
percent=$((100 * colock_median / asio_median))
printf 'boost/asio.hpp and co_spawn: %s ms; colock/colock.hpp, a lock and co_spawn: %s ms; ratio %s.%02d (limit 1.50)\n' \
    "$asio_median" "$colock_median" $((percent / 100)) $((percent % 100))
((percent <= limit_percent))
