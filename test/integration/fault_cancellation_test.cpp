#include "integration/destruction.hpp"
#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Ambiguity and cancellation: what is under way when somebody stops waiting for it.

namespace {

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;
using way = tcp_proxy::way;

/// Much longer than any test: a key that is gone was deleted.
constexpr milliseconds endless = 10min;

bool cancelled_at_once(const pending_acquire& one, const stopwatch& since) {
    return one.result == aborted && !one.granted.valid() && since.elapsed() < 5s;
}

asio::awaitable<void> cancel(pending_acquire& one) {
    const stopwatch since;
    one.signal.emit(cancellation_type::terminal);
    co_await async_wait_until([&] { return one.result.has_value(); });
    BOOST_TEST(cancelled_at_once(one, since));
}

std::size_t cuts(proxies& network) {
    std::size_t sum = 0;
    for (const tcp_proxy& link : network) {
        sum += link.cuts();
    }
    return sum;
}

BOOST_FIXTURE_TEST_SUITE(fault_cancellation_test, shared_servers_far_away<5>)

BOOST_AUTO_TEST_CASE(fault_01_cancel_before_the_send_with_all_connected) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        const std::size_t before = executed(instances, "set");
        for (int i = 0; i != 100; ++i) {
            pending_acquire one;
            one.start(mutex(locks, "x"));
            co_await cancel(one);
        }
        co_await settled(locks);
        BOOST_TEST(locks.counters().cancelled == 100U);
        // What comes after it on the same connections has been executed, and nothing else.
        const lease other = co_await mutex(locks, "other").acquire();
        co_await async_wait_until([&] { return instances.holding("other") == 5; });
        BOOST_TEST(executed(instances, "set") == before + 5);
        BOOST_TEST(instances.keys() == 5U);
    }());
}

BOOST_AUTO_TEST_CASE(fault_01_cancel_before_the_send_while_connecting) {
    run_test([&]() -> asio::awaitable<void> {
        const std::size_t before = executed(instances, "set");
        for (auto& link : network) {
            link.hold();
        }
        client locks(co_await asio::this_coro::executor, quiet_config());
        pending_acquire one;
        one.start(mutex(locks, "x"));
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.waiting(way::to_server) != 0; });
        }
        co_await cancel(one);
        for (auto& link : network) {
            link.resume();
        }
        co_await all_ready(locks);
        co_await settled(locks);
        BOOST_TEST(locks.counters().attempts == 0U);
        BOOST_TEST(executed(instances, "set") == before);
    }());
}

/// One server is stopped, one gets the request late, one is slow to answer; all of them granted or
/// will. What can be reached is free at once, the rest as soon as it can be reached.
BOOST_AUTO_TEST_CASE(fault_02_cancel_after_the_send_is_undone_everywhere) {
    for (const std::size_t silent : {0U, 3U, 5U}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            if (silent > 0) {
                instances[0].pause();
            }
            for (std::size_t i = 1; i < silent; ++i) {
                network[i].hold(way::to_server);
            }
            for (std::size_t i = silent; i < 5; ++i) {
                network[i].hold(way::to_client);
            }
            pending_acquire one;
            one.start(mutex(locks, "x", with_ttl(endless)));
            for (std::size_t i = silent > 0 ? 1 : 0; i < 5; ++i) {
                co_await async_wait_until([&] { return network[i].waiting() != 0; });
            }
            for (std::size_t i = silent; i < 5; ++i) {
                BOOST_TEST(instances[i].has("x"));
            }
            co_await cancel(one);
            for (std::size_t i = silent; i < 5; ++i) {  // while nobody has got an answer yet
                co_await async_wait_until([&] { return !instances[i].has("x"); });
            }
            const std::size_t before = executed(instances[4], "set");
            instances[0].resume();
            for (auto& link : network) {
                link.resume();
            }
            co_await settled(locks);
            BOOST_TEST(locks.counters().undone == 1U);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(executed(instances[4], "set") == before + (silent == 5 ? 1 : 0));
        }());
    }
}

BOOST_AUTO_TEST_CASE(fault_04_cancel_during_release_is_released_all_the_same) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        for (const way held_back : {way::to_server, way::to_client}) {
            lease held = co_await mutex(locks, "x", with_ttl(endless)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (auto& link : network) {
                link.hold(held_back);
            }
            asio::cancellation_signal signal;
            std::optional<error> result;
            held.release(asio::bind_cancellation_slot(
                signal.slot(), [&](error e, release_result) { result = e; }));
            for (auto& link : network) {
                co_await async_wait_until([&] { return link.waiting() != 0; });
            }
            const stopwatch since;
            signal.emit(cancellation_type::all);
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((*result == aborted));
            BOOST_TEST((since.elapsed() < 5s));
            BOOST_TEST(!held.valid());
            BOOST_TEST(instances.holding("x") == (held_back == way::to_server ? 5U : 0U));
            for (auto& link : network) {
                link.resume();
            }
            co_await async_wait_until([&] { return instances.holding("x") == 0; });
            const auto after_all = co_await held.release();
            BOOST_TEST((after_all == release_result::released));
        }
    }());
}

BOOST_AUTO_TEST_CASE(fault_04_cancel_during_release_before_it_is_sent) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        for (int i = 0; i != 20; ++i) {
            lease held = co_await mutex(locks, "x", with_ttl(endless)).acquire();
            asio::cancellation_signal signal;
            std::optional<error> result;
            held.release(asio::bind_cancellation_slot(
                signal.slot(), [&](error e, release_result) { result = e; }));
            signal.emit(cancellation_type::all);
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((*result == aborted));
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
        }
    }());
}

/// The servers cannot be reached until the client has ended.
BOOST_AUTO_TEST_CASE(fault_04_cancel_during_release_or_the_ttl_ends_it) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = quiet_config();
        configuration.close_timeout = 0ms;
        std::optional<client> locks(std::in_place, co_await asio::this_coro::executor,
                                    configuration);
        co_await all_ready(*locks);
        lease held = co_await mutex(*locks, "x", with_ttl(1s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        for (auto& link : network) {
            link.drop();
        }
        const auto [e, result] = co_await held.release(asio::cancel_after(1ms, asio::as_tuple));
        BOOST_TEST((e == aborted));
        BOOST_TEST(instances.holding("x") == 5U);
        locks.reset();
        for (auto& link : network) {
            link.resume();
        }
        client others(co_await asio::this_coro::executor, instances.config());
        const lease next = co_await mutex(others, "x").acquire();
        BOOST_TEST(next.valid());
    }());
}

/// Two of five grant, three are silent. The two are free again while the three still are silent.
template <typename Attempt>
void time_out_in_mid_acquire(servers& instances, proxies& network, const config& configuration,
                             Attempt attempt) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        const std::size_t granted_before = executed(instances, "set");
        network[0].hold(way::to_server);
        network[1].hold(way::to_client);
        network[2].hold(way::to_client);
        const stopwatch since;
        co_await attempt(mutex(locks, "x", with_ttl(endless)));
        BOOST_TEST((since.elapsed() < 5s));
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        BOOST_TEST(executed(instances, "set") >= granted_before + 4);
        BOOST_TEST(network[0].waiting(way::to_server) != 0U);
        for (auto& link : network) {
            link.resume();
        }
        co_await settled(locks);
        BOOST_TEST(executed(instances, "set") >= granted_before + 5);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(fault_06_timeout_in_mid_acquire_of_the_instances) {
    config configuration = quiet_config();
    configuration.instance_timeout = 500ms;
    time_out_in_mid_acquire(instances, network, configuration,
                            [](mutex lock) -> asio::awaitable<void> {
                                const auto [e, nothing] = co_await lock.try_acquire(asio::as_tuple);
                                BOOST_TEST((e == errc::no_quorum), e.message());
                            });
}

BOOST_AUTO_TEST_CASE(fault_06_timeout_in_mid_acquire_of_the_caller) {
    config configuration = quiet_config();
    configuration.instance_timeout = 1min;
    time_out_in_mid_acquire(
        instances, network, configuration, [](mutex lock) -> asio::awaitable<void> {
            const auto [e, nothing] =
                co_await lock.acquire(asio::cancel_after(500ms, asio::as_tuple));
            BOOST_TEST((e == aborted), e.message());
        });
}

BOOST_AUTO_TEST_CASE(fault_06_timeout_in_mid_acquire_of_several_attempts) {
    time_out_in_mid_acquire(
        instances, network, quiet_config(), [](mutex lock) -> asio::awaitable<void> {
            const auto [e, nothing] = co_await lock.try_acquire_for(1s, asio::as_tuple);
            BOOST_TEST((e == errc::no_quorum), e.message());
        });
}

/// Our own keys are in the way, with tokens that nobody knows any more but who has to undo them.
BOOST_AUTO_TEST_CASE(fault_08_connection_cut_after_set_blocks_nobody_for_long) {
    for (const std::size_t cut : {3U, 5U}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            const std::size_t cuts_before = cuts(network);
            for (std::size_t i = 0; i != cut; ++i) {
                network[i].cut_before_reply("SET");
            }
            const auto [e, nothing] =
                co_await mutex(locks, "x", with_ttl(endless)).try_acquire(asio::as_tuple);
            BOOST_TEST((e == errc::no_quorum), e.message());
            BOOST_TEST(e.details().find("connection lost") != std::string::npos, e.message());
            co_await async_wait_until([&] { return cuts(network) == cuts_before + cut; });
            const stopwatch since;
            const lease next = co_await mutex(locks, "x", with_ttl(endless)).acquire();
            BOOST_TEST(next.valid());
            BOOST_TEST((since.elapsed() < 5s));
            BOOST_TEST_MESSAGE("free after " << since.elapsed().count() << " ms");
        }());
        instances.flush();
    }
}

/// The same within one acquire, and the connections may be cut again, in the undo's turn.
BOOST_AUTO_TEST_CASE(fault_08_connection_cut_after_set_in_an_acquire_that_waits) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        lock_options patient = with_ttl(endless);
        patient.unavailable_timeout = 1min;
        for (auto& link : network) {
            link.cut_before_reply("SET");
        }
        pending_acquire one;
        one.start(mutex(locks, "x", patient));
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.cuts() == 1; });
            link.cut_before_request("\r\nx\r\n");
        }
        co_await async_wait_until([&] { return one.result.has_value(); });
        BOOST_TEST(one.granted.valid());
        co_await one.granted.release();
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

/// Before it is executed: then there is nothing to undo.
BOOST_AUTO_TEST_CASE(fault_08_connection_cut_before_set) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        for (auto& link : network) {
            link.cut_before_request("SET");
        }
        const stopwatch since;
        const lease held = co_await mutex(locks, "x", with_ttl(endless)).acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST((since.elapsed() < 5s));
    }());
}

/// What is to be destroyed, and how.
struct scene {
    config configuration;
    proxies& network;
    bool with_lease;  // holds the lock before
    std::function<void(parts&, mark)> start;
};

/// An operation waits for an answer of every server when everything is destroyed.
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
    BOOST_TEST(life.expired());  // every handler is gone
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

BOOST_AUTO_TEST_CASE(fault_10_destroyed_in_every_order_during_acquire) {
    destroy_in_flight_in_every_order(
        instances, {quiet_config(), network, false,
                    [](parts& p, mark m) { p.lock->acquire([m](auto&&...) {}); }});
}

BOOST_AUTO_TEST_CASE(fault_10_destroyed_in_every_order_during_extend) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.held->wait_lost([m](auto&&...) {});
                                          p.held->extend(20s, [m](auto&&...) {});
                                      }});
}

BOOST_AUTO_TEST_CASE(fault_10_destroyed_in_every_order_during_release) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.held->release([m](auto&&...) {});
                                          p.lock->try_acquire_for(10s, [m](auto&&...) {});
                                      }});
}

BOOST_AUTO_TEST_CASE(fault_10_destroyed_in_every_order_during_close) {
    destroy_in_flight_in_every_order(instances,
                                     {quiet_config(), network, true, [](parts& p, mark m) {
                                          p.locks->close([m](auto&&...) {});
                                          *p.held = lease();  // which close waits for
                                      }});
}

BOOST_AUTO_TEST_CASE(fault_10_destroyed_in_every_order_during_with_lock) {
    destroy_in_flight_in_every_order(
        instances, {quiet_config(), network, false, [](parts& p, mark m) {
                        const auto body = [m](lease&) -> asio::awaitable<void> { co_return; };
                        colock::with_lock(*p.lock, body, [m](auto&&...) {});
                    }});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
