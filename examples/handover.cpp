// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<std::string> first_half(colock::client& locks, std::string job) {
    colock::mutex mutex{locks, "job:" + job};
    colock::lease lease = co_await mutex.acquire();
    std::cout << "the first half of " << job << '\n';
    co_await lease.extend(10s);  // the other process has 10 s from now
    co_return co_await lease.detach();
}

asio::awaitable<void> second_half(colock::client& locks, std::string text) {
    colock::lease lease = co_await colock::adopt(locks, text);
    std::cout << "the second half, under the same lock: " << lease.resource() << '\n';
    co_await lease.release();
}

asio::awaitable<void> work(colock::client& here, colock::client& there) {
    std::string text = co_await first_half(here, "invoices");
    co_await second_half(there, text);  // mostly in another process: send it the text
    co_await here.close();
    co_await there.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// handover redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    const colock::config config = colock::config::from_uris({argv + 1, argv + argc});
    colock::client here{context, config};
    colock::client there{context, config};
    asio::co_spawn(context, work(here, there), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
