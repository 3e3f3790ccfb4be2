#include "integration/locks.hpp"

#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

// Lease, mutex, client and context destroyed in every order, with operations under way: handlers are
// destroyed, if not called, and nothing is touched that is gone. (For the address sanitizer.)

namespace {

using namespace colock;
using namespace colock::test;

config in_memory() {
    return config::from_uris({"memory://a", "memory://b", "memory://c"});
}

BOOST_AUTO_TEST_SUITE(destruction_test)

/// A handler that tells whether it still exists.
struct mark {
    std::shared_ptr<int> life = std::make_shared<int>(0);
    [[nodiscard]] std::weak_ptr<int> watch() const { return life; }
};

/// Everything of a scene, to be destroyed in any order.
struct parts {
    explicit parts(const config& configuration, lock_options options)
        : context(std::in_place),
          locks(std::in_place, context->get_executor(), configuration),
          lock(std::in_place, *locks, "resource", options),
          held(std::in_place) {}

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

/// Starts every operation there is, lets them run for `turns` handlers, and destroys all in `order`.
void destroy_in_order(const config& configuration, const std::array<std::size_t, 4>& order,
                      std::size_t turns) {
    parts p(configuration, {});
    p.lock->acquire([&](error, lease granted) { *p.held = std::move(granted); });
    for (const auto start = steady_clock::now();
         !p.held->valid() && steady_clock::now() - start < 10s;) {
        p.context->run_one_for(10ms);
    }
    BOOST_TEST_REQUIRE(p.held->valid());

    mark m;
    const auto life = m.watch();
    const auto handler = [m](auto&&...) {};
    p.held->wait_lost(handler);
    p.held->extend(20s, handler);
    p.held->release(handler);
    p.lock->acquire(handler);
    p.lock->try_acquire(handler);
    p.lock->try_acquire_for(10s, handler);
    colock::with_lock(
        *p.lock, [m](lease&) -> asio::awaitable<void> { co_return; }, handler);
    p.locks->close(handler);
    { const mark dropped = std::exchange(m, mark{}); }
    while (turns-- != 0 && p.context->poll_one() != 0) {
    }
    for (const std::size_t part : order) {
        p.destroy(part);
    }
    // The handlers are gone with the context and all that refers to it, called or not. The lambda
    // above still has its copy.
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

BOOST_AUTO_TEST_CASE(destroyed_in_every_order_in_memory) {
    for (const bool thread_safe : {false, true}) {
        config configuration = in_memory();
        configuration.thread_safe = thread_safe;
        in_every_order([&](const auto& order) {
            for (const std::size_t turns : {0U, 1U, 2U, 3U, 5U, 8U}) {
                destroy_in_order(configuration, order, turns);
            }
        });
    }
}

BOOST_FIXTURE_TEST_CASE(destroyed_in_every_order_with_servers, shared_servers<3>) {
    for (const bool thread_safe : {false, true}) {
        config configuration = instances.config();
        configuration.thread_safe = thread_safe;
        in_every_order([&](const auto& order) {
            for (const std::size_t turns : {0U, 1U, 4U}) {
                instances.flush();
                destroy_in_order(configuration, order, turns);
            }
        });
    }
}

/// A coroutine that owns the lease whose loss it waits for.
BOOST_AUTO_TEST_CASE(a_context_destroyed_under_coroutines_that_own_everything) {
    for (const bool thread_safe : {false, true}) {
        config configuration = in_memory();
        configuration.thread_safe = thread_safe;
        mark m;
        const auto life = m.watch();
        {
            asio::io_context context;
            asio::co_spawn(
                context,
                [](asio::any_io_executor executor, config c, mark) -> asio::awaitable<void> {
                    client locks(executor, c);
                    mutex lock(locks, "resource");
                    lease held = co_await lock.acquire();
                    co_await colock::with_lock(
                        mutex(locks, "another"),
                        [](lease& inner) -> asio::awaitable<void> { co_await inner.wait_lost(); });
                }(context.get_executor(), configuration, std::move(m)),
                asio::detached);
            context.run_for(50ms);
        }
        BOOST_TEST(life.expired());
    }
}

/// An executor that is more than a pointer to the context.
BOOST_AUTO_TEST_CASE(a_lease_that_outlives_its_strand) {
    std::optional<lease> held;
    {
        asio::io_context context;
        client locks(asio::make_strand(context), in_memory());
        mutex lock(locks, "resource");
        lock.acquire([&](error, lease granted) { held = std::move(granted); });
        while (!held) {
            context.run_one_for(1s);
        }
    }
    held.reset();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
