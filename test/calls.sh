#!/usr/bin/env bash
# Counts the function calls of one acquire and one release.
# shellcheck source-path=SCRIPTDIR source=../cmake/script.sh
source "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}../cmake/script.sh"

usage() {
    cat <<'TEXT'
Usage: test/calls.sh [--help]

Builds the library and a small program without optimization in build/calls. The compiler adds a counter to each function
of colock, and to none of other libraries. The program acquires and releases a mutex twice on one redis-server, which
this script starts. It prints the number of calls in the second cycle.

A call that the compiler would inline counts too. So the number says how many functions a reader meets, and not what the
processor does.
TEXT
}

while (($# > 0)); do common_option "$1"; done
colock_bootstrap --tests --benchmarks
cd "$colock_root"

say "building (in build/calls)"
colock_forget_other_folder calls
cmake -S . -B build/calls -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS='-O0 -g0 -finstrument-functions -finstrument-functions-exclude-file-list=/usr/,calls.cpp' \
    -DCOLOCK_BUILD_TESTS=OFF -DCOLOCK_BUILD_EXAMPLES=OFF -DCOLOCK_UNITY_BUILD=ON >build/configure-calls.log 2>&1 ||
    { cat build/configure-calls.log >&2; die "cmake could not configure build/calls"; }
cmake --build build/calls --target colock_calls || die "the build of build/calls failed"

work=
temporary_folder work
redis-server --port 0 --unixsocket "$work/redis.sock" --dir "$work" --save '' --daemonize no >"$work/log" 2>&1 &
stop_at_exit $!
for ((tries = 0; tries < 100; tries++)); do
    [[ -S $work/redis.sock ]] && break
    sleep 0.1
done
say "function calls of the second cycle"
"$(find build/calls -name colock_calls -type f)" "unix://$work/redis.sock"
