// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Counts the function calls of one acquire and one release. See test/calls.sh, which builds it and the library with
// -finstrument-functions.

#include <colock/client.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace {

bool counting = false;
std::uint64_t calls = 0;

}  // namespace

// The compiler calls them at the begin and the end of each function that is instrumented.
extern "C" {
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void* /*function*/,
                                                                      void* /*caller*/) {
    calls += counting ? 1 : 0;
}
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void* /*function*/,
                                                                     void* /*caller*/) {}
}

namespace {

namespace asio = boost::asio;

/// The first cycle connects, and fills the caches of memory. The second one is counted.
asio::awaitable<void> count(colock::client& locks) {
    const colock::mutex mutex(locks, "calls");
    for (const bool counts : {false, true}) {
        counting = counts;
        colock::lease lease = co_await mutex.acquire();
        counting = false;
        const std::uint64_t acquire = calls;
        counting = counts;
        co_await lease.release();
        counting = false;
        if (counts) {
            std::cout << "acquire " << acquire << "\nrelease " << calls - acquire << "\nboth "
                      << calls << '\n';
        }
    }
    co_await locks.close();
}

}  // namespace

int main(int /*argc*/, char** argv) try {
    asio::io_context context;
    colock::client locks(context, colock::config::from_uris({argv[1]}));
    asio::co_spawn(context, count(locks), [](std::exception_ptr failure) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    });
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
