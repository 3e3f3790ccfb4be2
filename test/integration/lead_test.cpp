// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/client_process.hpp"
#include "integration/locks.hpp"
#include "support/contains.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

// Candidates that lead one after the other: how a term ends, and what happens next.

namespace {

BOOST_FIXTURE_TEST_SUITE(lead_test, colock::test::shared_servers<3>)

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;

/// Waits for a cancellation.
asio::awaitable<void> forever() {
    asio::steady_timer timer(co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max());
    co_await timer.async_wait();
}

/// A candidate that runs in parallel with the test and can be cancelled.
struct candidate {
    asio::cancellation_signal signal;
    background end;
    std::size_t terms = 0;
    bool leads = false;
    lease* held = nullptr;  // Set while it leads.

    /// Starts a candidate whose terms last until it is cancelled.
    template <typename Lock>
    void start(const Lock& lock) {
        start(lock, [](lease&) { return forever(); });
    }

    template <typename Lock, typename Body>
    void start(const Lock& lock, Body body) {
        auto term = [this, body](lease& its) -> asio::awaitable<void> {
            const struct end_of_term {
                candidate* of;
                ~end_of_term() {
                    of->leads = false;
                    of->held = nullptr;
                }
            } at_end{this};
            ++terms;
            leads = true;
            held = &its;
            co_await body(its);
        };
        lead(lock, term, asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr e) {
                 end.thrown = e;
                 end.done = true;
             }));
    }

    asio::awaitable<void> wait_until_it_leads(std::size_t number = 1) {
        co_await async_wait_until([&] { return leads && terms >= number; });
    }
    asio::awaitable<void> stop() {
        signal.emit(cancellation_type::all);
        co_await async_wait_until([&] { return end.done; });
    }
};

BOOST_AUTO_TEST_CASE(a_body_that_returns_resigns) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        const auto body = [](lease& held) -> asio::awaitable<int> {
            BOOST_TEST(held.valid());
            co_return 7;
        };
        BOOST_TEST(co_await lead(mutex(locks, "x"), body) == 7);
        BOOST_TEST(locks.counters().released == 1U);  // The release was awaited.
        const auto early = [](lease& held) -> asio::awaitable<void> { co_await held.release(); };
        co_await lead(mutex(locks, "x"), early);
        const auto late = [](lease& held) -> asio::awaitable<void> {
            held.abandon();
            co_return;
        };
        co_await lead(mutex(locks, "x"), late);
    }());
}

BOOST_AUTO_TEST_CASE(a_cancelled_candidate_reports_how_the_last_campaign_failed) {
    const config refused = config::from_uris({"redis://127.0.0.1:1"});
    run_test([&]() -> asio::awaitable<void> {
        client nobody(co_await asio::this_coro::executor, refused);
        lock_options impatient;
        impatient.unavailable_timeout = 1ms;
        candidate one;
        one.start(mutex(nobody, "x", impatient));
        // The first campaign ends soon, and the second one begins after 50 ms at the earliest.
        co_await async_wait_until([&] { return nobody.counters().acquiring == 1; });
        co_await async_wait_until([&] { return nobody.counters().acquiring == 0; });
        co_await one.stop();
        BOOST_TEST(one.end.code() == aborted);
        try {
            std::rethrow_exception(one.end.thrown);
        } catch (const std::exception& e) {
            BOOST_TEST(contains(e.what(), "the last campaign: 'x': "), e.what());
            BOOST_TEST(contains(e.what(), "Connection refused"), e.what());
        }
    }());
}

BOOST_AUTO_TEST_CASE(one_candidate_leads_at_a_time_and_the_next_one_follows) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        candidate first;
        first.start(mutex(a, "x"));
        co_await first.wait_until_it_leads();
        candidate second;
        second.start(mutex(b, "x"));
        co_await async_wait_until([&] { return b.counters().contended > 0; });
        BOOST_TEST(!second.leads);
        co_await first.stop();
        BOOST_TEST(first.end.code() == aborted);
        co_await second.wait_until_it_leads();
        BOOST_TEST(!first.leads);
        co_await second.stop();
        co_await settled(b);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_lost_lease_cancels_the_body_and_the_candidate_campaigns_again) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        candidate one;
        one.start(mutex(locks, "x", with_ttl(500ms)));
        for (std::size_t term = 1; term != 4; ++term) {
            co_await one.wait_until_it_leads(term);
            instances.flush();
            co_await async_wait_until([&] { return !one.leads; });
        }
        co_await one.wait_until_it_leads(4);
        BOOST_TEST(!one.end.done);
        co_await one.stop();
        BOOST_TEST(one.end.code() == aborted);
    }());
}

// The candidate campaigns again, whether its body throws on cancellation or returns.
BOOST_AUTO_TEST_CASE(a_body_that_returns_because_of_a_loss_does_not_resign) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        candidate one;
        one.start(mutex(locks, "x", with_ttl(500ms)), [](lease&) -> asio::awaitable<void> {
            asio::steady_timer timer(co_await asio::this_coro::executor,
                                     asio::steady_timer::time_point::max());
            co_await timer.async_wait(asio::as_tuple);
        });
        co_await one.wait_until_it_leads();
        instances.flush();
        co_await one.wait_until_it_leads(2);
        BOOST_TEST(!one.end.done);
        co_await one.stop();
        BOOST_TEST(one.end.code() == error_code());  // This body returns when it is cancelled.
    }());
}

BOOST_AUTO_TEST_CASE(max_hold_limits_a_term) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        lock_options options = with_ttl(1s);
        options.max_hold = 300ms;
        candidate first;
        candidate second;
        first.start(mutex(a, "x", options));
        second.start(mutex(b, "x", options));
        std::size_t together = 0;
        co_await async_wait_until([&] {
            const bool both_valid = first.held != nullptr && second.held != nullptr &&
                                    first.held->valid() && second.held->valid();
            together += both_valid ? 1 : 0;
            return first.terms >= 2 && second.terms >= 2;
        });
        BOOST_TEST(together == 0U);
        co_await first.stop();
        co_await second.stop();
    });
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_body_ends_the_candidacy) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        candidate one;
        one.start(mutex(locks, "x"), [](lease&) -> asio::awaitable<void> {
            co_await asio::post(asio::deferred);
            throw std::runtime_error("out of paper");
        });
        co_await async_wait_until([&] { return one.end.done; });
        BOOST_CHECK_THROW(std::rethrow_exception(one.end.thrown), std::runtime_error);

        // The exception counts even if it looks like an error of the lock, which `lead` would handle.
        candidate two;
        two.start(mutex(locks, "x"), [](lease&) -> asio::awaitable<void> {
            throw lock_error(errc::no_quorum);
            co_return;
        });
        co_await async_wait_until([&] { return two.end.done; });
        BOOST_TEST(two.end.code() == make_error_code(errc::no_quorum));
        BOOST_TEST(two.terms == 1U);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(a_candidate_campaigns_again_while_there_is_no_quorum) {
    run_test([&]() -> asio::awaitable<void> {
        servers some(3);
        client locks(co_await asio::this_coro::executor, some.config());
        lock_options options = with_ttl(500ms);
        options.unavailable_timeout = 0ms;
        candidate one;
        one.start(mutex(locks, "x", options));
        co_await one.wait_until_it_leads();
        some[0].kill();
        some[1].kill();
        co_await async_wait_until([&] { return !one.leads; });
        const std::uint64_t failed = locks.counters().unavailable;
        co_await async_wait_until([&] { return locks.counters().unavailable >= failed + 3; });
        some[0].restart();
        some[1].restart();
        co_await one.wait_until_it_leads(2);
        co_await one.stop();
    }());
}

BOOST_AUTO_TEST_CASE(a_closed_client_ends_the_candidacy) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::optional<client> locks(std::in_place, executor, instances.config());
        client other(executor, instances.config());
        candidate leader;
        leader.start(mutex(*locks, "x"));
        co_await leader.wait_until_it_leads();
        candidate waiting;
        waiting.start(mutex(*locks, "x"));
        locks.reset();
        co_await async_wait_until([&] { return leader.end.done && waiting.end.done; });
        BOOST_TEST(leader.end.code() == make_error_code(errc::client_closed));
        BOOST_TEST(waiting.end.code() == make_error_code(errc::client_closed));
        BOOST_TEST(waiting.terms == 0U);
        const lease next = co_await mutex(other, "x").acquire();
        BOOST_TEST(next.valid());
    }());
}

// The lease is lost first. The loss alone would lead to a further campaign, so the caller learns of the cancellation.
BOOST_AUTO_TEST_CASE(a_candidate_that_is_cancelled_after_a_loss_reports_the_cancellation) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        candidate one;
        const auto body = [&one](lease&) -> asio::awaitable<void> {
            const struct cancellation_at_end {
                candidate* of;
                ~cancellation_at_end() { of->signal.emit(cancellation_type::all); }
            } at_end{&one};
            co_await forever();
        };
        one.start(mutex(locks, "x", with_ttl(1min)), body);
        co_await one.wait_until_it_leads();
        instances.flush();
        co_await one.held->extend(1min, asio::as_tuple);
        co_await async_wait_until([&] { return one.end.done; });
        BOOST_TEST(one.end.code() == aborted);
        BOOST_TEST(one.terms == 1U);
    }());
}

BOOST_AUTO_TEST_CASE(cancellation_of_lead_at_any_moment_leaves_no_keys) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client locks(executor, instances.config());
            co_await all_ready(locks);
            std::size_t terms = 0;
            for (int i = 0; i != 300; ++i) {
                candidate one;
                one.start(mutex(locks, "x", with_ttl(1min)));
                if (i % 10 == 0) {  // Cancels in the pause after a loss, or in the next campaign.
                    co_await one.wait_until_it_leads();
                    instances.flush();
                    co_await one.held->extend(1min, asio::as_tuple);
                    co_await async_wait_until([&] { return !one.leads; });
                }
                asio::steady_timer moment(
                    executor, std::chrono::microseconds(i % 10 == 0 ? 400 * i : 10 * i));
                co_await moment.async_wait();
                co_await one.stop();
                BOOST_TEST(one.end.code() == aborted);
                terms += one.terms;
            }
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(terms > 0U);
        }(),
        60s);
}

// The signal is emitted on a thread that does not run the body.
BOOST_AUTO_TEST_CASE(a_candidate_of_a_thread_safe_client_can_be_cancelled) {
    asio::thread_pool threads(4);
    config configuration = instances.config();
    configuration.thread_safe = true;
    client locks(threads, configuration);
    std::atomic<int> leaders = 0;
    std::atomic<bool> was_alone = true;  // Checked on this thread, as Boost.Test requires.
    std::atomic<int> terms = 0;
    const auto body = [&](lease&) -> asio::awaitable<void> {
        if (++leaders != 1) {
            was_alone = false;
        }
        ++terms;
        const struct end_of_term {
            std::atomic<int>* leaders;
            ~end_of_term() { --*leaders; }
        } at_end{&leaders};
        co_await forever();
    };
    for (int i = 0; i != 50; ++i) {
        const auto strand = asio::make_strand(threads);
        asio::cancellation_signal signal;
        auto end = asio::co_spawn(
            strand,
            [&]() -> asio::awaitable<void> {
                co_await lead(mutex(locks, "x"), body, asio::use_awaitable);
            },
            asio::bind_cancellation_slot(signal.slot(),
                                         asio::bind_executor(strand, asio::use_future)));
        if (i % 2 == 0) {
            wait_until([&] { return terms > 0; });
        }
        terms = 0;
        asio::post(strand, [&] { signal.emit(cancellation_type::terminal); });
        BOOST_CHECK_THROW(end.get(), boost::system::system_error);
        asio::post(strand, asio::use_future).get();
    }
    asio::co_spawn(threads, locks.close(asio::use_awaitable), asio::use_future).get();
    threads.join();
    BOOST_TEST(was_alone);
    BOOST_TEST(instances.keys() == 0U);
}

// The validity of the dead leader ends before the next candidate leads. Both times are from the same steady
// clock.
BOOST_AUTO_TEST_CASE(a_killed_or_stopped_leader_is_followed_after_its_validity) {
    for (const bool is_killed : {true, false}) {
        run_test(
            [&]() -> asio::awaitable<void> {
                constexpr milliseconds ttl = 600ms;
                client_process a("leader", ttl, instances.config());
                client_process b("leader", ttl, instances.config());
                co_await a.ask("lead");
                b.tell("lead");
                const std::int64_t until = std::stoll(co_await a.ask("until"));
                if (is_killed) {
                    a.kill();
                } else {
                    a.pause();
                }
                const std::int64_t since = std::stoll(co_await b.wait_for_answer());
                BOOST_TEST(since >= until);
                if (!is_killed) {  // It has lost its lease and campaigns again.
                    a.resume();
                    co_await async_wait_until([&] { return instances.holding("leader") == 3; });
                    const std::string answer = co_await a.ask("until");
                    BOOST_TEST((answer == "no leader" || std::stoll(answer) < since));
                }
            }(),
            30s);
        instances.flush();
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
