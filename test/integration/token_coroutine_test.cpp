// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Operations with every completion token of Asio that returns an awaitable or a future, alone and in groups.

#include "integration/token_matrix.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_coro.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <cstddef>
#include <future>
#include <utility>
#include <vector>

namespace colock::test::matrix {
namespace {

using boost::system::error_code;
using boost::unit_test::label;

/// Runs a coroutine with a scene to its end.
template <typename Operation, typename Body>
void in_coroutine(Body body) {
    scene s(Operation::needs);
    std::atomic<bool> done{false};
    asio::co_spawn(s.context, body(s), [&](const std::exception_ptr& failure) {
        done = true;
        BOOST_CHECK_NO_THROW(if (failure) std::rethrow_exception(failure));
    });
    s.run_until([&] { return done.load(); });
}

template <typename Operation, typename Awaitable>
asio::awaitable<void> await_and_check(Awaitable awaitable) {
    if constexpr (Operation::gives_nothing) {
        co_await std::move(awaitable);
    } else {
        Operation::check(co_await std::move(awaitable));
    }
}

BOOST_AUTO_TEST_SUITE(token_coroutine_test, *label("fault-111"))

BOOST_AUTO_TEST_CASE_TEMPLATE(use_awaitable, Operation, all_operations) {
    in_coroutine<Operation>([](scene& s) {
        return await_and_check<Operation>(Operation::start(s, asio::use_awaitable));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(deferred, Operation, one_of_each_signature) {
    in_coroutine<Operation>(
        [](scene& s) { return await_and_check<Operation>(Operation::start(s, asio::deferred)); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(partial_cancel_after, Operation, one_of_each_signature) {
    in_coroutine<Operation>([](scene& s) -> asio::awaitable<void> {
        if constexpr (Operation::gives_nothing) {
            co_await Operation::start(s, asio::cancel_after(10s));
        } else {
            Operation::check(co_await Operation::start(s, asio::cancel_after(10s)));
        }
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_tuple_of_use_awaitable, Operation, one_of_each_signature) {
    in_coroutine<Operation>([](scene& s) -> asio::awaitable<void> {
        auto all = co_await Operation::start(s, asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!std::get<0>(all));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(redirect_error_of_use_awaitable, Operation, operations) {
    in_coroutine<Operation>([](scene& s) -> asio::awaitable<void> {
        error_code stored = make_error_code(errc::no_quorum);
        co_await await_and_check<Operation>(
            Operation::start(s, asio::redirect_error(asio::use_awaitable, stored)));
        BOOST_TEST(!stored, stored.message());
    });
}

/// Both orders. test/package/diagnostics compiles each adapter inside each other.
BOOST_AUTO_TEST_CASE_TEMPLATE(redirect_error_and_cancel_after, Operation, one_of_each_signature) {
    in_coroutine<Operation>([](scene& s) {
        static error_code stored;
        stored = asio::error::eof;
        return await_and_check<Operation>(Operation::start(
            s, asio::redirect_error(asio::cancel_after(10s, asio::use_awaitable), stored)));
    });
    in_coroutine<Operation>([](scene& s) {
        static error_code stored;
        stored = asio::error::eof;
        return await_and_check<Operation>(Operation::start(
            s, asio::cancel_after(10s, asio::redirect_error(asio::use_awaitable, stored))));
    });
}

BOOST_AUTO_TEST_CASE(redirect_error_stores_an_error_and_does_not_throw) {
    in_coroutine<acquires>([](scene& s) -> asio::awaitable<void> {
        lease nothing;
        error_code stored;
        co_await nothing.extend(1s, asio::redirect_error(stored));
        BOOST_TEST((stored == errc::not_held));
        stored.clear();
        co_await nothing.release(asio::redirect_error(asio::use_awaitable, stored));
        BOOST_TEST((stored == errc::not_held));
        const auto token = asio::redirect_error(asio::use_awaitable, stored);
        co_await s.locks.close();
        const lease none = co_await s.lock.acquire(token);
        BOOST_TEST((stored == errc::client_closed));
        BOOST_TEST(!none.valid());
    });
}

template <typename Operation>
asio::experimental::coro<void> coroutine_of_asio(asio::any_io_executor /*executor*/, scene& s) {
    if constexpr (Operation::gives_nothing) {
        co_await Operation::start(s, asio::experimental::use_coro);
    } else {
        Operation::check(co_await Operation::start(s, asio::experimental::use_coro));
    }
}

template <typename Coroutine>
void run_coroutine_of_asio(scene& s, Coroutine coroutine, const error_code& expected = {}) {
    std::exception_ptr failure;
    std::atomic<bool> done{false};
    coroutine.async_resume([&](const std::exception_ptr& thrown) {
        failure = thrown;
        done = true;
    });
    s.run_until([&] { return done.load(); });
    error_code code;
    try {
        if (failure) {
            std::rethrow_exception(failure);
        }
    } catch (const boost::system::system_error& e) {
        code = e.code();
    }
    BOOST_TEST(code == expected);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_coro, Operation, all_operations) {
    scene s(Operation::needs);
    run_coroutine_of_asio(s, coroutine_of_asio<Operation>(s.context.get_executor(), s));
}

BOOST_AUTO_TEST_CASE(use_coro_throws) {
    scene s({.lease = true});
    bool released = false;
    s.held.release([&](const error& /*e*/, release_result /*result*/) { released = true; });
    s.run_until([&] { return released; });
    run_coroutine_of_asio(s, coroutine_of_asio<extends>(s.context.get_executor(), s),
                          make_error_code(errc::not_held));
    s.locks.close([](const error& /*e*/) {});
    run_coroutine_of_asio(s, coroutine_of_asio<acquires>(s.context.get_executor(), s),
                          make_error_code(errc::client_closed));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_promise, Operation, one_of_each_signature) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        auto promise = Operation::start(s, asio::experimental::use_promise);
        s.run_until([&] { return promise.completed(); });
        asio::post(s.context, [&s, receive, moved = std::move(promise)]() mutable {
            std::move(moved)(receive);
        });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_future, Operation, one_of_each_signature) {
    scene s(Operation::needs);
    auto future = Operation::start(s, asio::use_future);
    s.run_until([&] { return future.wait_for(0s) == std::future_status::ready; });
    if constexpr (Operation::gives_nothing) {
        future.get();
    } else {
        Operation::check(future.get());
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(parallel_group, Operation, one_of_each_signature) {
    scene s(Operation::needs);
    asio::steady_timer timer(s.context, 10s);
    std::atomic<bool> done{false};
    asio::experimental::make_parallel_group(Operation::start(s, asio::deferred),
                                            timer.async_wait(asio::deferred))
        .async_wait(asio::experimental::wait_for_one(),
                    [&](std::array<std::size_t, 2> order, const auto& failure, auto...) {
                        BOOST_TEST(order[0] == 0U);
                        BOOST_TEST(!failure);
                        done = true;
                    });
    s.run_until([&] { return done.load(); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranged_parallel_group, Operation, one_of_each_signature) {
    scene s(Operation::needs);
    std::vector<decltype(Operation::start(s, asio::deferred))> all;
    all.push_back(Operation::start(s, asio::deferred));
    std::atomic<bool> done{false};
    asio::experimental::make_parallel_group(std::move(all))
        .async_wait(asio::experimental::wait_for_all(),
                    [&](const std::vector<std::size_t>& order, const auto& failures, auto...) {
                        BOOST_TEST(order.size() == 1U);
                        BOOST_TEST(!failures.front());
                        done = true;
                    });
    s.run_until([&] { return done.load(); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test::matrix
