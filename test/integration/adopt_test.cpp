// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/client_process.hpp"
#include "integration/locks.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "runtime/handover.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Leases that move from one client to another, in this process or in another one.

namespace {

BOOST_AUTO_TEST_SUITE(adopt_test)

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;
using boost::unit_test::label;

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

lock_options fenced(lock_options options) {
    options.fencing = true;
    return options;
}

/// Returns the error of adopting this text, or no error on success. An adopted lease is released.
asio::awaitable<error> failure_to_adopt(client& by, std::string text,
                                        lock_options options = with_ttl(10s)) {
    auto [failure, held] = co_await adopt(by, text, options, tuple);
    if (!failure) {
        co_await held.release();
    }
    co_return failure;
}

/// The readers' side of a shared mutex, with the interface of a lock.
struct reading {
    shared_mutex lock;

    [[nodiscard]] asio::awaitable<lease> acquire() const {
        co_return co_await lock.acquire_shared();
    }
};

/// A test with a client that detaches and a client that adopts.
struct two_clients : shared_servers<3> {
    template <typename Body>
    void run(Body body) {
        run_test([&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            config other = patient_config(instances.config());
            other.label = "other";
            client from(executor, patient_config(instances.config()));
            client to(executor, other);
            co_await all_ready(from);
            co_await all_ready(to);
            co_await body(from, to);
        }());
    }

    /// Acquires a lease on this lock, detaches it and adopts it. Expects the adopted lease to be equal, to be
    /// renewed several times, and to be released. `rival` is a lock that excludes it.
    template <typename Lock, typename Rival>
    asio::awaitable<void> expect_to_move(Lock lock, client& to, Rival rival,
                                         bool is_fenced = false) {
        lease held = co_await lock.acquire();
        const std::string name(held.resource());
        const std::string token(held.token());
        const bool is_shared = held.is_shared();
        const std::uint64_t fence = is_fenced ? held.fence() : 0;
        const std::string text = co_await held.detach();
        BOOST_TEST_CONTEXT(text) {
            BOOST_TEST(!held.valid());
            const std::uint64_t renewed = to.counters().renewed;
            lease here = co_await adopt(to, text, renewed_every(100ms, 10s));
            BOOST_TEST(here.valid());
            BOOST_TEST(here.resource() == name);
            BOOST_TEST(here.token() == token);
            BOOST_TEST(here.is_shared() == is_shared);
            BOOST_TEST((!is_fenced || here.fence() == fence));
            BOOST_TEST((here.valid_until() > steady_clock::now() + 5s));
            co_await async_wait_until([&] { return to.counters().renewed >= renewed + 3; });
            const auto none = co_await rival.try_acquire();
            BOOST_TEST(!none.owns_lock());
            BOOST_TEST((co_await here.release() == release_result::released));
            co_await settled(to);
            lease next = co_await rival.acquire();
            BOOST_TEST(next.valid());
            co_await next.release();
        }
    }
};

BOOST_FIXTURE_TEST_SUITE(by_two_clients, two_clients)

BOOST_AUTO_TEST_CASE(a_lease_of_a_mutex_moves) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        co_await expect_to_move(mutex(from, "x", with_ttl(10s)), to, mutex(from, "x"));
        co_await expect_to_move(mutex(from, "y", fenced(with_ttl(10s))), to,
                                mutex(from, "y", fenced({})), true);
        BOOST_TEST(from.counters().detached == 2U);
        BOOST_TEST(to.counters().adopted == 2U);
        BOOST_TEST(to.counters().held == 0U);
        BOOST_TEST(from.counters().held == 0U);
    });
}

BOOST_AUTO_TEST_CASE(leases_of_a_shared_mutex_move) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        for (const bool has_fences : {false, true}) {
            lock_options options = with_ttl(10s);
            options.fencing = has_fences;
            const shared_mutex lock(from, has_fences ? "fenced" : "plain", options);
            co_await expect_to_move(lock, to, lock, has_fences);
            // A named variable, because GCC 12 destroys such a temporary of a `co_await` expression twice.
            const reading readers{lock};
            co_await expect_to_move(readers, to, lock, has_fences);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_downgraded_lease_moves_as_a_readers) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        const shared_mutex lock(from, "x", with_ttl(10s));
        lease writes = co_await lock.acquire();
        co_await lock.downgrade(writes);
        const std::string text = co_await writes.detach();
        lease reads = co_await adopt(to, text, with_ttl(10s));
        BOOST_TEST(reads.is_shared());
        lease beside = co_await lock.acquire_shared();
        BOOST_TEST(beside.valid());
        BOOST_TEST(!is_held(co_await lock.try_acquire()));
        co_await beside.release();
        BOOST_TEST((co_await reads.release() == release_result::released));
        BOOST_TEST(is_held(co_await lock.acquire()));
    });
}

BOOST_AUTO_TEST_CASE(permits_move) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        const semaphore one(from, "one", 1, with_ttl(10s));
        co_await expect_to_move(one, to, one);
        // The numbers of several permits move with them.
        const semaphore five(from, "five", 5, with_ttl(10s));
        lease first = co_await five.acquire();
        lease held = co_await five.acquire(3);
        const std::string text = co_await held.detach();
        lease here = co_await adopt(to, text, renewed_every(100ms, 10s));
        co_await renewed_more(to, 3);
        BOOST_TEST(!is_held(co_await five.try_acquire(2)));
        lease last = co_await five.acquire();
        BOOST_TEST((co_await here.release() == release_result::released));
        lease all = co_await five.acquire(3);
        BOOST_TEST(all.valid());
        BOOST_TEST(first.valid());
        BOOST_TEST(last.valid());
    });
}

BOOST_AUTO_TEST_CASE(a_lease_with_several_names_moves) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        const multi_mutex both(from, {"x", "y"}, with_ttl(10s));
        co_await expect_to_move(both, to, mutex(from, "y"));
    });
}

BOOST_AUTO_TEST_CASE(a_lease_moves_to_another_process_and_back) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        client_process other("x", 10s, patient_config(instances.config()));
        BOOST_TEST((co_await other.ask("ready") == "ready"));
        BOOST_TEST((co_await other.ask("acquire") == "held"));
        std::string text = co_await other.ask("detach");
        other.kill();
        lease held = co_await adopt(from, text, with_ttl(10s));
        BOOST_TEST(!is_held(co_await mutex(to, "x").try_acquire()));

        client_process third("x", 10s, patient_config(instances.config()));
        BOOST_TEST((co_await third.ask("ready") == "ready"));
        text = co_await held.detach();
        BOOST_TEST((co_await third.ask("adopt " + text) == "held"));
        BOOST_TEST((co_await third.ask("valid") == "valid"));
        BOOST_TEST(!is_held(co_await mutex(to, "x").try_acquire()));
        BOOST_TEST((co_await third.ask("release") == "released"));
        BOOST_TEST(is_held(co_await mutex(to, "x").acquire()));
    });
}

BOOST_AUTO_TEST_CASE(a_lease_that_nobody_adopts_ends_with_its_ttl) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", renewed_every(100ms, 2s)).acquire();
        const auto free_at = held.valid_until();
        const std::string text = co_await held.detach();
        const lease next = co_await mutex(to, "x").acquire();
        BOOST_TEST((steady_clock::now() >= free_at));
        BOOST_TEST(next.valid());
        BOOST_TEST((co_await failure_to_adopt(from, text) == errc::lease_lost));
        BOOST_TEST(next.valid());
        BOOST_TEST((instances.holding("x") >= 2U));
    });
}

BOOST_AUTO_TEST_CASE(a_client_adopts_a_text_once, *label("fault-134")) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        const auto expect_once = [&](lease held) -> asio::awaitable<void> {
            const std::string name(held.resource());
            const std::string text = co_await held.detach();
            std::optional<error> result;
            lease here;
            adopt(to, text, renewed_every(50ms, 10s), [&](error e, lease l) {
                result = std::move(e);
                here = std::move(l);
            });
            const error second = co_await failure_to_adopt(to, text);  // The first is under way.
            BOOST_TEST((second == errc::invalid_argument), second.message());
            BOOST_TEST(second.details() ==
                       "'" + name + "': text: this client has adopted it already");
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST(!*result, result->message());
            BOOST_TEST((co_await failure_to_adopt(to, text) == errc::invalid_argument));
            co_await renewed_more(to, 2);
            BOOST_TEST(here.valid());
            // A lease that is detached again can be adopted again.
            const std::string again = co_await here.detach();
            here = co_await adopt(to, again, with_ttl(10s));
            BOOST_TEST((co_await here.release() == release_result::released));
            const error released = co_await failure_to_adopt(to, text);
            BOOST_TEST((released == errc::lease_lost), released.message());
        };
        co_await expect_once(co_await mutex(from, "x", fenced(with_ttl(10s))).acquire());
        co_await expect_once(co_await shared_mutex(from, "y", with_ttl(10s)).acquire_shared());
        co_await expect_once(co_await semaphore(from, "z", 5, with_ttl(10s)).acquire(2));
        const multi_mutex both(from, {"a", "b"}, with_ttl(10s));
        co_await expect_once(co_await both.acquire());
    });
}

BOOST_AUTO_TEST_CASE(keys_that_are_gone_cannot_be_adopted) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(10s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        const std::string text = co_await held.detach();
        instances[0].command({"DEL", "x"});
        instances[1].command({"DEL", "x"});
        const error failure = co_await failure_to_adopt(to, text);
        BOOST_TEST((failure == errc::lease_lost));
        BOOST_TEST(failure.message().find("'x'") != std::string::npos, failure.message());
        // The remaining keys expire with their ttl.
        BOOST_TEST(instances.holding("x") == 1U);
        BOOST_TEST(to.counters().adopted == 0U);
        BOOST_TEST(to.counters().held == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_key_that_a_minority_has_lost_is_restored) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(10s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        const std::string text = co_await held.detach();
        instances[2].command({"DEL", "x"});
        lease here = co_await adopt(to, text, renewed_every(50ms, 10s));
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        BOOST_TEST(here.valid());
        BOOST_TEST((co_await here.release() == release_result::released));
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
    });
}

BOOST_AUTO_TEST_CASE(a_new_client_adopts_when_it_is_connected) {
    run([&](client& from, client&) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(10s)).acquire();
        client fresh(co_await asio::this_coro::executor, patient_config(instances.config()));
        const std::string text = co_await held.detach();
        lease here = co_await adopt(fresh, text, with_ttl(10s));
        BOOST_TEST(here.valid());
        co_await here.release();
    });
}

BOOST_AUTO_TEST_CASE(without_a_quorum_the_keys_stay_and_can_be_adopted_later) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        const std::string text = co_await held.detach();
        instances[0].pause();
        instances[1].pause();
        lock_options options = with_ttl(1min);
        options.unavailable_timeout = 300ms;
        config hasty = instances.config();
        hasty.instance_timeout = 100ms;
        client impatient(co_await asio::this_coro::executor, hasty);
        BOOST_TEST((co_await failure_to_adopt(impatient, text, options) == errc::no_quorum));
        instances[0].resume();
        instances[1].resume();
        BOOST_TEST(instances.holding("x") == 3U);
        BOOST_TEST(!(co_await failure_to_adopt(to, text)));
    });
}

BOOST_AUTO_TEST_CASE(it_is_adopted_before_those_that_wait) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(1min)).acquire();
        pending_acquire local;
        pending_acquire waiter;
        pending_acquire behind;
        local.start(mutex(from, "x", patient()));
        waiter.start(mutex(to, "x", patient()));
        behind.start(mutex(to, "x", patient()));
        co_await async_wait_until([&] { return to.counters().contended >= 1; });
        const std::string text = co_await held.detach();
        lease here = co_await adopt(to, text, with_ttl(1min));
        BOOST_TEST(here.valid());
        BOOST_TEST(!local.result.has_value());
        BOOST_TEST(!waiter.result.has_value());
        const stopwatch since;
        BOOST_TEST((co_await here.release() == release_result::released));
        const auto let_go = [](pending_acquire& one) {
            if (one.result && one.granted.valid()) {
                BOOST_TEST(!*one.result);
                one.granted = lease();
                return true;
            }
            return one.result.has_value();
        };
        co_await async_wait_until([&] {
            const bool all[] = {let_go(local), let_go(waiter), let_go(behind)};
            return std::ranges::all_of(all, [](bool done) { return done; });
        });
        BOOST_TEST((since.elapsed() < 30s));
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_adoption_leaves_the_keys) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        std::string text = co_await held.detach();
        for (int turns = 0; turns != 40; ++turns) {
            asio::cancellation_signal signal;
            std::optional<error> result;
            lease got;
            adopt(to, text, with_ttl(1min),
                  asio::bind_cancellation_slot(signal.slot(), [&](error e, lease l) {
                      result = std::move(e);
                      got = std::move(l);
                  }));
            for (int i = 0; i != turns && !result; ++i) {
                co_await asio::post(asio::deferred);
            }
            signal.emit(cancellation_type::all);
            co_await async_wait_until([&] { return result.has_value(); });
            if (*result) {
                BOOST_TEST((*result == aborted));
            } else {
                text = co_await got.detach();
            }
            co_await async_wait_until([&] { return idle(to); });
            BOOST_TEST(instances.holding("x") == 3U);
        }
        BOOST_TEST(!(co_await failure_to_adopt(to, text)));
    });
}

BOOST_AUTO_TEST_CASE(a_client_that_is_closed_leaves_the_keys) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        const std::string text = co_await held.detach();
        client closing(co_await asio::this_coro::executor, patient_config(instances.config()));
        std::optional<error> result;
        adopt(closing, text, with_ttl(1min), [&](error e, const lease&) { result = std::move(e); });
        co_await closing.close();
        co_await async_wait_until([&] { return result.has_value(); });
        BOOST_TEST((*result == errc::client_closed));
        BOOST_TEST(instances.holding("x") == 3U);
        BOOST_TEST((co_await failure_to_adopt(closing, text) == errc::client_closed));
        BOOST_TEST(!(co_await failure_to_adopt(to, text)));
    });
}

BOOST_AUTO_TEST_CASE(a_detached_lease_is_not_held) {
    run([&](client& from, client&) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(10s)).acquire();
        std::optional<error> told;
        held.wait_lost([&](error e) { told = std::move(e); });
        co_await held.detach();
        co_await async_wait_until([&] { return told.has_value(); });
        BOOST_TEST((*told == errc::not_held));
        BOOST_TEST(!held.loss());
        const auto [again, text] = co_await held.detach(tuple);
        BOOST_TEST((again == errc::not_held));
        BOOST_TEST(text.empty());
        BOOST_TEST((std::get<0>(co_await held.release(tuple)) == errc::not_held));
        BOOST_TEST((std::get<0>(co_await held.extend(10s, tuple)) == errc::not_held));
        lease empty;
        BOOST_TEST((std::get<0>(co_await empty.detach(tuple)) == errc::not_held));
        // The destructor of a detached lease does nothing.
        held = lease();
        co_await settled(from);
        BOOST_TEST(instances.holding("x") == 3U);
    });
}

BOOST_AUTO_TEST_CASE(a_lost_lease_cannot_be_detached) {
    run([&](client& from, client&) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", without_watchdog(200ms)).acquire();
        co_await held.wait_lost();
        BOOST_TEST((std::get<0>(co_await held.detach(tuple)) == errc::lease_expired));
    });
}

BOOST_AUTO_TEST_CASE(a_lease_with_several_holders_cannot_be_detached) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        const reentrant_mutex lock(from, "x", with_ttl(10s));
        const lock_owner anna;
        lease outer = co_await lock.acquire(anna);
        lease inner = co_await lock.acquire(anna);
        const auto [refused, none] = co_await inner.detach(tuple);
        BOOST_TEST((refused == errc::wrong_lease));
        BOOST_TEST(refused.message().find("Release them first") != std::string::npos,
                   refused.message());
        BOOST_TEST(outer.valid());
        BOOST_TEST(inner.valid());
        co_await inner.release();
        const std::string text = co_await outer.detach();
        lease here = co_await adopt(to, text, with_ttl(10s));
        BOOST_TEST(here.valid());
        BOOST_TEST(!is_held(lock.try_reenter(anna)));
        co_await here.release();
    });
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_refused) {
    run([&](client& from, client& to) -> asio::awaitable<void> {
        lease held = co_await mutex(from, "x", with_ttl(10s)).acquire();
        const std::string text = co_await held.detach();
        const std::string token(held.token());
        const auto is_refused = [](client& by, std::string wrong, std::string why,
                                   lock_options options = with_ttl(10s)) -> asio::awaitable<void> {
            const error failure = co_await failure_to_adopt(by, wrong, options);
            BOOST_TEST((failure == errc::invalid_argument), failure.message());
            BOOST_TEST(!failure.details().starts_with("''"), failure.details());
            BOOST_TEST(failure.details().find(why) != std::string::npos, failure.message());
        };
        co_await is_refused(to, "x", "text: it is not the result of lease::detach");
        co_await is_refused(to, text.substr(0, 40), "fields");
        co_await is_refused(to, text + "\n", "The text was changed, or a part of it is missing");
        const auto parsed = runtime::parse_handover(text);
        const runtime::handover& whole = std::get<runtime::handover>(parsed);
        runtime::handover other = whole;
        other.kind = "inclusive";
        co_await is_refused(to, runtime::to_text(other),
                            "'inclusive', which this version does not know");
        other.kind = "shared";
        co_await is_refused(to, runtime::to_text(other), "its token is not of that kind");
        other = whole;
        other.keys.emplace_back("y");
        co_await is_refused(to, runtime::to_text(other),
                            "it has 2 names, and a lease of that kind has at most 1");
        other.kind = kinds::multi.traits().name;
        other.token = std::string(kinds::multi.traits().token_prefix) + whole.token;
        other.keys = {"y", "x"};
        co_await is_refused(to, runtime::to_text(other), "not in increasing order");
        other.keys = {"x", "x"};
        co_await is_refused(to, runtime::to_text(other), "not in increasing order");
        other.keys.assign(300'000, "x");
        co_await is_refused(to, runtime::to_text(other), "it has 300007 fields, not 8 to 71");
        other = whole;
        other.kind = kinds::semaphore(4, 2).traits().name;
        other.token = std::string(kinds::semaphore(4, 2).traits().token_prefix) + whole.token;
        for (const char* const numbers : {"1 ", "1 2 3 ", "1 5 "}) {
            other.has.value = 1;
            other.has.values = numbers;
            co_await is_refused(to, runtime::to_text(other), "which this version does not know");
        }
        co_await is_refused(to, text, "'x': ttl: 1 ms is out of range", with_ttl(1ms));
        config prefixed = patient_config(instances.config());
        prefixed.key_prefix = "app:";
        client elsewhere(co_await asio::this_coro::executor, prefixed);
        co_await is_refused(elsewhere, text,
                            "does not begin with the client's key prefix 'app:'. Give both "
                            "clients the same prefix");
        const error adopted = co_await failure_to_adopt(to, text);
        BOOST_TEST(!adopted, adopted.message());
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
