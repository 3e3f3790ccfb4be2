// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& locks) {
    // At most 20 tasks of all programs call the ERP system at the same time.
    colock::semaphore erp{locks, "erp", 20};
    auto call_erp = [](colock::lease&) -> asio::awaitable<void> {
        std::cout << "calling with one permit\n";
        co_return;
    };
    co_await colock::with_lock(erp, call_erp);

    // A large job takes several permits, all at once or none.
    colock::lease lease = co_await erp.acquire(15);
    std::cout << "calling with 15 permits\n";
    if (auto more = co_await erp.try_acquire(6); !more)
        std::cout << "6 more are not free\n";
    co_await lease.release();

    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// semaphore redis://127.0.0.1:7001 redis://127.0.0.1:7002 ...
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
