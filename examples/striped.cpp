// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> pay(colock::lease& lease) {
    std::cout << "only we touch " << lease.resource() << " now\n";
    co_return;
}

asio::awaitable<void> work(colock::client& locks) {
    colock::striped<colock::mutex> accounts{locks, "accounts", 64};
    co_await colock::with_lock(accounts.of("ada"), pay);

    // Two keys may share a stripe. This lock has each stripe once.
    colock::multi_mutex both = accounts.all_of({"ada", "bob"});
    co_await colock::with_lock(both, pay);

    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// striped redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
