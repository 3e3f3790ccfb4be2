// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// `once` on real servers: which caller runs, which one finds the result, and what remains when a runner dies.

#include "kinds/once/once.hpp"
#include "integration/locks.hpp"
#include "integration/replication.hpp"
#include "kinds/scripts.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_cluster.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(once_test)

using boost::unit_test::label;

const std::string a_record(kinds::scripts::complete.digest);

once_options kept(milliseconds keep, milliseconds ttl = 30s) {
    once_options options;
    options.lock.ttl = ttl;
    options.lock.retry = {1ms, 20ms, 0};
    options.keep = keep;
    return options;
}
const once_options persistent = kept(1h);

once_options with_fingerprint(std::string fingerprint) {
    once_options options = persistent;
    options.fingerprint = std::move(fingerprint);
    return options;
}

std::string record_of(const std::string& result, const std::string& fingerprint = "") {
    return kinds::make_record({fingerprint, result});
}

/// A body that does not return until the test lets it.
struct slow_body {
    asio::awaitable<std::string> operator()() const {
        ++state->begun;
        asio::steady_timer timer(co_await asio::this_coro::executor);
        while (!state->may_end) {
            timer.expires_after(1ms);
            co_await timer.async_wait(asio::use_awaitable);
        }
        if (state->throws) {
            throw std::runtime_error("no money");
        }
        co_return state->result;
    }

    struct shared {
        int begun = 0;
        bool may_end = false;
        bool throws = false;
        std::string result = "done";
    };
    std::shared_ptr<shared> state = std::make_shared<shared>();
};

/// A body that returns immediately. It has a constructor, because GCC 12 destroys an aggregate twice if it is
/// created in a co_await expression.
struct quick_body {
    explicit quick_body(std::string value) : result(std::move(value)) {}

    asio::awaitable<std::string> operator()() const {
        ++*times;
        co_return result;
    }

    std::string result;
    std::shared_ptr<int> times = std::make_shared<int>(0);
};

/// A call that runs in parallel with the test.
struct pending_call {
    template <typename Body>
    void start(client& by, const std::string& key, Body body,
               const once_options& options = persistent) {
        once(by, key, body, options,
             asio::bind_cancellation_slot(signal.slot(),
                                          [this](std::exception_ptr e, once_result r) {
                                              thrown = e;
                                              result = std::move(r);
                                              done = true;
                                          }));
    }
    /// Returns the message of the exception.
    [[nodiscard]] std::string message() const {
        try {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    }
    [[nodiscard]] error_code code() const {
        background same;
        same.thrown = thrown;
        return same.code();
    }

    asio::cancellation_signal signal;
    bool done = false;
    std::exception_ptr thrown;
    once_result result;
};

/// A call whose body runs until the test ends it.
struct running_call : pending_call {
    /// Starts the call, and waits until its body runs.
    asio::awaitable<void> begin(client& by, const once_options& options = persistent) {
        start(by, "k", slow_body{body}, options);
        co_await async_wait_until([this] { return body->begun == 1; });
    }
    /// Lets the body return, and waits until the call is done.
    asio::awaitable<void> end() {
        body->may_end = true;
        co_await async_wait_until([this] { return done; });
    }

    std::shared_ptr<slow_body::shared> body = std::make_shared<slow_body::shared>();
};

template <typename Body>
asio::awaitable<once_result> call(client& by, const std::string& key, Body body,
                                  const once_options& options = persistent) {
    once_result result = co_await once(by, key, body, options);
    co_return result;
}

template <typename Body>
asio::awaitable<std::shared_ptr<pending_call>> failed_call(client& by, const std::string& key,
                                                           Body body, const once_options& options) {
    auto made = std::make_shared<pending_call>();
    made->start(by, key, std::move(body), options);
    co_await async_wait_until([&] { return made->done; });
    co_return made;
}

config config_of(const std::string& uri) {
    return config::from_uris({uri});
}

/// Waits until the client has an acquire that was denied and waits.
asio::awaitable<void> waits(const client& locks) {
    co_await async_wait_until([&] {
        const counters now = locks.counters();
        return now.acquiring != 0 && now.contended != 0;
    });
}

using one_server = shared_servers_far_away<1>;

BOOST_FIXTURE_TEST_SUITE(on_one_server, one_server)

BOOST_AUTO_TEST_CASE(the_second_call_finds_the_result_of_the_first) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const quick_body body("x");
        const once_result first = co_await call(locks, "k", body);
        BOOST_TEST((first.ran && first.value == "x"));
        const once_result second = co_await call(locks, "k", body);
        BOOST_TEST((!second.ran && second.value == "x"));
        BOOST_TEST(*body.times == 1);
        const counters now = locks.counters();
        BOOST_TEST((now.once_ran == 1U && now.once_found == 1U));
        BOOST_TEST((now.attempts == 1U && now.acquired == 1U && now.released == 1U));
        BOOST_TEST((now.held == 0U && now.lost == 0U));
        co_await locks.close();
    });
}

/// Fault 114: GCC 12 destroys an aggregate twice if it is made in a `co_await` expression.
BOOST_AUTO_TEST_CASE(options_may_be_made_in_the_call, *label("fault-114")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const quick_body body("done");
        const std::string request(200, 'r');
        BOOST_TEST((co_await once(locks, "a", body)).value == "done");
        BOOST_TEST((co_await once(locks, "b", body, {})).value == "done");
        BOOST_TEST((co_await once(locks, "c", body, {.keep = 1h})).value == "done");
        BOOST_TEST((co_await once(locks, "d", body, {.fingerprint = request})).value == "done");
        BOOST_TEST((co_await once(locks, "e", body, asio::use_awaitable)).value == "done");
        BOOST_TEST(*body.times == 5);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_result_is_found_by_one_command_that_writes_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        instances[0].command({"SET", "k", record_of("x"), "PX", "3600000"});
        instances[0].command({"CONFIG", "RESETSTAT"});
        for (int i = 0; i != 10; ++i) {
            BOOST_TEST(!(co_await call(locks, "k", quick_body("y"))).ran);
        }
        BOOST_TEST(executed(instances, "getrange") == 10U);
        BOOST_TEST(executed(instances, "evalsha") + executed(instances, "eval") == 0U);
        BOOST_TEST(executed(instances, "set") == 0U);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(of_two_clients_one_runs_and_the_other_gets_its_result) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        const slow_body body;
        pending_call of_a;
        pending_call of_b;
        of_a.start(a, "k", body);
        of_b.start(b, "k", body);
        co_await async_wait_until([&] { return body.state->begun == 1; });
        client& waiter = a.counters().held == 0 ? a : b;
        co_await waits(waiter);
        body.state->may_end = true;
        co_await async_wait_until([&] { return of_a.done && of_b.done; });
        BOOST_TEST(body.state->begun == 1);
        BOOST_TEST(of_a.message() + of_b.message() == "");
        BOOST_TEST((of_a.result.value == "done" && of_b.result.value == "done"));
        BOOST_TEST(of_a.result.ran != of_b.result.ran);
        co_await a.close();
        co_await b.close();
    });
}

/// No poll would come in time.
BOOST_AUTO_TEST_CASE(a_result_wakes_waiters_of_other_clients) {
    run_test(instances.config(), [&](client& a, client& b, client& c) -> asio::awaitable<void> {
        once_options patient_options = persistent;
        patient_options.lock = patient();
        running_call of_a;
        co_await of_a.begin(a);
        pending_call of_b;
        pending_call of_c;
        of_b.start(b, "k", quick_body("b"), patient_options);
        of_c.start(c, "k", quick_body("c"), patient_options);
        co_await waits(b);
        co_await waits(c);
        // The waiters have subscribed to the change.
        co_await async_wait_until([&] { return idle(b) && idle(c); });
        const stopwatch since;
        of_a.body->may_end = true;
        co_await async_wait_until([&] { return of_b.done && of_c.done; });
        BOOST_TEST((since.elapsed() < 30s));
        BOOST_TEST((of_b.result.value == "done" && of_c.result.value == "done"));
        co_await a.close();
        co_await b.close();
        co_await c.close();
    });
}

BOOST_AUTO_TEST_CASE(waiters_of_the_same_client_need_no_command) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const slow_body body;
        std::vector<pending_call> calls(100);
        for (pending_call& one : calls) {
            one.start(locks, "k", body);
        }
        co_await async_wait_until(
            [&] { return body.state->begun == 1 && locks.counters().queued == 99; });
        co_await async_wait_until([&] { return idle(locks); });
        instances[0].command({"CONFIG", "RESETSTAT"});
        body.state->may_end = true;
        std::size_t ran = 0;
        for (pending_call& one : calls) {
            co_await async_wait_until([&] { return one.done; });
            BOOST_TEST(one.message() == "");
            BOOST_TEST(one.result.value == "done");
            ran += one.result.ran ? 1 : 0;
        }
        BOOST_TEST(ran == 1U);
        BOOST_TEST(executed(instances, "evalsha") + executed(instances, "eval") <=
                   3U);  // The record, possibly a renewal, and a full script.
        BOOST_TEST(executed(instances, "getrange") == 0U);
        BOOST_TEST(locks.counters().once_found == 99U);
        co_await locks.close();
    });
}

/// One attempt finds the result for all waiters of this client.
BOOST_AUTO_TEST_CASE(waiters_of_another_client_go_on_together) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        running_call of_a;
        co_await of_a.begin(a);
        std::vector<pending_call> calls(100);
        for (pending_call& one : calls) {
            one.start(b, "k", quick_body("b"));
        }
        co_await async_wait_until([&] { return b.counters().queued == 99; });
        of_a.body->may_end = true;
        for (pending_call& one : calls) {
            co_await async_wait_until([&] { return one.done; });
            BOOST_TEST(one.result.value == "done");
        }
        BOOST_TEST(b.counters().once_found == 100U);
        BOOST_TEST(b.counters().acquired == 0U);
        co_await a.close();
        co_await b.close();
    });
}

BOOST_AUTO_TEST_CASE(the_body_may_see_the_lease) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const auto body = [](lease& held) -> asio::awaitable<std::string> {
            BOOST_TEST(held.valid());
            co_return std::string(held.resource());
        };
        BOOST_TEST(((co_await call(locks, "k", body)).value == "k"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(another_request_with_the_same_key_is_refused) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const std::string odd("1:\0@", 4);
        co_await call(locks, "k", quick_body("x"), with_fingerprint(odd));
        const once_result same = co_await call(locks, "k", quick_body("y"), with_fingerprint(odd));
        BOOST_TEST((same.value == "x" && !same.ran));
        const auto other = co_await failed_call(locks, "k", quick_body("y"), with_fingerprint("1"));
        BOOST_TEST((other->code() == errc::fingerprint_mismatch));
        BOOST_TEST(other->message().find("'k'") != std::string::npos, other->message());
        const auto none = co_await failed_call(locks, "k", quick_body("y"), persistent);
        BOOST_TEST((none->code() == errc::fingerprint_mismatch));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_waiter_with_another_fingerprint_is_refused) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        running_call first;
        co_await first.begin(locks, with_fingerprint("a"));
        pending_call second;
        second.start(locks, "k", slow_body{first.body}, with_fingerprint("b"));
        co_await async_wait_until([&] { return locks.counters().queued == 1; });
        co_await first.end();
        co_await async_wait_until([&] { return second.done; });
        BOOST_TEST(first.result.ran);
        BOOST_TEST((second.code() == errc::fingerprint_mismatch));
        co_await locks.close();
    });
}

/// The body does not run again, because its effect is there.
BOOST_AUTO_TEST_CASE(a_result_that_is_too_long_is_an_error_for_all_callers, *label("fault-135")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const std::string longest(once_longest_result, 'x');
        const auto refused =
            co_await failed_call(locks, "k", quick_body(longest + "x"), persistent);
        const quick_body other("y");
        const auto again = co_await failed_call(locks, "k", other, persistent);
        BOOST_TEST(*other.times == 0);
        for (const auto& one : {refused, again}) {
            BOOST_TEST((one->code() == errc::invalid_argument));
            BOOST_TEST(one->message().find("'k': result: the body has returned 65537 bytes, which "
                                           "exceeds the limit of 65536. Store the result "
                                           "elsewhere, and return where it is") == 0U,
                       one->message());
        }
        BOOST_TEST((co_await call(locks, "l", quick_body(longest))).ran);
        const once_result found = co_await call(locks, "l", quick_body("y"));
        BOOST_TEST((found.value == longest && !found.ran));
        co_await locks.close();
    });
}

/// The lease is renewed all the time, so renewals meet the record in place of the token.
BOOST_AUTO_TEST_CASE(no_caller_is_told_a_loss_of_a_recorded_result, *label("fault-118")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        once_options often = persistent;
        often.lock.ttl = 2s;
        often.lock.renew = 1ms;
        for (int i = 0; i != 300; ++i) {
            const std::string key = "k" + std::to_string(i);
            const auto one = co_await failed_call(locks, key, quick_body("x"), often);
            BOOST_TEST(one->message() == "");
        }
        BOOST_TEST(locks.counters().lost == 0U);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_lease_of_once_cannot_be_detached, *label("fault-133")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        error refused;
        const auto body = [&](lease& held) -> asio::awaitable<std::string> {
            const auto [e, text] = co_await held.detach(asio::as_tuple);
            refused = e;
            co_return text;
        };
        const once_result result = co_await once(locks, "k", body, persistent);
        BOOST_TEST((refused == errc::wrong_lease), refused.message());
        BOOST_TEST(result.ran);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(if_the_body_throws_a_waiter_runs_its_own) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        for (client* const other : {&a, &b}) {
            instances.flush();
            running_call first;
            first.body->throws = true;
            co_await first.begin(a);
            pending_call second;
            second.start(*other, "k", quick_body("second"));
            co_await async_wait_until([&] { return other->counters().acquiring == 1; });
            co_await first.end();
            co_await async_wait_until([&] { return second.done; });
            BOOST_TEST(first.message() == "no money");
            BOOST_TEST((second.result.ran && second.result.value == "second"));
        }
        co_await a.close();
        co_await b.close();
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_body_leaves_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        running_call first;
        co_await first.begin(locks);
        first.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return first.done; });
        BOOST_TEST((first.code() == aborted), first.message());
        co_await settled(locks);
        BOOST_TEST(!instances[0].has("k"));
        BOOST_TEST((co_await call(locks, "k", quick_body("x"))).ran);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter_leaves_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        hold_by_hand(instances[0], "k", 1h);
        pending_call waiter;
        waiter.start(locks, "k", quick_body("x"));
        co_await waits(locks);
        waiter.signal.emit(asio::cancellation_type::partial);
        co_await async_wait_until([&] { return waiter.done; });
        BOOST_TEST((waiter.code() == aborted));
        co_await settled(locks);
        BOOST_TEST(instances[0].command({"GET", "k"}).value() == "somebody else");
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_look_can_be_cancelled) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        network[0].hold();
        pending_call looks;
        looks.start(locks, "k", quick_body("x"));
        co_await async_wait_until([&] { return network[0].waiting() != 0; });
        looks.signal.emit(asio::cancellation_type::total);
        co_await async_wait_until([&] { return looks.done; });
        BOOST_TEST((looks.code() == aborted));
        network[0].resume();
        co_await locks.close();
    });
}

/// The effect has happened, so its result is recorded.
BOOST_AUTO_TEST_CASE(a_cancellation_after_the_body_comes_too_late) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        running_call first;
        co_await first.begin(locks);
        network[0].hold_from_request(a_record);
        first.body->may_end = true;
        co_await async_wait_until([&] { return network[0].waiting() != 0; });
        first.signal.emit(asio::cancellation_type::terminal);
        network[0].resume();
        co_await async_wait_until([&] { return first.done; });
        BOOST_TEST(first.message() == "");
        BOOST_TEST(first.result.ran);
        BOOST_TEST(instances[0].command({"GET", "k"}).value() == record_of("done"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(after_its_time_a_result_is_gone) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const quick_body body("x");
        co_await call(locks, "k", body, kept(50ms));
        co_await async_wait_until([&] { return !instances[0].has("k"); });
        BOOST_TEST((co_await call(locks, "k", body, kept(1h))).ran);
        BOOST_TEST(*body.times == 2);
        const auto left = pttl(instances[0], "k");
        BOOST_TEST((left && *left > 50min && *left <= 1h));
        co_await locks.close();
    });
}

/// The lock of the dead runner expires with its ttl.
BOOST_AUTO_TEST_CASE(if_the_runner_dies_the_next_one_runs) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        hold_by_hand(instances[0], "k", 300ms);
        const once_result result = co_await call(locks, "k", quick_body("x"));
        BOOST_TEST((result.ran && result.value == "x"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_lost_reply_to_the_record_is_harmless) {
    run_test(network.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        co_await call(locks, "first", quick_body("x"));  // Loads the script into the server.
        network[0].cut_before_reply(a_record);
        const quick_body body("x");
        const once_result result = co_await call(locks, "k", body);
        BOOST_TEST(network[0].cuts() == 1U);
        BOOST_TEST((result.ran && *body.times == 1));
        BOOST_TEST(instances[0].command({"GET", "k"}).value() == record_of("x"));
        co_await settled(locks);
        BOOST_TEST(locks.counters().lost == 0U);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(without_any_reply_to_the_record_the_outcome_is_unknown) {
    run_test(network.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        running_call first;
        co_await first.begin(locks, kept(1h, 1s));
        network[0].hold_from_request(a_record);
        co_await first.end();
        BOOST_TEST((first.code() == errc::outcome_unknown), first.message());
        BOOST_TEST(first.message().find("'k': the body has run, and its result may be recorded") !=
                       std::string::npos,
                   first.message());
        network[0].resume();
        co_await settled(locks);
        const once_result next = co_await call(locks, "k", quick_body("next"));
        BOOST_TEST((next.value == "next" || next.value == "done"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(if_the_lease_is_lost_the_body_is_cancelled) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        running_call first;
        once_options options = kept(1h, 600ms);
        options.lock.renew = 20ms;
        co_await first.begin(locks, options);
        instances[0].command({"SET", "k", "another", "PX", "3600000"});
        co_await async_wait_until([&] { return first.done; });
        BOOST_TEST((first.code() == condition::lost), first.message());
        BOOST_CHECK_THROW(std::rethrow_exception(first.thrown), lease_lost);
        BOOST_TEST(instances[0].command({"GET", "k"}).value() == "another");
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_body_that_releases_its_lease_records_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const auto body = [](lease& held) -> asio::awaitable<std::string> {
            co_await held.release();
            co_return "x";
        };
        const auto failed = co_await failed_call(locks, "k", body, persistent);
        BOOST_TEST((failed->code() == errc::not_held), failed->message());
        BOOST_TEST(!instances[0].has("k"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_mutex_on_the_name_is_waited_for) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const mutex same(locks, "k");
        lease held = co_await same.acquire();
        pending_call waiter;
        waiter.start(locks, "k", quick_body("x"));
        co_await async_wait_until([&] { return locks.counters().queued == 1; });
        co_await held.release();
        co_await async_wait_until([&] { return waiter.done; });
        BOOST_TEST(waiter.result.ran);
        co_await locks.close();
    });
}

/// A mutex on this name waits, and its error reports the reason.
BOOST_AUTO_TEST_CASE(other_locks_on_the_name_are_told_of_the_result) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await call(locks, "k", quick_body("x"));
        lock_options twelve_times = patient();
        twelve_times.retry = {200ms, 200ms, 12};
        const auto names_it = [](const error& e) {
            return e.message().find("a result of once") != std::string::npos;
        };
        const mutex same(locks, "k", twelve_times);
        const auto [waited, held] = co_await same.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((waited == errc::contended));
        BOOST_TEST(names_it(waited), waited.message());
        const semaphore other(locks, "k", 3);
        const auto [wrong, permit] = co_await other.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((wrong == errc::wrong_kind));
        BOOST_TEST(names_it(wrong), wrong.message());
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_name_of_a_semaphore_is_the_wrong_kind) {
    run_test(instances.config(), [&](client& locks, client& others) -> asio::awaitable<void> {
        const semaphore calls(others, "k", 3);
        lease held = co_await calls.acquire();
        const auto failed = co_await failed_call(locks, "k", quick_body("x"), persistent);
        BOOST_TEST((failed->code() == errc::wrong_kind), failed->message());
        BOOST_TEST(failed->message().find("a semaphore of 3 permits") != std::string::npos,
                   failed->message());
        co_await held.release();
        co_await locks.close();
        co_await others.close();
    });
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const quick_body body("x");
        const auto check_refused = [&](std::string key, once_options options,
                                       std::string field) -> asio::awaitable<void> {
            const auto refused = co_await failed_call(locks, key, body, options);
            BOOST_TEST((refused->code() == errc::invalid_argument), refused->message());
            const std::string name = key.empty() ? "" : "'" + key + "': ";
            BOOST_TEST(refused->message().starts_with(name + field + ": "), refused->message());
        };
        once_options fenced = persistent;
        fenced.lock.fencing = true;
        co_await check_refused("k", fenced, "lock.fencing");
        co_await check_refused("k", kept(9ms), "keep");
        co_await check_refused("k", kept(24h * 366), "keep");
        co_await check_refused("k", kept(1h, 1ms), "ttl");
        co_await check_refused("k", with_fingerprint(std::string(257, 'x')), "fingerprint");
        co_await check_refused("", persistent, "resource");
        BOOST_TEST(*body.times == 0);
        const once_result longest =
            co_await call(locks, "k", body, with_fingerprint(std::string(256, 'x')));
        BOOST_TEST(longest.ran);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_closed_client_runs_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await locks.close();
        const quick_body body("x");
        const auto failed = co_await failed_call(locks, "k", body, persistent);
        BOOST_TEST((failed->code() == errc::client_closed), failed->message());
        BOOST_TEST(*body.times == 0);
    });
}

BOOST_AUTO_TEST_CASE(close_ends_a_waiter_and_a_body) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        running_call runs;
        co_await runs.begin(a);
        pending_call waiter;
        waiter.start(b, "k", slow_body{runs.body});
        co_await waits(b);
        co_await b.close();
        co_await async_wait_until([&] { return waiter.done; });
        BOOST_TEST((waiter.code() == errc::client_closed), waiter.message());
        co_await a.close();
        co_await async_wait_until([&] { return runs.done; });
        BOOST_TEST((runs.code() == errc::client_closed), runs.message());
        BOOST_TEST(!instances[0].has("k"));
    });
}

BOOST_AUTO_TEST_CASE(several_threads_share_a_client) {
    asio::thread_pool pool(2);
    config configuration = instances.config();
    configuration.thread_safe = true;
    client locks(pool.get_executor(), configuration);
    std::atomic<int> ran{0};
    const auto body = [&ran]() -> asio::awaitable<std::string> {
        ++ran;
        co_return "x";
    };
    std::vector<std::future<once_result>> calls;
    for (int i = 0; i != 200; ++i) {
        calls.push_back(
            once(locks, "k" + std::to_string(i % 10), body, persistent, asio::use_future));
    }
    for (auto& one : calls) {
        BOOST_TEST(one.get().value == "x");
    }
    BOOST_TEST(ran == 10);
    locks.close(asio::use_future).get();
    pool.join();
}

BOOST_AUTO_TEST_CASE(the_client_may_be_gone_before_the_end) {
    run_test([&]() -> asio::awaitable<void> {
        const slow_body body;
        pending_call runs;
        {
            client locks(co_await asio::this_coro::executor, instances.config());
            runs.start(locks, "k", body);
            co_await async_wait_until([&] { return body.state->begun == 1; });
        }
        co_await async_wait_until([&] { return runs.done; });
        BOOST_TEST((runs.code() == errc::client_closed), runs.message());
    }());
}

/// The bodies end with the context.
BOOST_AUTO_TEST_CASE(the_context_may_be_gone_before_the_end) {
    const slow_body body;
    std::optional<asio::io_context> context(std::in_place);
    client locks(context->get_executor(), instances.config());
    pending_call runs;
    std::vector<pending_call> others(3);
    runs.start(locks, "k", body);
    for (pending_call& one : others) {
        one.start(locks, "k", body);
    }
    const stopwatch since;
    while (body.state->begun == 0 && since.elapsed() < 60s) {
        context->run_for(1ms);
    }
    BOOST_TEST(body.state->begun == 1);
    body.state->may_end = true;
    context.reset();
    BOOST_TEST(!runs.done);
}

BOOST_AUTO_TEST_SUITE_END()

// --- Several instances --------------------------------------------------------------------------

template <std::size_t N>
struct some_servers : shared_servers_far_away<N> {
    void put(std::size_t index, const std::string& value, milliseconds ttl) {
        this->instances[index].command({"SET", "k", value, "PX", std::to_string(ttl.count())});
    }
    /// Returns a configuration in which even late votes count.
    [[nodiscard]] colock::config patient_config() const {
        colock::config configuration = this->instances.config();
        configuration.instance_timeout = 20s;
        return configuration;
    }
    std::size_t having(const std::string& value) {
        std::size_t count = 0;
        for (const redis_server& one : this->instances) {
            count += one.command({"GET", "k"}).value_or("") == value ? 1 : 0;
        }
        return count;
    }
};
using three = some_servers<3>;
using five = some_servers<5>;

BOOST_FIXTURE_TEST_SUITE(once_on_three_test, three)

BOOST_AUTO_TEST_CASE(a_quorum_with_the_result_is_enough) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(0, record_of("x"), 1h);
        put(2, record_of("x"), 1h);
        BOOST_TEST(((co_await call(locks, "k", quick_body("y"))).value == "x"));
        BOOST_TEST(having(record_of("x")) == 2U);
        co_await locks.close();
    });
}

/// The holder died while the result was being recorded. The other servers had its token, which has expired.
BOOST_AUTO_TEST_CASE(the_result_of_a_minority_is_healed) {
    run_test(patient_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (std::size_t i = 0; i != 3; ++i) {
            instances.flush();
            put(i, record_of("x"), 1h);
            const quick_body body("y");
            const once_result found = co_await call(locks, "k", body);
            BOOST_TEST((found.value == "x" && !found.ran && *body.times == 0));
            co_await async_wait_until([&] { return having(record_of("x")) == 3; });
        }
        co_await locks.close();
    });
}

/// Otherwise a name that is in constant use would never become free again.
BOOST_AUTO_TEST_CASE(a_healed_result_ends_with_the_first_one) {
    run_test(patient_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(1, record_of("x"), 2s);
        const once_result found = co_await call(locks, "k", quick_body("y"), kept(1h));
        if (!found.ran) {  // It runs only if this machine stalls.
            for (redis_server& one : instances) {
                BOOST_TEST((pttl(one, "k").value_or(0ms) <= 2s));
            }
        }
        co_await async_wait_until([&] { return having(record_of("x")) == 0; });
        BOOST_TEST(((co_await call(locks, "k", quick_body("y"))).value == "y"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(the_result_of_a_minority_is_healed_with_a_server_down) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = network.config();
        configuration.instance_timeout = 20s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        put(0, record_of("x"), 1h);
        network[2].refuse();
        network[2].cut();
        co_await async_wait_until([&] { return ready_instances(locks) == 2; });
        const once_result found = co_await call(locks, "k", quick_body("y"));
        BOOST_TEST((found.value == "x" && !found.ran));
        BOOST_TEST(having(record_of("x")) == 2U);
        co_await locks.close();
    }());
}

/// The token of the dead holder lasts until its ttl. Then the result counts, and no body runs.
BOOST_AUTO_TEST_CASE(a_waiter_heals_when_the_token_of_the_dead_ends) {
    run_test(patient_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(0, record_of("x"), 1h);
        put(1, "the dead", 500ms);
        put(2, "the dead", 500ms);
        const quick_body body("y");
        const once_result found = co_await call(locks, "k", body);
        BOOST_TEST((found.value == "x" && !found.ran && *body.times == 0));
        co_await async_wait_until([&] { return having(record_of("x")) >= 2; });
        co_await settled(locks);
        BOOST_TEST(locks.counters().lost == 0U);
        co_await locks.close();
    });
}

/// The replies to the restoring commands are lost. The client cannot be sure that its lease has a quorum, so
/// it runs no body.
BOOST_AUTO_TEST_CASE(a_lost_reply_to_what_heals_is_harmless) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = network.config();
        configuration.instance_timeout = 20s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        co_await call(locks, "other", quick_body("x"));  // Loads the script into the servers.
        put(0, record_of("x"), 1h);
        put(1, "the dead", 300ms);
        put(2, "the dead", 300ms);
        network[1].cut_before_reply(a_record);
        network[2].cut_before_reply(a_record);
        const quick_body body("y");
        const once_result found = co_await call(locks, "k", body);
        BOOST_TEST((found.value == "x" && !found.ran && *body.times == 0));
        BOOST_TEST(network[1].cuts() + network[2].cuts() == 2U);
        co_await settled(locks);
        BOOST_TEST(locks.counters().lost == 0U);
        co_await locks.close();
    }());
}

/// Only one of the two tokens has expired, so no quorum is free. The record and this client's token together
/// form a quorum.
BOOST_AUTO_TEST_CASE(a_record_and_a_grant_are_a_quorum) {
    run_test(patient_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(0, record_of("x"), 1h);
        put(1, "the dead", 500ms);
        put(2, "another", 1h);
        const once_result found = co_await call(locks, "k", quick_body("y"));
        BOOST_TEST((found.value == "x" && !found.ran));
        BOOST_TEST(having(record_of("x")) == 2U);
        BOOST_TEST(having("another") == 1U);
        co_await locks.close();
    });
}

/// While another caller runs, a record on a minority has no effect.
BOOST_AUTO_TEST_CASE(a_holder_goes_first_before_the_result_of_a_minority) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        co_await all_ready(a);
        co_await all_ready(b);
        running_call of_a;
        co_await of_a.begin(a);
        put(0, record_of("x"), 1h);
        pending_call of_b;
        of_b.start(b, "k", quick_body("y"));
        co_await waits(b);
        co_await of_a.end();
        co_await async_wait_until([&] { return of_b.done; });
        BOOST_TEST((of_a.result.value == "done" && of_a.result.ran));
        BOOST_TEST((of_b.result.value == "done" && !of_b.result.ran));
        co_await a.close();
        co_await b.close();
    });
}

/// Two different results, each on a minority. Neither counts, and both expire with their ttl.
BOOST_AUTO_TEST_CASE(minorities_that_differ_block_the_name_until_they_end) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(0, record_of("x"), 700ms);
        put(1, record_of("y"), 700ms);
        put(2, "the dead", 400ms);
        const once_result result = co_await call(locks, "k", quick_body("z"));
        BOOST_TEST((result.value == "x" || result.value == "y" || result.value == "z"));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_result_is_recorded_without_one_server) {
    run_test(network.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        running_call first;
        co_await first.begin(locks);
        network[0].cut();
        network[0].refuse();
        co_await first.end();
        BOOST_TEST(first.message() == "");
        BOOST_TEST(having(record_of("done")) >= 2U);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(once_on_five_test, five)

BOOST_AUTO_TEST_CASE(a_minority_may_be_down) {
    run_test(network.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        co_await all_ready(a);
        co_await all_ready(b);
        for (const std::size_t down : {1U, 3U}) {
            network[down].cut();
            network[down].refuse();
        }
        co_await async_wait_until(
            [&] { return ready_instances(a) == 3 && ready_instances(b) == 3; });
        const quick_body body("x");
        BOOST_TEST((co_await call(a, "k", body)).ran);
        BOOST_TEST(!(co_await call(b, "k", body)).ran);
        BOOST_TEST(having(record_of("x")) == 3U);
        network[1].accept();
        network[3].accept();
        co_await all_ready(b);
        BOOST_TEST(!(co_await call(b, "k", body)).ran);
        BOOST_TEST(*body.times == 1);
        co_await a.close();
        co_await b.close();
    });
}

BOOST_AUTO_TEST_CASE(the_result_of_one_of_five_is_healed) {
    run_test(patient_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        put(3, record_of("x"), 1h);
        const once_result found = co_await call(locks, "k", quick_body("y"));
        BOOST_TEST((found.value == "x" && !found.ran));
        co_await async_wait_until([&] { return having(record_of("x")) == 5; });
        co_await locks.close();
    });
}

/// In all cases, all callers get the same result, and only one body runs.
BOOST_AUTO_TEST_CASE(many_callers_agree) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        constexpr int names = 20;
        std::vector<pending_call> calls(names * 6);
        std::vector<int> ran(names);
        for (std::size_t i = 0; i != calls.size(); ++i) {
            const std::size_t name = i % names;
            auto body = [&ran, name, i]() -> asio::awaitable<std::string> {
                ++ran[name];
                co_return std::to_string(i);
            };
            calls[i].start(i % 2 == 0 ? a : b, "k" + std::to_string(name), body);
        }
        for (std::size_t i = 0; i != calls.size(); ++i) {
            co_await async_wait_until([&] { return calls[i].done; });
            BOOST_TEST(calls[i].message() == "");
            BOOST_TEST(calls[i].result.value == calls[i % names].result.value);
        }
        for (const int times : ran) {
            BOOST_TEST(times == 1);
        }
        co_await a.close();
        co_await b.close();
    });
}

BOOST_AUTO_TEST_SUITE_END()

// --- Other deployments --------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(once_deployments_test)

BOOST_AUTO_TEST_CASE(in_memory) {
    run_test([]() -> asio::awaitable<void> {
        std::vector<std::string> uris;
        for (const std::size_t count : {1U, 3U}) {
            uris.resize(count);
            for (std::string& one : uris) {
                one = "memory://once" + std::to_string(count) + std::to_string(&one - uris.data());
            }
            client locks(co_await asio::this_coro::executor, config::from_uris(uris));
            const quick_body body("x");
            BOOST_TEST((co_await call(locks, "k", body)).ran);
            BOOST_TEST(((co_await call(locks, "k", body)).value == "x"));
            BOOST_TEST(*body.times == 1);
            co_await locks.close();
        }
    }());
}

BOOST_AUTO_TEST_CASE(a_result_outlives_a_failover) {
    run_test([]() -> asio::awaitable<void> {
        redis_server former{at_once};
        redis_server replica{replica_of(former)};
        wait_until_streaming(former, replica);
        std::vector<fake_sentinel> sentinels(3);
        std::string hosts;
        for (fake_sentinel& one : sentinels) {
            one.name(former.port());
            hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        }
        client locks(co_await asio::this_coro::executor,
                     config_of("redis+sentinel://" + hosts + "/mymaster?replicas_acked=1"));
        co_await all_ready(locks);
        const quick_body body("x");
        once_options options = persistent;
        options.lock.ttl = 10s;
        BOOST_TEST((co_await call(locks, "k", body, options)).ran);
        BOOST_TEST(replica.command({"GET", "k"}).value() == record_of("x"));
        replica.command({"REPLICAOF", "NO", "ONE"});
        former.kill();
        for (fake_sentinel& one : sentinels) {
            one.switch_to(replica.port());
        }
        // The new master does not grant locks yet, but a record is valid.
        co_await async_wait_until(
            [&] { return locks.instances().front().state == instance_state::quarantined; });
        const once_result found = co_await call(locks, "k", body, options);
        BOOST_TEST((!found.ran && *body.times == 1));
        co_await locks.close();
    }());
}

/// The slot of the name moves at various times.
BOOST_AUTO_TEST_CASE(in_a_cluster_whose_slots_move) {
    redis_cluster cluster(2);
    run_test(
        [&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, config_of(cluster.uri()));
            co_await all_ready(locks);
            std::size_t from = cluster.first_owner_of("{k}");
            const std::size_t slot = redis_cluster::slot_of(cluster[0], "{k}");
            const quick_body body("x");
            once_options options = persistent;
            options.lock.ttl = 10s;
            int made = 0;
            const auto works = [&]() -> asio::awaitable<void> {
                for (int i = 0; i != 3; ++i) {
                    const std::string name = "{k}" + std::to_string(++made);
                    BOOST_TEST((co_await call(locks, name, body, options)).ran);
                    BOOST_TEST(!(co_await call(locks, name, body, options)).ran);
                }
                BOOST_TEST(((co_await call(locks, "{k}1", body, options)).value == "x"));
            };
            for (int i = 0; i != 2; ++i, from = 1 - from) {
                co_await works();
                cluster.begin_to_move(slot, from, 1 - from);
                co_await works();
                cluster.move_keys(slot, from, 1 - from);
                co_await works();
                cluster.end_move(slot, 1 - from);
            }
            co_await works();
            BOOST_TEST(*body.times == made);
            co_await locks.close();
        }(),
        2min);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
