// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Runs coroutines under a lock. One returns a value. One loses its lease, so it is cancelled.
// with_lock memory://a
// with_lock redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> pay(colock::client& locks, std::string invoice) {
    colock::mutex mutex{locks, "invoice:" + invoice};

    // GCC 12 needs a variable for a lambda that captures by value. A temporary one is destroyed twice.
    auto body = [invoice](colock::lease&) -> asio::awaitable<int> {
        std::cout << "only we touch invoice " << invoice << " now\n";
        co_return 100;
    };
    const int amount = co_await colock::with_lock(mutex, body);  // the lock is released here
    std::cout << "paid " << amount << '\n';
}

asio::awaitable<void> pay_too_slowly(colock::client& locks, std::string invoice) {
    colock::mutex mutex{locks, "invoice:" + invoice, {.max_hold = 300ms}};

    auto body = [invoice](colock::lease& lease) -> asio::awaitable<void> {
        asio::steady_timer bank{co_await asio::this_coro::executor, 1min};
        try {
            co_await bank.async_wait();  // fails with operation_aborted when the lease is lost
        } catch (const boost::system::system_error&) {
            std::cout << "stop paying invoice " << invoice << ", " << lease.loss().code().message()
                      << '\n';
            throw;
        }
    };
    try {
        co_await colock::with_lock(mutex, body);
    } catch (const colock::lease_lost& loss) {
        std::cout << "invoice " << invoice << " is not paid\n";
    }
}

asio::awaitable<void> work(colock::client& locks) {
    co_await pay(locks, "42");
    co_await pay_too_slowly(locks, "43");
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
