// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Locks with several names, on real servers. The common properties of all lock kinds are tested in
// own_kind_test.cpp, which includes such a lock.

namespace {

BOOST_FIXTURE_TEST_SUITE(multi_mutex_test, colock::test::shared_servers<3>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

/// Returns the error of an operation, or no error on success.
template <typename Operation>
asio::awaitable<error> failure_of(Operation operation) {
    const auto [result, held] = co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
    co_return result;
}

/// Returns a lock on these names. GCC 12 cannot compile a list of names in a `co_await` expression.
template <typename... Names>
multi_mutex lock_on(client& locks, Names... names) {
    return {locks, {std::string_view(names)...}};
}

/// Returns the text of the `config_error` that `make` throws, or an empty string if it throws none.
template <typename Function>
std::string refusal_of(const Function& make) {
    try {
        make();
    } catch (const config_error& refused) {
        return refused.what();
    }
    return {};
}

BOOST_AUTO_TEST_CASE(all_names_are_held_at_once) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        const multi_mutex both(a, {"y", "x", "y"});
        BOOST_TEST(both.resources() == (std::vector<std::string>{"x", "y"}));
        BOOST_TEST(both.resource() == "x, y");
        lease held = co_await both.acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST(held.resource() == "x, y");
        for (const char* const name : {"x", "y"}) {
            BOOST_TEST(!is_held(co_await mutex(a, name).try_acquire()));
            BOOST_TEST(!is_held(co_await mutex(b, name).try_acquire()));
        }
        BOOST_TEST(!is_held(co_await lock_on(b, "y", "z").try_acquire()));
        co_await settled(b);
        lease other = co_await mutex(b, "z").acquire();  // Nothing was left there.
        BOOST_TEST((co_await held.release() == release_result::released));
        BOOST_TEST(!is_held(co_await lock_on(a, "x", "y", "z").try_acquire_for(20ms)));
        BOOST_TEST((co_await other.release() == release_result::released));
        lease all = co_await lock_on(a, "x", "y", "z").try_acquire_for(soon);
        BOOST_TEST_REQUIRE(all.owns_lock());
        BOOST_TEST((co_await all.release() == release_result::released));
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Servers that have MSETEX acquire all names with it.
BOOST_AUTO_TEST_CASE(a_server_takes_all_names_by_one_command) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const redis_server& server = instances[0];
        bool has_command = false;
        try {
            server.command({"MSETEX"});
        } catch (const redis_error& answer) {
            has_command =
                std::string_view(answer.what()).find("wrong number") != std::string_view::npos;
        }
        co_await all_ready(locks);
        const std::size_t before = has_command ? executed(server, "msetex") : 0;
        const std::size_t sets = executed(server, "set");
        lease held = co_await lock_on(locks, "x", "y", "z").acquire();
        co_await async_wait_until([&] { return idle(locks); });
        if (has_command) {
            BOOST_TEST(executed(server, "msetex") == before + 1);
            BOOST_TEST(executed(server, "set") == sets);
        } else {
            BOOST_TEST(executed(server, "set") == sets + 3);
        }
        co_await held.release();
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 53: two locks have the same names in different orders. No client holds one name while it waits for
/// the other.
BOOST_AUTO_TEST_CASE(locks_in_another_order_cannot_deadlock, *label("fault-53")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        int done = 0;
        int inside = 0;
        const auto work = [&](client& locks, std::string_view first,
                              std::string_view second) -> asio::awaitable<void> {
            const multi_mutex both(locks, {first, second});
            for (int i = 0; i != 20; ++i) {
                lease held = co_await both.acquire();
                BOOST_TEST(++inside == 1);
                co_await asio::post(asio::deferred);
                --inside;
                co_await held.release();
            }
            ++done;
        };
        asio::co_spawn(executor, work(a, "x", "y"), asio::detached);
        asio::co_spawn(executor, work(a, "y", "x"), asio::detached);
        asio::co_spawn(executor, work(b, "x", "y"), asio::detached);
        asio::co_spawn(executor, work(b, "y", "x"), asio::detached);
        co_await async_wait_until([&] { return done == 4; }, 30s);
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 54: a denied or cancelled acquire leaves no name behind, whichever instances have replied.
BOOST_AUTO_TEST_CASE(a_failed_acquire_leaves_no_name, *label("fault-54")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        co_await all_ready(a);
        lease held = co_await mutex(a, "y").acquire();
        BOOST_TEST(!is_held(co_await lock_on(b, "x", "y", "z").try_acquire()));
        co_await settled(b);
        co_await async_wait_until([&] { return instances.keys() == 3; });  // The keys of the mutex.
        pending_acquire waiting;
        waiting.start(lock_on(b, "x", "y", "z"));
        co_await async_wait_until([&] { return b.counters().contended >= 2; });
        waiting.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return waiting.result.has_value(); });
        co_await settled(b);
        BOOST_TEST(instances.keys() == 3U);
        co_await held.release();
        for (int i = 0; i != 20; ++i) {  // Cancels at various points of the attempt.
            pending_acquire attempting;
            attempting.start(lock_on(b, "x", "y", "z"));
            for (int turns = 0; turns != i && !attempting.result; ++turns) {
                co_await asio::post(asio::use_awaitable);
            }
            attempting.signal.emit(asio::cancellation_type::terminal);
            co_await async_wait_until([&] { return attempting.result.has_value(); });
            attempting.granted = lease();  // It may have been granted before the cancellation.
            co_await settled(b);
            BOOST_TEST(instances.keys() == 0U);
        }
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 55: the names of a lease expire together, and not before its validity.
BOOST_AUTO_TEST_CASE(no_name_ends_before_the_validity, *label("fault-55")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const multi_mutex all(locks, {"x", "y", "z"}, renewed_every(20ms, 1min));
        lease held = co_await all.acquire();
        co_await renewed_more(locks, 5);
        const auto left = held.valid_until() - steady_clock::now();
        for (const redis_server& server : instances) {
            for (const char* const name : {"x", "y", "z"}) {
                const milliseconds ttl(std::stoll(server.command({"PTTL", name}).value()));
                BOOST_TEST((ttl + 1s > left));
            }
        }
        BOOST_TEST((co_await held.release() == release_result::released));
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// A name that is lost on one instance is restored. If it is lost on two of three, the lease is lost.
BOOST_AUTO_TEST_CASE(partial_loss_is_loss) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        co_await all_ready(locks);
        const multi_mutex all(locks, {"x", "y"}, renewed_every(20ms, 1min));
        lease held = co_await all.acquire();
        co_await async_wait_until([&] { return idle(locks); });
        instances[0].command({"DEL", "y"});
        co_await async_wait_until([&] {
            return instances[0].command({"EXISTS", "y"}).value_or("") == "1";
        });
        BOOST_TEST(held.valid());
        instances[0].command({"DEL", "x"});
        instances[1].command({"DEL", "y"});
        instances[2].command({"SET", "y", "foreign", "PX", "60000"});
        instances[0].command({"SET", "x", "foreign", "PX", "60000"});
        co_await async_wait_until([&] { return !held.valid(); });
        BOOST_TEST((co_await held.release() == release_result::lost));
        co_await settled(locks);
        BOOST_TEST(instances[1].command({"EXISTS", "x", "y"}).value_or("") == "0");
        BOOST_TEST(instances[0].command({"DEL", "x", "y"}).value_or("") == "1");
        BOOST_TEST(instances[2].command({"DEL", "x", "y"}).value_or("") == "1");
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(an_error_names_the_name_that_is_taken) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        config labelled = patient_config(instances.config());
        labelled.label = "worker-7";
        client a(executor, labelled);
        client b(executor, patient_config(instances.config()));
        lease held = co_await mutex(a, "y").acquire();
        lock_options options = patient();
        options.retry.attempts = 2;
        options.retry.initial = 1ms;
        options.retry.maximum = 2ms;
        const multi_mutex with_mutex(b, {"x", "y"}, options);
        const error contended = co_await failure_of(with_mutex.acquire());
        BOOST_TEST((contended == errc::contended));
        BOOST_TEST_MESSAGE(contended.details());
        BOOST_TEST(contended.details().starts_with("'x, y': "));
        co_await held.release();

        lease permit = co_await semaphore(a, "z", 2).acquire();
        const multi_mutex with_semaphore(b, {"x", "z"}, options);
        const error other_kind = co_await failure_of(with_semaphore.acquire());
        BOOST_TEST((other_kind == errc::wrong_kind || other_kind == errc::contended));
        co_await permit.release();
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// The client finds the name that is taken while the acquire waits.
BOOST_AUTO_TEST_CASE(a_waiter_knows_which_name_is_taken) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        config labelled = patient_config(instances.config());
        labelled.label = "worker-7";
        client a(executor, labelled);
        client b(executor, patient_config(instances.config()));
        lease held = co_await mutex(a, "y").acquire();
        pending_acquire waiting;
        const multi_mutex both(b, {"x", "y"}, patient());
        waiting.start(both);
        co_await async_wait_until([&] { return b.counters().contended >= 1 && idle(b); });
        waiting.signal.emit(
            asio::cancellation_type::all);  // Ends the wait with an error that describes it.
        co_await async_wait_until([&] { return waiting.result.has_value(); });
        BOOST_TEST_MESSAGE(waiting.result->details());
        BOOST_TEST(
            waiting.result->details().find("the name 'y' is held by worker-7") != std::string::npos,
            waiting.result->message());
        co_await held.release();
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// A task that holds one of the names may acquire another one before it releases the first. If it had to
/// queue behind the waiter, the two would deadlock.
BOOST_AUTO_TEST_CASE(a_waiter_keeps_nobody_of_its_client_from_a_name_that_is_free) {
    run_test(patient_config(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        lease b = co_await mutex(locks, "b").acquire();
        pending_acquire waiting;
        const multi_mutex both = lock_on(locks, "a", "b");
        waiting.start(both);
        co_await async_wait_until([&] { return locks.counters().contended >= 1 && idle(locks); });

        lease a = co_await mutex(locks, "a", patient()).acquire();
        co_await a.release();
        const multi_mutex others = lock_on(locks, "a", "c");
        lease a_and_c = co_await others.acquire();
        co_await a_and_c.release();
        BOOST_TEST(!waiting.result.has_value());

        co_await b.release();
        co_await async_wait_until([&] { return waiting.result.has_value(); });
        BOOST_TEST(!*waiting.result);
        co_await waiting.granted.release();
        co_await locks.close();
    });
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(impossible_arguments_are_refused) {
    asio::io_context context;
    client locks(context, instances.config());
    BOOST_TEST(refusal_of([&] { multi_mutex(locks, {}); }) ==
               "resources: 0 different names are not possible. Give 1 to 64");
    std::vector<std::string> names;
    for (int i = 0; i != 65; ++i) {
        names.push_back("name " + std::to_string(i));
    }
    const std::vector<std::string_view> too_many(names.begin(), names.end());
    BOOST_TEST(refusal_of([&] { multi_mutex(locks, too_many); }) ==
               "resources: 65 different names are not possible. Give 1 to 64");
    BOOST_TEST(multi_mutex(locks, std::span(too_many).first(64)).resources().size() == 64U);
    BOOST_TEST(refusal_of([&] {
                   multi_mutex(locks, {"x", ""});
               }) == "resource: the name is empty. Name what the lock protects");
    lock_options fenced;
    fenced.fencing = true;
    BOOST_TEST(refusal_of([&] {
                   multi_mutex(locks, {"x", "y"}, fenced);
               }).starts_with("fencing: true is not possible for several names"));
}

BOOST_AUTO_TEST_CASE(with_lock_takes_all_names) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const multi_mutex both(locks, {"x", "y"});
        const auto body = [&](lease& held) -> asio::awaitable<bool> {
            BOOST_TEST(!is_held(co_await mutex(locks, "y").try_acquire()));
            co_return held.valid();
        };
        BOOST_TEST(co_await with_lock(both, body));
        const multi_mutex one(locks, {"x"});  // With one name it is a mutex.
        BOOST_TEST(co_await with_lock(
            one, [](lease& held) -> asio::awaitable<bool> { co_return held.valid(); }));
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Tasks of several clients acquire random sets of names. Two tasks with a common name must never be inside
/// together, and all tasks must make progress.
class crowd {
public:
    static constexpr std::size_t tasks = 12;

    asio::awaitable<void> run(const config& of, int cycles) {
        const auto executor = co_await asio::this_coro::executor;
        std::array<client, 3> clients{client(executor, of), client(executor, of),
                                      client(executor, of)};
        for (std::size_t i = 0; i != tasks; ++i) {
            asio::co_spawn(executor,
                           work(clients.at(i % clients.size()), static_cast<unsigned>(i), cycles),
                           asio::detached);
        }
        co_await async_wait_until([&] { return done_ == tasks; }, 60s);
        for (client& each : clients) {
            co_await each.close();
        }
    }

private:
    asio::awaitable<void> work(client& locks, unsigned seed, int cycles) {
        std::mt19937 random(seed);
        for (int i = 0; i != cycles; ++i) {
            std::vector<std::string> names;
            for (int n = 0; n != 3; ++n) {
                names.emplace_back(1, "abcdefgh"[random() % 8]);
            }
            const std::vector<std::string_view> views(names.begin(), names.end());
            const multi_mutex lock(locks, views);
            lease held = co_await lock.acquire();
            for (const std::string& name : lock.resources()) {
                BOOST_TEST(++inside_[name] == 1);
            }
            co_await asio::post(asio::deferred);
            for (const std::string& name : lock.resources()) {
                --inside_[name];
            }
            co_await held.release();
        }
        ++done_;
    }

    std::map<std::string, int> inside_;
    std::size_t done_ = 0;
};

BOOST_AUTO_TEST_CASE(overlapping_sets_exclude_each_other) {
    crowd all;
    run_test(all.run(patient_config(instances.config()), 15));
    BOOST_TEST(instances.keys() == 0U);
}

/// The names are in several slots, which all clients acquire in the same order.
BOOST_AUTO_TEST_CASE(overlapping_sets_exclude_each_other_on_a_cluster) {
    redis_cluster cluster(3);
    config of;
    of.instances = {cluster.uri()};
    of.restart_quarantine = 0ms;
    crowd all;
    run_test(all.run(patient_config(of), 5));
    for (std::size_t i = 0; i != 3; ++i) {
        wait_until([&] { return cluster[i].command({"DBSIZE"}) == "0"; });
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
