// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A duration is no completion token. This does not compile.

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>

boost::asio::awaitable<void> work(colock::mutex& mutex) {
    co_await mutex.acquire(std::chrono::seconds(1));
}
