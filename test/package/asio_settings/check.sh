#!/usr/bin/env bash
# check.sh COMPILER LIBRARY SOURCE FLAG...: checks a program that is compiled with other Asio settings than
# the library. It must not link, and the linker must report what to do. With the same settings, and with
# harmless settings, it must link. SOURCE is the file of the library that has the settings. This is a ctest
# test, and not meant to be run by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here advice='compile_colock_with_the_BOOST_ASIO_settings_of_this_program'
readonly -a harmful=(
    BOOST_ASIO_ENABLE_HANDLER_TRACKING
    BOOST_ASIO_DISABLE_EPOLL
    BOOST_ASIO_DISABLE_EVENTFD
    BOOST_ASIO_DISABLE_TIMERFD
    BOOST_ASIO_DISABLE_THREADS
    BOOST_ASIO_NO_TYPEID
    BOOST_ASIO_ENABLE_BUFFER_DEBUGGING
    BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC
    BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING
    BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=4
    BOOST_ASIO_ENABLE_SEQUENTIAL_STRAND_ALLOCATION
    BOOST_ASIO_STRAND_IMPLEMENTATIONS=7
)
readonly -a harmless=(
    BOOST_ASIO_NO_DEPRECATED
    BOOST_ASIO_DISABLE_SIGACTION
    COLOCK_NOTHING_OF_ASIO
)

compiler=$1 library=$2 source=$3
shift 3
flags=("$@")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
    printf '%s\n' "$1"
    failures=$((failures + 1))
}

compile() {   # DEFINITION FILE OUTPUT
    "$compiler" -std=c++20 "${flags[@]}" -ffunction-sections -fdata-sections "-D$1" -c -o "$scratch/$3" "$2"
}

# Prints the linker's message if it fails.
link() {
    "$compiler" "${flags[@]}" -Wl,--gc-sections -o "$scratch/program" "$@" 2>&1
}

for setting in "${harmful[@]}"; do
    compile "$setting" "$here/program.cpp" program.o
    compile "$setting" "$source" settings.o
    if said=$(link "$scratch/program.o" "$library"); then
        fail "$setting: links with a library that was compiled without it"
    elif [[ $said != *"$advice"* ]]; then
        fail "$setting: the linker says: $said"
    fi
    said=$(link "$scratch/program.o" "$scratch/settings.o") || fail "$setting: does not link with the same setting: $said"
done
for setting in "${harmless[@]}"; do
    compile "$setting" "$here/program.cpp" program.o
    said=$(link "$scratch/program.o" "$library") || fail "$setting: does not link: $said"
done
((failures == 0))
