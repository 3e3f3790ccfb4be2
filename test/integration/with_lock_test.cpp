// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#define COLOCK_ALLOW_TEMPORARY_BODIES  // Bodies are moved from variables here, which GCC 12 cannot tell from temporaries.

#include "integration/locks.hpp"
#include "integration/majority.hpp"
#include "support/contains.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

// A coroutine under a lock: its result, and the release that is awaited on every path. Also tests which
// classes are locks.

namespace {

BOOST_FIXTURE_TEST_SUITE(with_lock_test, colock::test::shared_servers<5>)

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;
using boost::unit_test::label;

/// Waits for a cancellation.
asio::awaitable<void> forever() {
    asio::steady_timer timer(co_await asio::this_coro::executor,
                             asio::steady_timer::time_point::max());
    co_await timer.async_wait();
}

/// A `with_lock` that runs in parallel with the test and can be cancelled.
struct pending {
    asio::cancellation_signal signal;
    bool done = false;
    std::exception_ptr thrown;

    template <typename Lock, typename Body>
    void start(const Lock& lock, Body body) {
        with_lock(lock, body,
                  asio::bind_cancellation_slot(signal.slot(), [this](std::exception_ptr e) {
                      thrown = e;
                      done = true;
                  }));
    }

    [[nodiscard]] error_code code() const {
        background result;
        result.thrown = thrown;
        return result.code();
    }

    [[nodiscard]] bool threw_lease_lost() const {
        try {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        } catch (const lease_lost&) {
            return true;
        } catch (...) {
            return false;
        }
        return false;
    }
};

/// A user-defined lock that takes any token and has no `body_executor`.
class counting_lock {
public:
    explicit counting_lock(mutex inner) : inner_(std::move(inner)) {}

    template <typename CompletionToken>
    auto acquire(CompletionToken&& token) const {
        ++*acquires_;
        return inner_.acquire(std::forward<CompletionToken>(token));
    }
    [[nodiscard]] auto get_executor() const { return inner_.get_executor(); }
    [[nodiscard]] int acquires() const { return *acquires_; }

private:
    mutex inner_;
    std::shared_ptr<int> acquires_ = std::make_shared<int>(0);
};

/// A user-defined lock whose acquires are coroutines, with a `body_executor`.
template <typename Inner>
class coroutine_lock {
public:
    explicit coroutine_lock(Inner inner) : inner_(std::move(inner)) {}

    asio::awaitable<lease> acquire(asio::use_awaitable_t<> token) const {
        lease held = co_await inner_.acquire(token);
        ++*acquires_;
        co_return held;
    }
    asio::awaitable<lease> acquire_shared(asio::use_awaitable_t<> token) const {
        co_return co_await inner_.acquire_shared(token);
    }
    [[nodiscard]] auto get_executor() const { return inner_.get_executor(); }
    [[nodiscard]] auto body_executor() const { return inner_.body_executor(); }
    [[nodiscard]] int acquires() const { return *acquires_; }

private:
    Inner inner_;
    std::shared_ptr<int> acquires_ = std::make_shared<int>(0);
};

using own_locks = std::tuple<counting_lock, coroutine_lock<mutex>>;

/// A lock whose `acquire` is just this coroutine.
template <typename Acquire>
struct fake_lock {
    Acquire acquire_now;
    asio::any_io_executor executor;

    asio::awaitable<lease> acquire(asio::use_awaitable_t<> /*token*/) const {
        return acquire_now();
    }
    [[nodiscard]] auto get_executor() const { return executor; }
};

// Types that are locks, and types that are not.
struct without_acquire {
    [[nodiscard]] asio::any_io_executor get_executor() const;
};
struct without_executor {
    asio::awaitable<lease> acquire(asio::use_awaitable_t<> token) const;
};
struct with_acquire_not_const : without_acquire {
    asio::awaitable<lease> acquire(asio::use_awaitable_t<> token);
};
struct with_acquire_that_may_fail : without_acquire {
    asio::awaitable<std::optional<lease>> acquire(asio::use_awaitable_t<> token) const;
};
struct with_acquire_of_another_lease : without_acquire {
    asio::awaitable<int> acquire(asio::use_awaitable_t<> token) const;
};
struct with_acquire_that_blocks : without_acquire {
    [[nodiscard]] lease acquire() const;
};
struct not_copyable : without_acquire {
    not_copyable(const not_copyable&) = delete;
    not_copyable& operator=(const not_copyable&) = delete;
    ~not_copyable();
    asio::awaitable<lease> acquire(asio::use_awaitable_t<> token) const;
};

static_assert(acquirable<mutex> && !shared_acquirable<mutex>);
static_assert(acquirable<shared_mutex> && shared_acquirable<shared_mutex>);
static_assert(acquirable<counting_lock> && !shared_acquirable<counting_lock>);
static_assert(shared_acquirable<coroutine_lock<shared_mutex>>);
static_assert(!acquirable<without_acquire> && !shared_acquirable<without_acquire>);
static_assert(!acquirable<without_executor>);
static_assert(!acquirable<with_acquire_not_const>);
static_assert(!acquirable<with_acquire_that_may_fail>);
static_assert(!acquirable<with_acquire_of_another_lease>);
static_assert(!acquirable<with_acquire_that_blocks>);
static_assert(!acquirable<not_copyable>);
static_assert(!acquirable<client> && !acquirable<lease> && !acquirable<std::mutex>);
static_assert(!acquirable<int>);

template <typename Lock, typename Body>
concept runs_under = requires(const Lock& lock, Body body) {
    with_lock(lock, body);
};

static_assert(runs_under<mutex, asio::awaitable<int> (*)(lease&)>);
static_assert(!runs_under<std::mutex, asio::awaitable<int> (*)(lease&)>);
static_assert(!runs_under<mutex, int (*)(lease&)>);
static_assert(!runs_under<mutex, asio::awaitable<int> (*)()>);

BOOST_AUTO_TEST_CASE(returns_the_result_of_the_body) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        const int number =
            co_await with_lock(lock, [](lease&) -> asio::awaitable<int> { co_return 42; });
        BOOST_TEST(number == 42);
        const std::unique_ptr<int> move_only =
            co_await with_lock(lock, [](lease&) -> asio::awaitable<std::unique_ptr<int>> {
                co_return std::make_unique<int>(43);
            });
        BOOST_TEST_REQUIRE(move_only != nullptr);
        BOOST_TEST(*move_only == 43);
        bool ran = false;
        co_await with_lock(lock, [&](lease& held) -> asio::awaitable<void> {
            ran = held.valid() && held.resource() == "x";
            co_return;
        });
        BOOST_TEST(ran);
        // Each release was awaited.
        BOOST_TEST(locks.counters().released == 3U);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

/// Only the wait is limited, and not the body.
BOOST_AUTO_TEST_CASE(within_limits_the_wait_alone) {
    run_test(instances.config(), [](client& locks, client& others) -> asio::awaitable<void> {
        const within lock{mutex(locks, "x"), 50ms};
        bool ran = false;
        auto body = [&](lease& held) -> asio::awaitable<int> {
            ran = true;
            asio::steady_timer timer(co_await asio::this_coro::executor, 100ms);
            co_await timer.async_wait();
            co_return held.valid() ? 7 : 0;
        };
        BOOST_TEST(co_await with_lock(lock, body) == 7);
        lease held = co_await mutex(others, "x").acquire();
        ran = false;
        std::string told;
        try {
            co_await with_lock(lock, body);
        } catch (const lock_error& failure) {
            BOOST_TEST((failure.code() == errc::contended));
            told = failure.what();
        }
        BOOST_TEST(!ran);
        BOOST_TEST(contains(told, "not free within 50 ms, so the body has not run"), told);
        co_await held.release();
    });
}

BOOST_AUTO_TEST_CASE(with_lock_accepts_a_move_only_body) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        auto body = [value = std::make_unique<int>(5)](lease&) -> asio::awaitable<int> {
            co_return *value;
        };
        const int number = co_await with_lock(mutex(locks, "x"), std::move(body));
        BOOST_TEST(number == 5);
    });
}

BOOST_AUTO_TEST_CASE(holds_the_lock_while_the_body_runs) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        co_await with_lock(lock, [&](lease&) -> asio::awaitable<void> {
            const auto second = co_await lock.try_acquire();
            BOOST_TEST(!second.owns_lock());
        });
        const auto free = co_await lock.try_acquire();
        BOOST_TEST(free.owns_lock());
    });
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_body_is_rethrown_after_the_release) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        bool caught = false;
        try {
            co_await with_lock(mutex(locks, "x"), [](lease&) -> asio::awaitable<int> {
                co_await asio::post(asio::deferred);
                throw std::out_of_range("the body's own");
            });
        } catch (const std::out_of_range& e) {
            caught = std::string(e.what()) == "the body's own";
        }
        BOOST_TEST(caught);
        BOOST_TEST(locks.counters().released == 1U);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_lock_is_released_if_calling_the_body_throws) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        bool caught = false;
        try {
            co_await with_lock(mutex(locks, "x"), [](lease&) -> asio::awaitable<void> {
                throw std::out_of_range("no coroutine");
            });
        } catch (const std::out_of_range&) {
            caught = true;
        }
        BOOST_TEST(caught);
        BOOST_TEST(locks.counters().released == 1U);
    });
}

BOOST_AUTO_TEST_CASE(the_body_may_release_early) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        const int number = co_await with_lock(lock, [&](lease& held) -> asio::awaitable<int> {
            co_await held.release();
            const auto again = co_await lock.try_acquire();
            BOOST_TEST(again.owns_lock());
            co_return 7;
        });
        BOOST_TEST(number == 7);
    });
}

BOOST_AUTO_TEST_CASE(the_body_may_abandon_the_lease) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const mutex lock(locks, "x", with_ttl(1min));
        const int number = co_await with_lock(lock, [&](lease& held) -> asio::awaitable<int> {
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            held.abandon();
            co_return 9;
        });
        BOOST_TEST(number == 9);
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 5U);
    });
}

/// Nobody would release the lock then.
BOOST_AUTO_TEST_CASE(a_body_that_moves_its_lease_out_is_an_error, *label("fault-128")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease taken;
        const auto take = [&](lease& held) -> asio::awaitable<std::string> {
            taken = std::move(held);
            co_return "done";
        };
        const auto check = [&](auto run) -> asio::awaitable<void> {
            std::string message;
            try {
                co_await run();
            } catch (const lock_error& failed) {
                BOOST_TEST((failed.code() == errc::not_held));
                message = failed.what();
            }
            BOOST_TEST(contains(message, "moved its lease out"), message);
            BOOST_TEST(taken.valid());
            BOOST_TEST(locks.counters().held == 1U);
            const release_result released = co_await taken.release();
            BOOST_TEST((released == release_result::released));
        };
        const mutex lock(locks, "x");
        co_await check([&] { return with_lock(lock, take, asio::use_awaitable); });
        co_await check([&] { return lead(lock, take, asio::use_awaitable); });
        co_await check([&] { return once(locks, "x", take, asio::use_awaitable); });
    });
}

/// A body that gives its lease to another owner has ended it in time.
BOOST_AUTO_TEST_CASE(the_body_may_move_the_lease_and_release_it) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        const int released = co_await with_lock(lock, [](lease& held) -> asio::awaitable<int> {
            lease mine = std::move(held);
            co_await mine.release();
            co_return 8;
        });
        BOOST_TEST(released == 8);
        const int detached = co_await with_lock(lock, [](lease& held) -> asio::awaitable<int> {
            co_await held.detach();
            co_return 9;
        });
        BOOST_TEST(detached == 9);
    });
}

BOOST_AUTO_TEST_CASE(a_lost_lease_cancels_the_body) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        bool cancelled = false;
        bool valid_then = true;
        run.start(mutex(locks, "x", with_ttl(1s)), [&](lease& held) -> asio::awaitable<void> {
            instances.flush();
            try {
                co_await forever();
            } catch (const boost::system::system_error& e) {
                cancelled = e.code() == aborted;
                valid_then = held.valid();
                throw;
            }
        });
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(cancelled);
        BOOST_TEST(!valid_then);
        BOOST_TEST(run.threw_lease_lost());
        BOOST_TEST(run.code() == make_error_code(errc::lease_lost));
    });
}

/// Renewals fail on a majority. The body is cancelled before the validity ends.
BOOST_AUTO_TEST_CASE(a_majority_that_fails_cancels_the_body_in_time, *label("fault-13")) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test(most.network.config(), [&](client& locks) -> asio::awaitable<void> {
            co_await all_ready(locks);
            lease::time_point valid_until{};
            steady_clock::time_point stopped{};
            longest_pause pause;
            const auto body = [&](lease& held) -> asio::awaitable<void> {
                most.each(hurt);
                try {
                    co_await async_wait_until([&] {
                        pause.look();
                        valid_until = held.valid() ? held.valid_until() : valid_until;
                        return false;
                    });
                } catch (const boost::system::system_error& e) {
                    stopped = steady_clock::now();
                    pause.look();
                    BOOST_TEST(e.code() == aborted);
                    throw;
                }
            };
            bool lost = false;
            try {
                co_await with_lock(mutex(locks, "x", with_ttl(1s)), body);
            } catch (const lease_lost&) {
                lost = true;
            }
            BOOST_TEST(lost);
            BOOST_TEST((stopped - pause.value() < valid_until));
            most.each(heal);
            co_await settled(locks);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_lost_lease_is_reported_even_if_the_body_returns_or_throws) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        for (const bool throws : {false, true}) {
            pending run;
            run.start(mutex(locks, "x", with_ttl(500ms)), [&](lease&) -> asio::awaitable<void> {
                instances.flush();
                try {
                    co_await forever();
                } catch (const boost::system::system_error&) {
                    if (throws) {
                        throw std::out_of_range("the body's own");
                    }
                }
            });
            co_await async_wait_until([&] { return run.done; });
            BOOST_TEST(run.threw_lease_lost());
        }
    });
}

BOOST_AUTO_TEST_CASE(a_loss_detected_only_by_the_release_is_reported) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        run.start(mutex(locks, "x", with_ttl(1min)), [&](lease&) -> asio::awaitable<void> {
            instances.flush();
            co_return;
        });
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.threw_lease_lost());
    });
}

// The body holds the lock until it has ended, or until the end of the validity.
BOOST_AUTO_TEST_CASE(no_other_holder_enters_while_a_body_rolls_back) {
    lock_options limited = renewed_every(100ms, 4s);
    limited.max_hold = 1s;
    for (const lock_options& options : {without_watchdog(4s), limited}) {
        run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease::time_point promised{};
            lease::time_point left = lease::time_point::max();
            pending ours;
            ours.start(mutex(locks, "x", options), [&](lease& held) -> asio::awaitable<void> {
                struct leaving {
                    lease::time_point& when;
                    ~leaving() { when = steady_clock::now(); }
                } at_the_end{left};
                co_await asio::this_coro::throw_if_cancelled(false);
                co_await asio::this_coro::reset_cancellation_state(
                    asio::enable_total_cancellation());
                while (held.valid()) {
                    promised = held.valid_until();
                    asio::steady_timer tick(co_await asio::this_coro::executor, 1ms);
                    co_await tick.async_wait(asio::as_tuple);
                }
                co_await asio::this_coro::reset_cancellation_state();
                asio::steady_timer rolling_back(co_await asio::this_coro::executor, 20ms);
                co_await rolling_back.async_wait();
            });
            co_await async_wait_until([&] { return locks.counters().held == 1; });
            std::array<lease::time_point, 2> entered{};  // By another client, and by the same one.
            const std::array<client*, 2> rivals = {&others, &locks};
            for (std::size_t i = 0; i != rivals.size(); ++i) {
                mutex(*rivals[i], "x").acquire([&, i](error, lease l) {
                    entered[i] = steady_clock::now();
                    lease(std::move(l));
                });
            }
            co_await async_wait_until([&] {
                return ours.done && entered[0] != lease::time_point() &&
                       entered[1] != lease::time_point();
            });
            BOOST_TEST(ours.threw_lease_lost());
            for (const lease::time_point one : entered) {
                const auto early = std::chrono::duration_cast<std::chrono::microseconds>(
                    std::min(left, promised) - one);
                BOOST_TEST(early.count() <= 0);
            }
        });
    }
}

BOOST_AUTO_TEST_CASE(an_expired_lease_is_reported) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        run.start(mutex(locks, "x", without_watchdog(200ms)),
                  [&](lease&) -> asio::awaitable<void> { co_await forever(); });
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.threw_lease_lost());
        BOOST_TEST(run.code() == make_error_code(errc::lease_expired));
    });
}

BOOST_AUTO_TEST_CASE(cancellation_while_acquiring_does_not_run_the_body) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, instances.config());
        lease held = co_await mutex(other, "x").acquire();
        client locks(executor, instances.config());
        for (const auto type :
             {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
            pending run;
            bool ran = false;
            const auto contended = locks.counters().contended;
            run.start(mutex(locks, "x"), [&](lease&) -> asio::awaitable<void> {
                ran = true;
                co_return;
            });
            co_await async_wait_until([&] { return locks.counters().contended > contended; });
            run.signal.emit(type);
            co_await async_wait_until([&] { return run.done; });
            BOOST_TEST(run.code() == aborted);
            BOOST_TEST(!ran);
        }
        co_await held.release();
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(cancellation_in_the_body_awaits_the_release) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        bool inside = false;
        run.start(mutex(locks, "x"), [&](lease&) -> asio::awaitable<void> {
            inside = true;
            co_await forever();
        });
        co_await async_wait_until([&] { return inside; });
        run.signal.emit(cancellation_type::terminal);
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.code() == aborted);
        BOOST_TEST(!run.threw_lease_lost());
        BOOST_TEST(locks.counters().released == 1U);  // The release was awaited.
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_body_sets_its_own_cancellation_filter) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        bool inside = false;
        run.start(mutex(locks, "x"), [&](lease&) -> asio::awaitable<void> {
            co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
            inside = true;
            co_await forever();
        });
        co_await async_wait_until([&] { return inside; });
        run.signal.emit(cancellation_type::total);
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.code() == aborted);
    });
}

/// A body that ignores a cancellation by the caller is still cancelled on a loss.
BOOST_AUTO_TEST_CASE(a_loss_cancels_a_body_that_ignored_a_cancellation) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        for (const auto type : {cancellation_type::terminal, cancellation_type::total}) {
            pending run;
            bool inside = false;
            bool go_on = false;
            run.start(mutex(locks, "x", with_ttl(500ms)), [&](lease&) -> asio::awaitable<void> {
                co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
                inside = true;
                co_await async_wait_until([&] { return go_on; });
                co_await asio::this_coro::reset_cancellation_state(
                    asio::enable_terminal_cancellation());
                co_await forever();
            });
            co_await async_wait_until([&] { return inside; });
            run.signal.emit(type);
            co_await asio::post(asio::deferred);
            go_on = true;
            co_await asio::post(asio::deferred);
            BOOST_TEST(!run.done);
            instances.flush();
            co_await async_wait_until([&] { return run.done; });
            BOOST_TEST(run.threw_lease_lost());
        }
    });
}

BOOST_AUTO_TEST_CASE(cancellation_while_releasing_has_no_effect) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        for (const auto type : {cancellation_type::terminal, cancellation_type::total}) {
            pending run;
            run.start(mutex(locks, "x", with_ttl(1min)), [&](lease&) -> asio::awaitable<void> {
                for (const std::size_t i : {0U, 1U, 2U}) {
                    instances[i].pause();  // Delays the release.
                }
                co_return;
            });
            co_await async_wait_until([&] { return locks.counters().releasing == 1; });
            run.signal.emit(type);
            for (const std::size_t i : {0U, 1U, 2U}) {
                instances[i].resume();
            }
            co_await async_wait_until([&] { return run.done; });
            BOOST_TEST(run.code() == error_code());  // The body had returned.
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
        }
    });
}

BOOST_AUTO_TEST_CASE(cancellation_right_after_the_start_does_not_run_the_body) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        bool ran = false;
        run.start(mutex(locks, "x"), [&](lease&) -> asio::awaitable<void> {
            ran = true;
            co_return;
        });
        run.signal.emit(cancellation_type::terminal);
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.code() == aborted);
        BOOST_TEST(!ran);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(cancellation_at_any_moment_leaves_no_keys) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client locks(executor, instances.config());
            co_await all_ready(locks);
            std::size_t ran = 0;
            for (int i = 0; i != 400; ++i) {
                pending run;
                run.start(mutex(locks, "x", with_ttl(1min)),
                          [&](lease& held) -> asio::awaitable<void> {
                              ++ran;
                              BOOST_TEST(held.valid());
                              co_await asio::post(asio::deferred);
                              co_await held.extend(2min);
                          });
                asio::steady_timer moment(executor, std::chrono::microseconds(5 * i));
                co_await moment.async_wait();
                run.signal.emit(cancellation_type::all);
                co_await async_wait_until([&] { return run.done; });
                BOOST_TEST((run.code() == aborted || run.code() == error_code()));
            }
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(ran > 0U);
        }(),
        60s);
}

BOOST_AUTO_TEST_CASE(a_failed_release_neither_blocks_nor_fails_with_lock) {
    run_test([&]() -> asio::awaitable<void> {
        servers gone(3);
        client locks(co_await asio::this_coro::executor, gone.config());
        const stopwatch bounded;
        const int number = co_await with_lock(mutex(locks, "x", with_ttl(3s)),
                                              [&](lease&) -> asio::awaitable<int> {
                                                  for (auto& server : gone) {
                                                      server.kill();
                                                  }
                                                  co_return 9;
                                              });
        BOOST_TEST(number == 9);  // A failed release is not an error.
        BOOST_TEST((bounded.elapsed() < 5s));
    }());
}

BOOST_AUTO_TEST_CASE(a_failed_acquire_does_not_run_the_body) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const lease held = co_await mutex(locks, "x").acquire();
        lock_options once;
        once.retry.attempts = 1;
        bool ran = false;
        pending run;
        run.start(mutex(locks, "x", once), [&](lease&) -> asio::awaitable<void> {
            ran = true;
            co_return;
        });
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.code() == make_error_code(errc::contended));
        BOOST_TEST(!ran);
    });
}

BOOST_AUTO_TEST_CASE(destroying_the_client_cancels_the_body) {
    run_test([&]() -> asio::awaitable<void> {
        auto locks =
            std::make_unique<client>(co_await asio::this_coro::executor, instances.config());
        pending run;
        bool inside = false;
        run.start(mutex(*locks, "x"), [&](lease&) -> asio::awaitable<void> {
            inside = true;
            co_await forever();
        });
        co_await async_wait_until([&] { return inside; });
        locks.reset();
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.threw_lease_lost());
        BOOST_TEST(run.code() == make_error_code(errc::client_closed));
        co_await async_wait_until([&] { return instances.keys() == 0; });
    }());
}

BOOST_AUTO_TEST_CASE(concurrent_nested_calls_keep_mutual_exclusion) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        int inside = 0;
        int ran = 0;
        int done = 0;
        for (int i = 0; i != 20; ++i) {
            with_lock(
                mutex(locks, "outer"),
                [&](lease&) -> asio::awaitable<void> {
                    BOOST_TEST(++inside == 1);
                    co_await with_lock(mutex(locks, "inner"), [&](lease&) -> asio::awaitable<void> {
                        ++ran;
                        co_return;
                    });
                    --inside;
                },
                [&](std::exception_ptr e) {
                    BOOST_TEST(!e);
                    ++done;
                });
        }
        co_await async_wait_until([&] { return done == 20; }, 30s);
        BOOST_TEST(ran == 20);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

/// docs/tutorial.md recommends a named lambda, because GCC 12 destroys the captures of an unnamed one twice.
BOOST_AUTO_TEST_CASE(a_named_body_destroys_its_captures_once) {
    const auto counted = std::make_shared<int>(7);
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        auto body = [counted](lease& held) -> asio::awaitable<int> {
            co_return held.valid() ? *counted : 0;
        };
        BOOST_TEST(co_await with_lock(lock, body) == 7);
        BOOST_TEST(co_await with_lock(lock, std::move(body)) == 7);
    });
    BOOST_TEST(counted.use_count() == 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(with_lock_accepts_an_own_lock, Lock, own_locks) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const Lock lock(mutex(locks, "x"));
        for (int i = 1; i != 4; ++i) {
            const int number = co_await with_lock(lock, [&](lease& held) -> asio::awaitable<int> {
                BOOST_TEST(held.valid());
                BOOST_TEST(locks.counters().held == 1U);
                co_return 42;
            });
            BOOST_TEST(number == 42);
            BOOST_TEST(lock.acquires() == i);
            BOOST_TEST(locks.counters().released == static_cast<std::uint64_t>(i));  // Awaited.
        }
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_body_runs_on_the_body_executor_or_on_a_new_strand) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const mutex inner(locks, "x");
        const auto executor_of_body = [](lease&) -> asio::awaitable<asio::any_io_executor> {
            co_return co_await asio::this_coro::executor;
        };
        const auto own = co_await with_lock(coroutine_lock(inner), executor_of_body);
        BOOST_TEST((own == inner.body_executor()));
        co_await with_lock(counting_lock(inner), [&](lease& held) -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const auto* strand = executor.target<asio::strand<asio::any_io_executor>>();
            BOOST_TEST_REQUIRE(strand != nullptr);
            BOOST_TEST((strand->get_inner_executor() == inner.get_executor()));
            co_await held.extend(1min);
            BOOST_TEST(strand->running_in_this_thread());
        });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancellation_while_an_own_lock_acquires, Lock, own_locks) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        for (const auto type :
             {cancellation_type::terminal, cancellation_type::partial, cancellation_type::total}) {
            pending run;
            bool ran = false;
            run.start(Lock(mutex(locks, "x")), [&](lease&) -> asio::awaitable<void> {
                ran = true;
                co_return;
            });
            co_await async_wait_until([&] { return locks.counters().queued == 1; });
            run.signal.emit(type);
            co_await async_wait_until([&] { return run.done; });
            BOOST_TEST(run.code() == aborted);
            BOOST_TEST(!ran);
        }
        co_await held.release();
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancellation_in_the_body_under_an_own_lock, Lock, own_locks) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        bool inside = false;
        run.start(Lock(mutex(locks, "x")), [&](lease&) -> asio::awaitable<void> {
            inside = true;
            co_await forever();
        });
        co_await async_wait_until([&] { return inside; });
        run.signal.emit(cancellation_type::terminal);
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(run.code() == aborted);
        BOOST_TEST(!run.threw_lease_lost());
        BOOST_TEST(locks.counters().released == 1U);  // Awaited.
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_lost_lease_of_an_own_lock_cancels_the_body, Lock, own_locks) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending run;
        error_code in_body;
        run.start(Lock(mutex(locks, "x", with_ttl(1s))), [&](lease&) -> asio::awaitable<void> {
            instances.flush();
            try {
                co_await forever();
            } catch (const boost::system::system_error& e) {
                in_body = e.code();
            }
        });
        co_await async_wait_until([&] { return run.done; });
        BOOST_TEST(in_body == aborted);
        BOOST_TEST(run.threw_lease_lost());
        BOOST_TEST(run.code() == make_error_code(errc::lease_lost));
    });
}

BOOST_AUTO_TEST_CASE(an_own_lock_that_grants_nothing_does_not_run_the_body) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        bool ran = false;
        const auto body = [&](lease&) -> asio::awaitable<void> {
            ran = true;
            co_return;
        };
        pending empty;
        const auto acquire_nothing = []() -> asio::awaitable<lease> { co_return lease(); };
        empty.start(fake_lock{acquire_nothing, executor}, body);
        co_await async_wait_until([&] { return empty.done; });
        BOOST_TEST(empty.code() == make_error_code(errc::not_held));

        pending failed;
        const auto throw_own = []() -> asio::awaitable<lease> {
            co_await asio::post(asio::deferred);
            throw boost::system::system_error(asio::error::try_again);
        };
        failed.start(fake_lock{throw_own, executor}, body);
        co_await async_wait_until([&] { return failed.done; });
        BOOST_TEST(failed.code() == asio::error::try_again);
        BOOST_TEST(!ran);
    }());
}

BOOST_AUTO_TEST_CASE(with_shared_lock_accepts_an_own_lock) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const shared_mutex inner(locks, "x");
        const coroutine_lock lock(inner);
        const int read = co_await with_shared_lock(lock, [&](lease& held) -> asio::awaitable<int> {
            BOOST_TEST(held.is_shared());
            lease other = co_await inner.acquire_shared();
            BOOST_TEST(other.valid());
            co_await other.release();
            co_return 7;
        });
        BOOST_TEST(read == 7);
        BOOST_TEST(lock.acquires() == 0);  // Acquired as a writer.
        co_await with_lock(lock, [&](lease& held) -> asio::awaitable<void> {
            BOOST_TEST(!held.is_shared());
            co_return;
        });
        BOOST_TEST(lock.acquires() == 1);
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
