// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Runs a job at most once per period, on whichever host asks first. The period is a ttl, so it is short. For an hour or a
// day see cron.cpp.
// period memory://a
// period redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Returns false if a host has started the job in this period.
asio::awaitable<bool> run_once_per_period(colock::client& locks) {
    colock::lock_options options;
    options.ttl = 2s;    // the period, from one start to the next
    options.renew = 0s;  // so that it counts from the start, also if this host dies
    colock::mutex mutex{locks, "newsletter", options};

    colock::lease lease = co_await mutex.try_acquire();
    if (!lease)
        co_return false;
    std::cout << "sending the newsletter\n";
    lease.abandon();  // the servers keep the lock until the period ends
    co_return true;
}

asio::awaitable<void> work(colock::client& locks) {
    co_await run_once_per_period(locks);
    if (!co_await run_once_per_period(locks))
        std::cout << "it was sent in this period already\n";

    colock::lease next = co_await colock::mutex{locks, "newsletter"}.acquire();
    std::cout << "the next period begins\n";
    co_await next.release();
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
