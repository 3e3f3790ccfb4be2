// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/fifo/fifo.hpp"
#include "integration/client_process.hpp"
#include "integration/locks.hpp"
#include "integration/replication.hpp"
#include "support/fake_sentinel.hpp"
#include "support/field_refused.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

// Locks with a binding order, on real servers.

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(fifo_test)

using boost::unit_test::label;

/// A place expires four seconds after its client's last refresh. A machine that stalls for a moment therefore
/// loses none.
constexpr milliseconds ticket_ttl = 4s;

lock_options in_order(milliseconds ttl = 10s) {
    lock_options options = with_ttl(ttl);
    options.order = queue_order::fifo;
    options.retry.maximum = 1s;
    return options;
}

std::size_t waiting_at(const redis_server& server, const std::string& key = "x") {
    return std::stoul(server.command({"ZCARD", kinds::waiters_key(key)}).value());
}

/// Waiters that record the order of their grants and hold the lock for a moment.
class order_of_grants {
public:
    template <typename Lock>
    asio::awaitable<void> wait(Lock lock, int number) {
        lease held = co_await lock.acquire();
        granted_.push_back(number);
        BOOST_TEST(!is_held_);
        is_held_ = true;
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
        is_held_ = false;
        co_await held.release();
    }
    [[nodiscard]] const std::vector<int>& granted() const noexcept { return granted_; }
    [[nodiscard]] bool is_ascending(std::size_t count) const {
        return granted_.size() == count && std::ranges::is_sorted(granted_);
    }

private:
    std::vector<int> granted_;
    bool is_held_ = false;
};

/// Checks the order of many waiters of three clients. Each waiter arrives when the one before is in the
/// queue.
asio::awaitable<void> expect_order_of_arrival(const config& configuration,
                                              const redis_server& server, lock_options options) {
    const auto executor = co_await asio::this_coro::executor;
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 3; ++i) {
        clients.push_back(std::make_unique<client>(executor, configuration));
        co_await all_ready(*clients.back());
    }
    lease held = co_await mutex(*clients.front(), "x", options).acquire();
    order_of_grants grants;
    std::vector<std::shared_ptr<const background>> waiters;
    constexpr int count = 30;
    for (int i = 0; i != count; ++i) {
        client& by = *clients.at(static_cast<std::size_t>(i * i) % clients.size());
        waiters.push_back(co_await start(grants.wait(mutex(by, "x", options), i)));
        co_await async_wait_until(
            [&] { return waiting_at(server) == static_cast<std::size_t>(i) + 1; });
    }
    co_await held.release();
    for (const auto& one : waiters) {
        co_await async_wait_until([&] { return one->done; });
    }
    BOOST_TEST(grants.is_ascending(count));
    for (const auto& one : clients) {
        co_await settled(*one);
    }
    BOOST_TEST(waiting_at(server) == 0U);
}

BOOST_FIXTURE_TEST_SUITE(on_one_server, shared_servers<1>)

BOOST_AUTO_TEST_CASE(waiters_are_granted_in_the_order_of_arrival) {
    lock_options options = in_order();
    for (const bool has_fences : {false, true}) {
        options.fencing = has_fences;
        run_test(expect_order_of_arrival(instances.config(), instances[0], options));
        instances.flush();
    }
}

/// Fifty processes wait. Every tenth is killed, including the first. The others acquire the lock in the order
/// of arrival. All dead processes together cost one ttl of a ticket.
BOOST_AUTO_TEST_CASE(processes_that_die_stall_the_others_for_one_ttl_at_most, *label("fault-56")) {
    run_test(
        [&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", in_order(1min)).acquire();
            constexpr std::size_t count = 50;
            std::vector<std::unique_ptr<client_process>> processes;
            for (std::size_t i = 0; i != count; ++i) {
                processes.push_back(
                    std::make_unique<client_process>("x", 1min, instances.config(), "fifo"));
            }
            for (const auto& one : processes) {
                const std::string ready = co_await one->ask("ready");
                BOOST_TEST_REQUIRE(ready == "ready");
            }
            for (std::size_t i = 0; i != count; ++i) {
                processes[i]->tell("acquire");
                co_await async_wait_until([&] { return waiting_at(instances[0]) == i + 1; });
            }
            std::vector<client_process*> living;
            for (std::size_t i = 0; i != count; ++i) {
                if (i % 10 == 0) {
                    processes[i]->kill();
                } else {
                    living.push_back(processes[i].get());
                }
            }
            co_await held.release();
            milliseconds longest_stall{};
            for (std::size_t i = 0; i != living.size(); ++i) {
                const stopwatch waited;
                const std::string answer = co_await living[i]->wait_for_answer();
                BOOST_TEST_REQUIRE(answer == "held");
                longest_stall = std::max(longest_stall, waited.elapsed());
                for (std::size_t j = i + 1; j != living.size(); ++j) {
                    BOOST_TEST(!living[j]->line().has_value());
                }
                living[i]->tell("release");
                const std::string released = co_await living[i]->wait_for_answer();
                BOOST_TEST(released == "released");
            }
            const double stall = std::chrono::duration<double>(longest_stall).count();
            BOOST_TEST_MESSAGE("longest stall " << stall << " s, ticket ttl 4 s");
            BOOST_TEST((longest_stall <= ticket_ttl + 2s), stall << " s");
            BOOST_TEST(waiting_at(instances[0]) == 0U);
        }(),
        150s);
}

/// Fault 58: waiters are cancelled by the caller, by a timeout, and with the client.
BOOST_AUTO_TEST_CASE(waiters_that_end_leave_at_once, *label("fault-58")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, instances.config());
        auto other = std::make_unique<client>(executor, instances.config());
        client third(executor, instances.config());
        lease held = co_await mutex(one, "x", in_order()).acquire();
        asio::cancellation_signal signal;
        std::optional<error_code> cancelled;
        mutex of_other(*other, "x", in_order());
        of_other.acquire(asio::bind_cancellation_slot(
            signal.slot(),
            [&](const error& why, const lease& /*none*/) { cancelled = why.code(); }));
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 1; });
        std::optional<bool> timed;
        of_other.try_acquire_for(
            200ms, [&](const error& /*why*/, const lease& got) { timed = got.owns_lock(); });
        of_other.acquire([](const error&, const lease&) {});
        co_await async_wait_until([&] { return waiting_at(instances[0]) >= 2; });
        order_of_grants grants;
        const auto waiting = co_await start(grants.wait(mutex(third, "x", in_order()), 1));
        co_await async_wait_until([&] { return timed.has_value(); });
        BOOST_TEST(!*timed);
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 3; });
        signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 2; });
        BOOST_TEST((cancelled == asio::error::operation_aborted));
        other.reset();
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 1; });
        co_await held.release();
        co_await async_wait_until([&] { return waiting->done; });
        BOOST_TEST(grants.is_ascending(1));
    }());
}

/// A try is refused while a live waiter is queued, and it does not enter the queue.
BOOST_AUTO_TEST_CASE(a_try_goes_past_nobody, *label("fault-58")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, instances.config());
        client other(executor, instances.config());
        client third(executor, instances.config());
        mutex first(one, "x", in_order());
        mutex second(other, "x", in_order());
        mutex tries(third, "x", in_order());
        std::optional<lease> held = co_await first.acquire();
        order_of_grants grants;
        for (int i = 0; i != 20; ++i) {
            const auto waiting = co_await start(grants.wait(second, i));
            co_await async_wait_until([&] { return waiting_at(instances[0]) == 1; });
            // The try usually arrives after the release and before the waiter's attempt.
            held.reset();
            auto tried = co_await tries.try_acquire();
            BOOST_TEST((!tried || grants.granted().size() == static_cast<std::size_t>(i) + 1));
            co_await async_wait_until([&] { return waiting->done; });
            if (tried) {
                co_await tried.release();
            }
            held = co_await first.acquire();
        }
    }());
}

BOOST_AUTO_TEST_CASE(an_owner_enters_again_past_all_waiters) {
    run_test(instances.config(), [&](client& one, client& other) -> asio::awaitable<void> {
        reentrant_mutex lock(one, "x", in_order());
        const lock_owner anna;
        lease outer = co_await lock.acquire(anna);
        order_of_grants grants;
        const auto waiting = co_await start(grants.wait(mutex(other, "x", in_order()), 1));
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 1; });
        lease inner = co_await lock.acquire(anna);
        BOOST_TEST(inner.valid());
        co_await inner.release();
        BOOST_TEST(!waiting->done);
        co_await outer.release();
        co_await async_wait_until([&] { return waiting->done; });
    });
}

/// Fault 60: instances would order the same waiters differently.
BOOST_AUTO_TEST_CASE(an_order_that_is_not_possible_is_refused, *label("fault-60")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client three(executor, config::from_uris({"memory://a", "memory://b", "memory://c"}));
        client one(executor, config::from_uris({"memory://a"}));
        const auto is_about_order = [](const config_error& e) {
            return std::string(e.what()).find("order: ") != std::string::npos;
        };
        BOOST_CHECK_EXCEPTION(mutex(three, "x", in_order()), config_error, [&](const auto& e) {
            const std::string text = e.what();
            return is_about_order(e) && text.find("fifo with 3 instances") != std::string::npos;
        });
        BOOST_CHECK_EXCEPTION(reentrant_mutex(three, "x", in_order()), config_error,
                              is_about_order);
        BOOST_CHECK_EXCEPTION(shared_mutex(one, "x", in_order()), config_error, is_about_order);
        BOOST_CHECK_EXCEPTION(semaphore(one, "x", 2, in_order()), config_error, is_about_order);
        const std::vector<std::string_view> names{"x", "y"};
        BOOST_CHECK_EXCEPTION(multi_mutex(one, names, in_order()), config_error, is_about_order);
        lock_options wrong;
        wrong.order = static_cast<queue_order>(7);
        BOOST_CHECK_EXCEPTION(mutex(one, "x", wrong), config_error, is_about_order);
        BOOST_CHECK_EXCEPTION(wrong.validate(), config_error, is_about_order);
        co_return;
    }());
}

/// What happens to a server while clients wait.
enum class trouble { standstill, slow_script, full_memory };

/// Causes it in a thread of its own. Sets `begun` when the server executes nothing more, or has memory again.
std::future<void> cause(trouble what, redis_server& server, milliseconds length,
                        std::atomic<bool>& begun) {
    return std::async(std::launch::async, [=, &server, &begun] {
        if (what == trouble::standstill) {
            server.pause();
            begun = true;
            std::this_thread::sleep_for(length);
            server.resume();
        } else if (what == trouble::slow_script) {
            const stopwatch since_begin;
            const auto loop = [&server](long long rounds) {
                const std::string text = std::to_string(rounds);
                server.command({"EVAL", "for i = 1, " + text + " do end", "0"});
            };
            constexpr long long some = 2'000'000;
            loop(some);
            const long long rounds = some * length / since_begin.elapsed();
            begun = true;
            loop(rounds);
        } else {
            server.command({"CONFIG", "SET", "maxmemory", "1"});
            std::this_thread::sleep_for(length);
            server.command({"CONFIG", "SET", "maxmemory", "0"});
            begun = true;
        }
    });
}

/// Waiters of three clients arrive one by one. Then the server has a trouble, mostly for longer than a ticket
/// lives. In the meantime the lock is released, and a newcomer arrives.
asio::awaitable<void> expect_order_despite(trouble what, redis_server& server, milliseconds length,
                                           const config& configuration, std::mt19937& random) {
    const auto executor = co_await asio::this_coro::executor;
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 5; ++i) {
        clients.push_back(std::make_unique<client>(executor, configuration));
        co_await all_ready(*clients.back());
    }
    lock_options options = in_order();
    options.retry.maximum = 100ms;  // A ticket ends after 400 ms.
    options.unavailable_timeout = 1min;
    options.fencing = random() % 2 == 0;
    const auto lock_of = [&](std::size_t of) { return mutex(*clients.at(of), "x", options); };
    std::optional<lease> held = co_await lock_of(3).acquire();
    order_of_grants grants;
    std::vector<std::shared_ptr<const background>> waiters;
    constexpr int count = 6;
    for (int i = 0; i != count; ++i) {
        waiters.push_back(co_await start(grants.wait(lock_of(random() % 3), i)));
        co_await async_wait_until([&] { return waiting_at(server) == waiters.size(); });
    }
    std::atomic<bool> begun = false;
    auto over = cause(what, server, length, begun);
    co_await async_wait_until([&] { return begun.load(); });
    const stopwatch since_begin;  // The server receives a slow script a little later.
    co_await async_wait_until(
        [&] { return what != trouble::slow_script || since_begin.elapsed() >= 100ms; });
    held.reset();
    waiters.push_back(co_await start(grants.wait(lock_of(4), count)));
    for (const auto& one : waiters) {
        co_await async_wait_until([&] { return one->done; });
    }
    over.get();
    BOOST_TEST(grants.is_ascending(waiters.size()),
               "trouble " << static_cast<int>(what) << " for " << length.count() << " ms");
}

BOOST_AUTO_TEST_CASE(no_trouble_of_the_server_lets_a_newcomer_past_the_waiters,
                     *label("fault-115")) {
    std::mt19937 random(1);
    for (int i = 0; i != 12; ++i) {
        const auto what = static_cast<trouble>(i % 3);
        const milliseconds length(i < 3 ? 3000 : 200 + random() % 1000);
        run_test(expect_order_despite(what, instances[0], length, instances.config(), random));
        instances.flush();
    }
}

BOOST_AUTO_TEST_CASE(a_restarted_server_gets_the_waiters_again) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        config configuration = instances.config();
        configuration.restart_quarantine = milliseconds(0);
        client one(executor, configuration);
        client other(executor, configuration);
        lock_options options = in_order();
        options.unavailable_timeout = 1min;
        std::optional<lease> held = co_await mutex(one, "x", options).acquire();
        order_of_grants grants;
        std::vector<std::shared_ptr<const background>> waiters;
        for (int i = 0; i != 6; ++i) {
            waiters.push_back(
                co_await start(grants.wait(mutex(i % 2 == 0 ? one : other, "x", options), i)));
        }
        co_await async_wait_until([&] { return waiting_at(instances[0]) == 6; });
        instances[0].restart();
        for (const auto& each : waiters) {
            co_await async_wait_until([&] { return each->done; }, 40s);
        }
        BOOST_TEST(grants.granted().size() == 6U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fifo_deployments_test)

BOOST_AUTO_TEST_CASE(a_cluster_keeps_the_order) {
    redis_cluster cluster(3);
    run_test(expect_order_of_arrival(config::from_uris({cluster.uri()}),
                                     cluster[cluster.first_owner_of("x")], in_order()));
}

/// The keys move to another node one by one. Commands that need two of them wait until all have moved.
BOOST_AUTO_TEST_CASE(the_order_stays_while_a_slot_moves, *label("fault-72")) {
    redis_cluster cluster(3);
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const auto configuration = config::from_uris({cluster.uri()});
            client one(executor, configuration);
            client other(executor, configuration);
            lock_options options = in_order();
            options.unavailable_timeout = 1min;
            lease held = co_await mutex(one, "x", options).acquire();
            order_of_grants grants;
            std::vector<std::shared_ptr<const background>> waiters;
            const std::size_t from = cluster.first_owner_of("x");
            const std::size_t to = (from + 1) % 3;
            const std::size_t slot = redis_cluster::slot_of(cluster[0], "x");
            for (int i = 0; i != 6; ++i) {
                waiters.push_back(
                    co_await start(grants.wait(mutex(i % 2 == 0 ? one : other, "x", options), i)));
                co_await async_wait_until(
                    [&] { return waiting_at(cluster[from]) == static_cast<std::size_t>(i) + 1; });
            }
            cluster.begin_to_move(slot, from, to);
            cluster.move_key(kinds::waiters_key("x"), from, to);
            cluster.move_keys(slot, from, to);
            cluster.end_move(slot, to);
            co_await held.release();
            for (const auto& each : waiters) {
                co_await async_wait_until([&] { return each->done; }, 40s);
            }
            BOOST_TEST(grants.granted().size() == 6U);
        }(),
        120s);
}

BOOST_AUTO_TEST_CASE(behind_sentinels_the_order_stays_over_a_promotion) {
    run_test([]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        redis_server former{at_once};
        redis_server replica{replica_of(former)};
        wait_until_streaming(former, replica);
        std::vector<fake_sentinel> sentinels(3);
        std::string hosts;
        for (fake_sentinel& one : sentinels) {
            one.name(former.port());
            hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        }
        config configuration = config::from_uris({"redis+sentinel://" + hosts + "/mymaster"});
        configuration.failover_quarantine = milliseconds(0);
        client one(executor, configuration);
        client other(executor, configuration);
        lock_options options = in_order(3s);
        options.unavailable_timeout = 1min;
        lease held = co_await mutex(one, "x", options).acquire();
        order_of_grants grants;
        std::vector<std::shared_ptr<const background>> waiters;
        for (int i = 0; i != 6; ++i) {
            waiters.push_back(
                co_await start(grants.wait(mutex(i % 2 == 0 ? one : other, "x", options), i)));
            co_await async_wait_until(
                [&] { return waiting_at(former) == static_cast<std::size_t>(i) + 1; });
        }
        former.command({"WAIT", "1", "5000"});
        replica.command({"REPLICAOF", "NO", "ONE"});
        former.kill();
        for (fake_sentinel& each : sentinels) {
            each.switch_to(replica.port());
        }
        held.abandon();
        for (const auto& each : waiters) {
            co_await async_wait_until([&] { return each->done; }, 40s);
        }
        BOOST_TEST(grants.granted().size() == 6U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
