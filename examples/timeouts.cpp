// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Waits for a lock for a limited time. If somebody else holds it, try_acquire returns an empty lease.
// timeouts memory://a
// timeouts redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(colock::client& locks) {
    colock::mutex mutex{locks, "invoice:42"};
    colock::lease holder = co_await mutex.acquire();  // stands for another program

    // One attempt.
    colock::lease lease = co_await mutex.try_acquire();
    if (!lease)
        std::cout << "the lock is not free now\n";

    // Waits for 200 ms at most.
    lease = co_await mutex.try_acquire_for(200ms);
    if (!lease)
        std::cout << "the lock was not free within 200 ms\n";

    // Any other way to cancel works too. A cancelled acquire fails with operation_aborted.
    try {
        lease = co_await mutex.acquire(asio::cancel_after(1s));
    } catch (const colock::lock_error& failure) {
        if (failure.code() != asio::error::operation_aborted)
            throw;
        std::cout << "acquire was cancelled after 1 s\n";
    }

    // The wait for a body is limited, and the body is not.
    auto body = [](colock::lease&) -> asio::awaitable<void> { co_return; };
    try {
        co_await colock::with_lock(colock::within{mutex, 200ms}, body);
    } catch (const colock::lock_error& failure) {
        if (failure.code() != colock::errc::contended)
            throw;
        std::cout << "the body has not run\n";
    }

    co_await holder.release();
    lease = co_await mutex.try_acquire_for(200ms);
    if (lease)
        std::cout << "now we hold the lock\n";
    lease = {};  // releases the lock in the background

    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
