// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Functions that lock the same account call each other. They pass on an owner, which says that they belong together.
// reentrant_mutex memory://a
// reentrant_mutex redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <vector>

namespace asio = boost::asio;

struct account {
    colock::reentrant_mutex lock;
    int balance = 0;
};

asio::awaitable<void> deposit(account& to, colock::lock_owner owner, int amount) {
    auto body = [&to, amount](colock::lease&) -> asio::awaitable<void> {
        to.balance += amount;
        co_return;
    };
    co_await colock::with_lock(colock::owned{to.lock, owner}, body);
}

// No other task sees the account before all amounts are there.
asio::awaitable<void> deposit_all(account& to, colock::lock_owner owner, std::vector<int> amounts) {
    colock::lease lease = co_await to.lock.acquire(owner);
    for (int amount : amounts)
        co_await deposit(to, owner, amount);  // enters again, without a round trip
    co_await lease.release();
}

// An inner loop that enters without waiting for a completion.
int count_up(account& to, colock::lock_owner owner, int times) {
    for (int i = 0; i != times; ++i) {
        colock::lease entry = to.lock.try_reenter(owner);
        if (!entry)
            return i;  // the owner does not hold the lock
        ++to.balance;
    }
    return times;
}

asio::awaitable<void> work(colock::client& locks) {
    account ada{colock::reentrant_mutex{locks, "account:ada"}};
    colock::lock_owner owner;  // of this task
    std::vector<int> amounts{10, 20, 30};
    co_await deposit_all(ada, owner, amounts);
    std::cout << "ada has " << ada.balance << '\n';
    std::cout << "entered " << count_up(ada, owner, 5) << " times\n";

    colock::lease lease = co_await ada.lock.acquire(owner);
    std::cout << "entered " << count_up(ada, owner, 5) << " times\n";
    try {
        // A mutex is not recursive. With an owner, it says so.
        co_await colock::mutex{locks, "account:ada"}.acquire(owner);
    } catch (const colock::lock_error& failure) {
        std::cout << failure.what() << '\n';
    }
    co_await lease.release();
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
