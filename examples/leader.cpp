// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Elects a leader among all processes that run this program. The leader works for a while, and resigns.
// leader NAME memory://a
// leader NAME redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> serve(colock::client& locks, std::string name) {
    colock::mutex mutex{locks, "leader of the shop"};

    // Several of these may run, one after the other: if the lease is lost, this one is cancelled.
    // GCC 12 needs a variable for a lambda that captures by value.
    auto body = [name](colock::lease& lease) -> asio::awaitable<void> {
        asio::steady_timer timer{co_await asio::this_coro::executor};
        for (int job = 1; job <= 2; ++job) {
            std::cout << name << " leads and does job " << job << std::endl;
            timer.expires_after(10ms);
            co_await timer.async_wait(asio::deferred);  // throws if the lease is lost
        }
        std::cout << name << " resigns as " << lease.resource() << std::endl;
    };
    co_await colock::lead(mutex, body);  // waits until nobody else leads
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    if (argc < 3)
        throw std::runtime_error("usage: leader NAME SERVER...");
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 2, argv + argc})};
    asio::co_spawn(context, serve(locks, argv[1]), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
