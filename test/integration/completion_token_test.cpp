// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

// Every operation with every kind of completion token.

namespace {

using namespace colock;
using namespace colock::test;

config in_memory() {
    config configuration = config::from_uris({"memory://a", "memory://b", "memory://c"});
    configuration.key_prefix = "completion_token_test:";
    return configuration;
}

/// The objects that an operation needs.
struct scene {
    scene(client::executor_type executor, const config& configuration, lock_options options)
        : locks(executor, configuration), lock(locks, "resource", options) {}

    client locks;
    mutex lock;
    lease held;
};

// Each operation has four members: `starts_with_lease`, the `options` of the lock, `start`, and `check`. The
// function `start` takes a token. The function `check` takes the results of the operation after the error.

struct from_a_free_lock {
    static constexpr bool starts_with_lease = false;
    static lock_options options() { return {}; }
};

struct from_a_held_lock {
    static constexpr bool starts_with_lease = true;
    static lock_options options() { return {}; }
};

struct checks_a_lease {
    static void check(const lease& result) { BOOST_TEST(result.valid()); }
};

struct acquire : from_a_free_lock, checks_a_lease {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.lock.acquire(std::forward<decltype(token)>(token));
    };
};

struct try_acquire : from_a_free_lock, checks_a_lease {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.lock.try_acquire(std::forward<decltype(token)>(token));
    };
};

struct try_acquire_for : from_a_free_lock, checks_a_lease {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.lock.try_acquire_for(10s, std::forward<decltype(token)>(token));
    };
};

struct try_acquire_until : from_a_free_lock, checks_a_lease {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.lock.try_acquire_until(steady_clock::now() + 10s,
                                        std::forward<decltype(token)>(token));
    };
};

struct extend : from_a_held_lock {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.held.extend(20s, std::forward<decltype(token)>(token));
    };
    static void check() {}
};

struct release : from_a_held_lock {
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.held.release(std::forward<decltype(token)>(token));
    };
    static void check(release_result result) { BOOST_TEST((result == release_result::released)); }
};

struct wait_lost : from_a_held_lock {
    static lock_options options() {
        lock_options options;
        options.max_hold = 20ms;
        return options;
    }
    static constexpr auto start = [](scene& s, auto&& token) {
        return s.held.wait_lost(std::forward<decltype(token)>(token));
    };
    static void check() {}
};

struct close : from_a_held_lock {
    static constexpr auto start = [](scene& s, auto&& token) {
        // Closing waits for this release.
        s.held.wait_lost([&s](const error&) { s.held = lease(); });
        return s.locks.close(std::forward<decltype(token)>(token));
    };
    static void check() {}
};

struct with_lock : from_a_free_lock {
    static constexpr auto start = [](scene& s, auto&& token) {
        return colock::with_lock(
            s.lock, [](lease& held) -> asio::awaitable<int> { co_return held.valid() ? 42 : 0; },
            std::forward<decltype(token)>(token));
    };
    static void check(int result) { BOOST_TEST(result == 42); }
};

/// The operations whose handlers take a `colock::error` first.
using operations = std::tuple<acquire, try_acquire, try_acquire_for, try_acquire_until, extend,
                              release, wait_lost, close>;
using all_operations = std::tuple<acquire, try_acquire, try_acquire_for, try_acquire_until, extend,
                                  release, wait_lost, close, with_lock>;

/// Prepares an operation and runs `test(scene)`.
template <typename Operation, typename Test>
void on_scene(Test test, const config& configuration = in_memory()) {
    run_test([&]() -> asio::awaitable<void> {
        scene s(co_await asio::this_coro::executor, configuration, Operation::options());
        if (Operation::starts_with_lease) {
            s.held = co_await s.lock.acquire();
        }
        co_await test(s);
        s.held = lease();  // Closing waits for this release.
        co_await s.locks.close();
    }());
}

/// Starts the operation with a token that makes it awaitable, and checks the result.
template <typename Operation, typename Token>
asio::awaitable<void> await_and_check(scene& s, Token token) {
    using awaited = decltype(Operation::start(s, token));
    if constexpr (std::is_same_v<awaited, asio::awaitable<void>>) {
        co_await Operation::start(s, token);
        Operation::check();
    } else {
        Operation::check(co_await Operation::start(s, token));
    }
}

BOOST_AUTO_TEST_SUITE(completion_token_test)

BOOST_AUTO_TEST_CASE_TEMPLATE(operations_are_deferred_by_default, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        // A bare as_tuple adapts the default token, so this tests co_await operation().
        auto result = co_await Operation::start(s, asio::as_tuple);
        BOOST_TEST(!std::get<0>(result));
    });
}

BOOST_AUTO_TEST_CASE(operations_can_be_awaited_without_a_token) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory());
        mutex lock(locks, "resource");
        lease held = co_await lock.acquire();
        lease second = co_await lock.try_acquire();
        BOOST_TEST((second.get_executor() == lock.get_executor()));
        BOOST_TEST(!second.owns_lock());
        second = co_await lock.try_acquire_for(1ms);
        BOOST_TEST(!second.owns_lock());
        second = co_await lock.try_acquire_until(steady_clock::now() + 1ms);
        BOOST_TEST(!second.owns_lock());
        co_await held.extend(20s);
        const release_result released = co_await held.release();
        BOOST_TEST((released == release_result::released));
        const int value =
            co_await colock::with_lock(lock, [](lease&) -> asio::awaitable<int> { co_return 42; });
        BOOST_TEST(value == 42);
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_awaitable, Operation, all_operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        co_await await_and_check<Operation>(s, asio::use_awaitable);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancel_after_does_not_fire_before_its_timeout, Operation,
                              all_operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        co_await await_and_check<Operation>(s, asio::cancel_after(1min, asio::use_awaitable));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_tuple, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        auto result = co_await Operation::start(s, asio::as_tuple(asio::use_awaitable));
        std::apply(
            [](const error& e, const auto&... results) {
                BOOST_TEST(!e, e.message());
                Operation::check(results...);
            },
            result);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(callback_with_error, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        bool done = false;
        Operation::start(s, [&](error e, auto... results) {
            BOOST_TEST(!e, e.message());
            Operation::check(results...);
            done = true;
        });
        BOOST_TEST(!done);  // Handlers are never called inside the initiating call.
        co_await async_wait_until([&] { return done; });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(callback_with_error_code, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        bool done = false;
        Operation::start(s, [&](error_code e, const auto&... results) {
            BOOST_TEST(!e, e.message());
            Operation::check(results...);
            done = true;
        });
        co_await async_wait_until([&] { return done; });
    });
}

BOOST_AUTO_TEST_CASE(with_lock_accepts_a_callback) {
    on_scene<with_lock>([](scene& s) -> asio::awaitable<void> {
        bool done = false;
        with_lock::start(s, [&](std::exception_ptr thrown, int result) {
            BOOST_TEST(!thrown);
            with_lock::check(result);
            done = true;
        });
        BOOST_TEST(!done);
        co_await async_wait_until([&] { return done; });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_future, Operation, all_operations) {
    config configuration = in_memory();
    configuration.thread_safe = true;  // The operation starts here and runs on the other thread.
    asio::io_context context;
    std::optional<std::jthread> runner;
    std::optional<scene> s(std::in_place, context.get_executor(), configuration,
                           Operation::options());
    runner.emplace([&] { context.run(); });
    if (Operation::starts_with_lease) {
        s->held = s->lock.acquire(asio::use_future).get();
    }
    auto future = Operation::start(*s, asio::use_future);
    BOOST_TEST_REQUIRE((future.wait_for(10s) == std::future_status::ready));
    if constexpr (std::is_same_v<decltype(future), std::future<void>>) {
        future.get();
        Operation::check();
    } else {
        Operation::check(future.get());
    }
    s.reset();  // The context then runs out of work.
}

/// The handler runs on its associated executor. The pending operation keeps the executor's context at work,
/// but only until the handler has run.
BOOST_AUTO_TEST_CASE_TEMPLATE(bind_executor, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        asio::io_context other;
        bool done = false;
        Operation::start(s,
                         asio::bind_executor(other.get_executor(), [&](error e, auto... results) {
                             BOOST_TEST(other.get_executor().running_in_this_thread());
                             BOOST_TEST(!e, e.message());
                             Operation::check(results...);
                             done = true;
                         }));
        co_await async_wait_until([&] {
            BOOST_TEST(!done);
            const bool other_has_work = other.poll_one() != 0;
            BOOST_TEST((other_has_work || !other.stopped()));
            return other_has_work;
        });
        BOOST_TEST(done);
        other.poll();
        BOOST_TEST(other.stopped());
    });
}

/// A thread of the other context waits for the handler. The result is destroyed on that thread.
BOOST_AUTO_TEST_CASE_TEMPLATE(bind_executor_with_a_thread, Operation, operations) {
    config configuration = in_memory();
    configuration.thread_safe = true;
    const auto test = [](scene& s) -> asio::awaitable<void> {
        asio::io_context other;
        std::promise<std::thread::id> handled_by;
        Operation::start(s, asio::bind_executor(other.get_executor(), [&](error, auto...) {
                             handled_by.set_value(std::this_thread::get_id());
                         }));
        std::jthread runner([&] { other.run(); });
        auto future = handled_by.get_future();
        co_await async_wait_until([&] { return future.wait_for(0s) == std::future_status::ready; });
        BOOST_TEST((future.get() == runner.get_id()));
    };
    on_scene<Operation>(test, configuration);
}

/// A finished operation does not keep the other context at work, even though its lease still exists.
BOOST_AUTO_TEST_CASE(a_cancelled_wait_releases_its_executor) {
    on_scene<extend>([](scene& s) -> asio::awaitable<void> {
        asio::io_context other;
        asio::cancellation_signal signal;
        error result;
        s.held.wait_lost(asio::bind_executor(
            other.get_executor(),
            asio::bind_cancellation_slot(signal.slot(), [&](error e) { result = e; })));
        other.poll();
        BOOST_TEST(!other.stopped());
        signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return other.poll() != 0; });
        BOOST_TEST((result == aborted));
        co_await async_wait_until([&] {
            other.poll();
            return other.stopped();
        });
        BOOST_TEST(s.held.valid());
    });
}

/// Counts the live allocations.
template <typename T>
struct counting_allocator {
    using value_type = T;
    struct numbers {
        std::size_t allocations = 0;
        std::size_t live = 0;
    };
    std::shared_ptr<numbers> count = std::make_shared<numbers>();

    counting_allocator() = default;
    template <typename U>
    counting_allocator(const counting_allocator<U>& other)  // NOLINT(*-explicit-*)
        : count(std::reinterpret_pointer_cast<numbers>(other.count)) {}
    T* allocate(std::size_t n) {
        ++count->allocations;
        ++count->live;
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        --count->live;
        std::allocator<T>{}.deallocate(p, n);
    }
    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

/// The memory of the handler comes from its associated allocator and is freed before the handler runs.
BOOST_AUTO_TEST_CASE_TEMPLATE(bind_allocator, Operation, operations) {
    on_scene<Operation>([](scene& s) -> asio::awaitable<void> {
        const counting_allocator<std::byte> allocator;
        bool done = false;
        Operation::start(s, asio::bind_allocator(allocator, [&](error, auto...) {
                             BOOST_TEST(allocator.count->live == 0U);
                             done = true;
                         }));
        BOOST_TEST(allocator.count->allocations != 0U);
        co_await async_wait_until([&] { return done; });
    });
}

BOOST_AUTO_TEST_CASE(exceptions_report_the_resource_and_all_votes) {
    run_test([]() -> asio::awaitable<void> {
        config configuration = in_memory();
        configuration.instances.push_back("redis://127.0.0.1:1");
        client locks(co_await asio::this_coro::executor, configuration);
        client other(co_await asio::this_coro::executor, configuration);
        const lease held = co_await mutex(other, "my resource").acquire();

        lock_options once;
        once.retry.attempts = 1;
        mutex impatient(locks, "my resource", once);
        try {
            co_await impatient.acquire(asio::use_awaitable);
            BOOST_ERROR("it was held");
        } catch (const lock_error& e) {
            const std::string text = e.what();
            BOOST_TEST((e.code() == condition::contended));
            for (const std::string part : {"my resource", "memory://a: denied",
                                           "memory://b: denied", "redis://127.0.0.1:1"}) {
                BOOST_TEST(text.find(part) != std::string::npos, text << " lacks " << part);
            }
        }
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(failures_reach_every_completion_token) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory());
        mutex lock(locks, "resource");
        co_await locks.close();
        const auto [e, nothing] = co_await lock.acquire(asio::as_tuple);
        BOOST_TEST((e == errc::client_closed));
        BOOST_TEST(!nothing.valid());
        BOOST_CHECK_THROW(co_await lock.try_acquire(), lock_error);
        BOOST_CHECK_THROW(co_await lock.acquire(asio::use_awaitable), lock_error);
        int calls = 0;
        lock.acquire([&](error failure, lease) { calls += failure ? 1 : 0; });
        lock.acquire([&](error_code failure, lease) { calls += failure ? 1 : 0; });
        BOOST_TEST(calls == 0);
        co_await async_wait_until([&] { return calls == 2; });
    }());
}

BOOST_AUTO_TEST_CASE(operations_on_an_empty_lease_fail_with_not_held) {
    run_test([]() -> asio::awaitable<void> {
        lease nothing;
        const auto [extend_error] = co_await nothing.extend(1s, asio::as_tuple);
        BOOST_TEST((extend_error == errc::not_held));
        const auto [release_error, result] = co_await nothing.release(asio::as_tuple);
        BOOST_TEST((release_error == errc::not_held));
        const auto [wait_error] = co_await nothing.wait_lost(asio::as_tuple);
        BOOST_TEST((wait_error == errc::not_held));
    }());
}

BOOST_FIXTURE_TEST_CASE(all_operations_work_on_real_servers, shared_servers<3>) {
    const auto test_all =
        [&]<typename... Operations>(std::type_identity<std::tuple<Operations...>>) {
            (on_scene<Operations>(
                 [](scene& s) -> asio::awaitable<void> {
                     co_await await_and_check<Operations>(s, asio::use_awaitable);
                     s.held = lease();
                     co_await settled(s.locks);
                 },
                 instances.config()),
             ...);
        };
    test_all(std::type_identity<all_operations>{});
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
