// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& locks) {
    colock::multi_mutex both{locks, {"account:7", "account:3"}};  // in any order
    auto transfer = [](colock::lease& lease) -> asio::awaitable<void> {
        std::cout << "only we touch " << lease.resource() << " now\n";
        co_return;
    };
    co_await colock::with_lock(both, transfer);

    // On each name it is a mutex.
    colock::lease lease = co_await both.acquire();
    colock::mutex account{locks, "account:3"};
    if (auto other = co_await account.try_acquire(); !other)
        std::cout << "account:3 is not free\n";
    co_await lease.release();

    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// multi_mutex redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
