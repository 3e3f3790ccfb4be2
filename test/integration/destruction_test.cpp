// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/destruction.hpp"
#include "integration/locks.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

// Lease, mutex, client and context are destroyed in every order, with pending operations. Every handler is
// called or destroyed. The address sanitizer checks that no destroyed object is used. Further cases test
// objects that were moved from.

namespace {

BOOST_AUTO_TEST_SUITE(destruction_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using way = tcp_proxy::way;

config in_memory() {
    return config::from_uris({"memory://a", "memory://b", "memory://c"});
}

/// Checks each operation of a lock whose client no longer exists.
asio::awaitable<void> check_closed(const mutex& lock) {
    const auto [e1, nothing] = co_await lock.acquire(asio::as_tuple);
    BOOST_TEST((e1 == errc::client_closed));
    BOOST_TEST(!nothing.valid());
    const auto [e2, none] = co_await lock.try_acquire(asio::as_tuple);
    BOOST_TEST((e2 == errc::client_closed));
    BOOST_TEST(!none.owns_lock());
    const auto [e3, none_in_time] = co_await lock.try_acquire_for(1s, asio::as_tuple);
    BOOST_TEST((e3 == errc::client_closed));
    BOOST_TEST(!none_in_time.owns_lock());
    const auto body = [](lease& /*held*/) -> asio::awaitable<void> { co_return; };
    std::optional<error_code> e4;
    with_lock(
        lock, body,
        asio::bind_executor(co_await asio::this_coro::executor, [&](std::exception_ptr thrown) {
            e4 = background{true, thrown}.code();
        }));
    co_await async_wait_until([&] { return e4.has_value(); });
    BOOST_TEST((*e4 == make_error_code(errc::client_closed)));
    const mutex copy = lock;  // NOLINT(performance-unnecessary-copy-initialization)
    BOOST_TEST(copy.resource() == lock.resource());
    BOOST_TEST((lock.get_executor() == asio::system_executor()));
    BOOST_TEST((lock.body_executor() == asio::system_executor()));
}

/// Checks each operation of a shared mutex whose client no longer exists, also with leases of another, living
/// one.
asio::awaitable<void> check_closed(const shared_mutex& lock, const shared_mutex& other) {
    const auto [e1, nothing] = co_await lock.acquire_shared(asio::as_tuple);
    BOOST_TEST((e1 == errc::client_closed));
    BOOST_TEST(!nothing.valid());
    const auto [e2, none] = co_await lock.try_acquire_shared(asio::as_tuple);
    BOOST_TEST((e2 == errc::client_closed));
    BOOST_TEST(!none.owns_lock());
    const auto [e3, no_writer] = co_await lock.acquire(asio::as_tuple);
    BOOST_TEST((e3 == errc::client_closed));
    BOOST_TEST(!no_writer.valid());
    for (const bool writes : {false, true}) {
        lease held;  // GCC 12 cannot compile a conditional expression with two co_await.
        if (writes) {
            held = co_await other.acquire();
        } else {
            held = co_await other.acquire_shared();
        }
        const auto [e4] = co_await lock.downgrade(held, asio::as_tuple);
        BOOST_TEST((e4 == errc::client_closed));
        const auto [e5, no_share] = co_await lock.share(held, asio::as_tuple);
        BOOST_TEST((e5 == errc::client_closed));
        BOOST_TEST(!no_share.valid());
        BOOST_TEST((co_await held.release() == release_result::released));
    }
}

BOOST_AUTO_TEST_CASE(a_shared_mutex_that_was_moved_from_behaves_as_closed) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory());
        shared_mutex lock(locks, "x");
        const shared_mutex moved = std::move(lock);
        // NOLINTBEGIN(bugprone-use-after-move)
        BOOST_TEST(lock.resource() == "");
        co_await check_closed(lock, moved);
        client taken(co_await asio::this_coro::executor, in_memory());
        const client taken_over = std::move(taken);
        const shared_mutex of_none(taken, "x");
        // NOLINTEND(bugprone-use-after-move)
        BOOST_TEST(of_none.resource() == "x");
        co_await check_closed(of_none, moved);
    }());
}

BOOST_AUTO_TEST_CASE(a_mutex_that_was_moved_from_behaves_as_closed) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory());
        mutex lock(locks, "x", with_ttl(5s));
        mutex moved = std::move(lock);
        // NOLINTBEGIN(bugprone-use-after-move)
        BOOST_TEST(lock.resource() == "");
        co_await check_closed(lock);
        BOOST_TEST(is_held(co_await moved.acquire()));
        lock = moved;
        // NOLINTEND(bugprone-use-after-move)
        BOOST_TEST(is_held(co_await lock.acquire()));
        BOOST_TEST((lock.options().ttl == 5s));
    }());
}

BOOST_AUTO_TEST_CASE(a_client_that_was_moved_from_behaves_as_closed) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory());
        const client moved = std::move(locks);
        // NOLINTBEGIN(bugprone-use-after-move)
        BOOST_TEST(locks.instances().empty());
        BOOST_TEST(locks.counters().attempts == 0U);
        BOOST_TEST((locks.get_executor() == asio::system_executor()));
        const auto [e] = co_await locks.close(asio::as_tuple);
        BOOST_TEST(!e, e.message());
        const mutex lock(locks, "x");
        // NOLINTEND(bugprone-use-after-move)
        BOOST_TEST(lock.resource() == "x");
        co_await check_closed(lock);
        const auto [refused, nothing] = co_await lock.acquire(asio::as_tuple);
        BOOST_TEST(refused.details() == "'x'");
        BOOST_TEST(moved.instances().size() == 3U);
    }());
}

BOOST_AUTO_TEST_CASE(objects_may_be_destroyed_in_any_order_in_memory, *label("fault-10")) {
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

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_with_servers, shared_servers<3>,
                        *label("fault-10")) {
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

/// The operation that is pending when everything is destroyed.
struct scene {
    config configuration;
    proxies& network;
    bool with_lease;  // Whether the lock is already held.
    std::function<void(parts&, mark)> start;
};

/// Destroys everything while an operation waits for the replies of all servers.
void destroy_in_flight(const scene& what, const std::array<std::size_t, 4>& order) {
    mark m;
    const auto life = m.watch();
    {
        parts p(what.configuration, {});
        const auto run_until = [&](auto condition) {
            wait_until([&] {
                p.context->poll();
                return condition();
            });
        };
        run_until([&] { return ready_instances(*p.locks) == what.network.size(); });
        if (what.with_lease) {
            p.hold();
        }
        run_until([&] { return idle(*p.locks); });
        for (auto& link : what.network) {
            link.hold(way::to_client);
        }
        what.start(p, std::move(m));
        for (auto& link : what.network) {
            run_until([&] { return link.waiting(way::to_client) != 0; });
        }
        for (const std::size_t part : order) {
            p.destroy(part);
        }
    }
    BOOST_TEST(life.expired());  // No handler is left.
    for (auto& link : what.network) {
        link.resume();
    }
}

void destroy_in_flight_in_every_order(servers& instances, scene what) {
    for (const bool thread_safe : {false, true}) {
        config configuration = what.configuration;
        configuration.thread_safe = thread_safe;
        in_every_order([&](const auto& order) {
            instances.flush();
            destroy_in_flight({configuration, what.network, what.with_lease, what.start}, order);
        });
    }
}

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_during_acquire,
                        shared_servers_far_away<5>, *label("fault-10")) {
    destroy_in_flight_in_every_order(
        instances, {quiet_config(), network, false,
                    [](parts& p, mark m) { p.lock->acquire([m](auto&&...) {}); }});
}

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_during_extend,
                        shared_servers_far_away<5>, *label("fault-10")) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.held->wait_lost([m](auto&&...) {});
                                          p.held->extend(20s, [m](auto&&...) {});
                                      }});
}

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_during_release,
                        shared_servers_far_away<5>, *label("fault-10")) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.held->release([m](auto&&...) {});
                                          p.lock->try_acquire_for(10s, [m](auto&&...) {});
                                      }});
}

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_during_close,
                        shared_servers_far_away<5>, *label("fault-10")) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.locks->close([m](auto&&...) {});
                                          *p.held = lease();  // Closing waits for this release.
                                      }});
}

BOOST_FIXTURE_TEST_CASE(objects_may_be_destroyed_in_any_order_during_with_lock,
                        shared_servers_far_away<5>, *label("fault-10")) {
    destroy_in_flight_in_every_order(
        instances, {quiet_config(), network, false, [](parts& p, mark m) {
                        const auto body = [m](lease&) -> asio::awaitable<void> { co_return; };
                        colock::with_lock(*p.lock, body, [m](auto&&...) {});
                    }});
}

/// A coroutine owns the lease whose loss it waits for.
BOOST_AUTO_TEST_CASE(destroying_a_context_destroys_coroutines_that_own_objects) {
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

/// No server replies to the release, and `close` gives up. The memory that is kept for the votes must be
/// freed with the context. Otherwise the address sanitizer reports a leak.
BOOST_AUTO_TEST_CASE(a_context_may_be_destroyed_before_the_last_votes) {
    servers instances(3);
    config configuration = instances.config();
    configuration.close_timeout = 0ms;
    asio::io_context context;
    client locks(context, configuration);
    mutex lock(locks, "resource");
    std::optional<lease> held;
    lock.acquire([&](error, lease granted) { held = std::move(granted); });
    while (!held) {
        context.run_one_for(1s);
    }
    for (redis_server& server : instances) {
        server.pause();
    }
    held.reset();
    bool closed = false;
    locks.close([&](error) { closed = true; });
    while (!closed) {
        context.run_one_for(1s);
    }
}

/// The executor is more than a pointer to the context.
BOOST_AUTO_TEST_CASE(a_lease_may_outlive_its_strand) {
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
