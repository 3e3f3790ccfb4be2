// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

std::string price = "10";  // in a real program, in several stores that no transaction covers

asio::awaitable<void> work(colock::client& locks) {
    colock::shared_mutex prices{locks, "prices"};

    // Any number of processes read together. The readers of this one share an entry on the servers.
    auto read = [](colock::lease&) -> asio::awaitable<void> {
        std::cout << "the price is " << price << '\n';
        co_return;
    };
    co_await colock::with_shared_lock(prices, read);

    // The writer is alone. Then it becomes a reader: others may read too, and nobody writes in between.
    colock::lease lease = co_await prices.acquire();
    price = "12";
    co_await prices.downgrade(lease);
    std::cout << "the price is still " << price << '\n';
    co_await lease.release();

    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// shared_mutex redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
