// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_DESTRUCTION_HPP
#define COLOCK_TEST_INTEGRATION_DESTRUCTION_HPP

#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

// Destroys lease, mutex, client and context in every order, with pending operations.

namespace colock::test {

/// A handler that shows whether it still exists.
struct mark {
    std::shared_ptr<int> life = std::make_shared<int>(0);
    [[nodiscard]] std::weak_ptr<int> watch() const { return life; }
};

/// All objects of a case. They can be destroyed in any order.
struct parts {
    explicit parts(const config& configuration, lock_options options)
        : context(std::in_place),
          locks(std::in_place, context->get_executor(), configuration),
          lock(std::in_place, *locks, "resource", options),
          held(std::in_place) {}

    /// Acquires the lock.
    void hold() {
        lock->acquire([&](error, lease granted) { *held = std::move(granted); });
        for (const auto start = steady_clock::now();
             !held->valid() && steady_clock::now() - start < 10s;) {
            context->run_one_for(10ms);
        }
        BOOST_TEST_REQUIRE(held->valid());
    }

    void destroy(std::size_t part) {
        switch (part) {
            case 0:
                context.reset();
                break;
            case 1:
                locks.reset();
                break;
            case 2:
                lock.reset();
                break;
            default:
                held.reset();
                break;
        }
    }

    std::optional<asio::io_context> context;
    std::optional<client> locks;
    std::optional<mutex> lock;
    std::optional<lease> held;
};

/// Starts every operation, runs `turns` handlers, and destroys the objects in the given order.
inline void destroy_in_order(const config& configuration, const std::array<std::size_t, 4>& order,
                             std::size_t turns) {
    parts p(configuration, {});
    p.hold();

    mark m;
    const auto life = m.watch();
    const auto handler = [m](auto&&...) {};
    p.held->wait_lost(handler);
    p.held->extend(20s, handler);
    p.held->release(handler);
    p.lock->acquire(handler);
    p.lock->try_acquire(handler);
    p.lock->try_acquire_for(10s, handler);
    {
        const auto body = [m](lease&) -> asio::awaitable<void> { co_return; };
        colock::with_lock(*p.lock, body, handler);
    }
    p.locks->close(handler);
    { const mark dropped = std::exchange(m, mark{}); }
    while (turns-- != 0 && p.context->poll_one() != 0) {
    }
    for (const std::size_t part : order) {
        p.destroy(part);
    }
    // All handlers have been called, or destroyed with the context and the objects that refer to it. Only the
    // lambda above still has a copy.
    BOOST_TEST(life.use_count() == 1);
}

template <typename Test>
void in_every_order(Test test) {
    std::array<std::size_t, 4> order{};
    std::iota(order.begin(), order.end(), 0U);
    do {
        test(order);
    } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace colock::test

#endif
