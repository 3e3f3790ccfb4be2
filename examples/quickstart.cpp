// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> pay(colock::lease& lease) {
    std::cout << "only we touch " << lease.resource() << " now\n";
    co_return;  // the lock is released on every path: return, exception, cancellation
}

asio::awaitable<void> work(colock::client& locks) {
    colock::mutex mutex{locks, "invoice:42"};
    co_await colock::with_lock(mutex, pay);  // waits until a majority of the servers grants it
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// quickstart redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
