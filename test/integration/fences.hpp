// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_FENCES_HPP
#define COLOCK_TEST_INTEGRATION_FENCES_HPP

#include "integration/locks.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::test {

inline lock_options fenced(lock_options options = {}) {
    options.fencing = true;
    return options;
}

/// The counter of the lock "x".
inline const std::string counter_name = "{x}:colock:fence";

/// Returns the counter's value on a server, or 0 if there is none.
inline std::uint64_t counter_on(const redis_server& server) {
    const auto text = server.command({"GET", counter_name});
    return text ? std::stoull(*text) : 0;
}

/// Returns the number of servers whose counter is at least this fence.
inline std::size_t counted_to(servers& instances, std::uint64_t fence) {
    std::size_t count = 0;
    for (const redis_server& server : instances) {
        count += counter_on(server) >= fence ? 1 : 0;
    }
    return count;
}

/// Acquires and releases the lock, and returns the fence.
inline asio::awaitable<std::uint64_t> next_fence(const mutex& lock) {
    lease held = co_await lock.acquire();
    const std::uint64_t fence = held.fence();
    co_await held.release(asio::as_tuple);  // A slow release continues in the background.
    co_return fence;
}

}  // namespace colock::test

#endif
