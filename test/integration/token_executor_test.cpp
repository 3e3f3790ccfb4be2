// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Every operation with clients and handlers on every kind of executor.

#include "integration/token_matrix.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#if __has_include(<boost/asio/inline_executor.hpp>)  // Missing in the oldest supported Boost.
#include <boost/asio/inline_executor.hpp>
#define COLOCK_HAS_INLINE_EXECUTOR
#endif

#include <atomic>
#include <optional>
#include <utility>

namespace colock::test::matrix {
namespace {

using boost::unit_test::label;

/// If `executor` has threads, the client must be thread-safe, because results are destroyed on those threads.
template <typename Operation, typename Executor>
void with_handler_on(const Executor& executor) {
    std::atomic<int> calls{0};
    scene s(Operation::needs, std::nullopt, true);
    Operation::start(s, asio::bind_executor(executor, receiver<Operation>(calls)));
    s.run_until([&] { return calls != 0; });
    BOOST_TEST(calls == 1);
}

template <typename Operation>
void with_client_on(const asio::any_io_executor& executor) {
    std::atomic<int> calls{0};
    scene s(Operation::needs, executor, true);
    Operation::start(s, receiver<Operation>(calls));
    s.run_until([&] { return calls != 0; });
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE(token_executor_test, *label("fault-111"))

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_the_context_of_the_client_is_called_once, Operation,
                              one_of_each_signature) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::bind_executor(s.context.get_executor(), receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_a_strand_is_called_once, Operation,
                              one_of_each_signature) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::bind_executor(asio::make_strand(s.context), receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_any_io_executor_is_called_once, Operation,
                              one_of_each_signature) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        const asio::any_io_executor strand = asio::make_strand(s.context);
        Operation::start(s, asio::bind_executor(strand, receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_a_thread_pool_is_called_once, Operation,
                              all_operations) {
    asio::thread_pool pool(1);
    with_handler_on<Operation>(pool.get_executor());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_the_system_executor_is_called_once, Operation,
                              one_of_each_signature) {
    with_handler_on<Operation>(asio::system_executor());
}

#if defined(COLOCK_HAS_INLINE_EXECUTOR)
BOOST_AUTO_TEST_CASE_TEMPLATE(a_handler_on_an_inline_executor_is_called_once, Operation,
                              all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::bind_executor(asio::inline_executor(), receive));
    });
    with_handler_on<Operation>(asio::inline_executor());
}

/// The executor runs functions in place. Nevertheless, no handler runs inside the initiating function.
BOOST_AUTO_TEST_CASE(an_inline_handler_never_runs_inside_the_initiation) {
    scene s({});
    lease held = [&] {
        std::optional<lease> granted;
        s.lock.acquire([&](const error& /*e*/, lease l) { granted = std::move(l); });
        s.run_until([&] { return granted.has_value(); });
        return std::move(*granted);
    }();
    int calls = 0;
    s.shared.share(held, asio::bind_executor(asio::inline_executor(),
                                             [&](const error& e, const lease& /*none*/) {
                                                 BOOST_TEST((e == errc::wrong_lease));
                                                 ++calls;
                                             }));
    BOOST_TEST(calls == 0);
    s.run_until([&] { return calls != 0; });
    BOOST_TEST(calls == 1);
}
#endif

BOOST_AUTO_TEST_CASE_TEMPLATE(a_client_on_a_strand_calls_each_handler_once, Operation,
                              all_operations) {
    asio::thread_pool pool(2);
    with_client_on<Operation>(asio::make_strand(pool));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_client_on_a_thread_pool_calls_each_handler_once, Operation,
                              all_operations) {
    asio::thread_pool pool(2);
    with_client_on<Operation>(pool.get_executor());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_client_on_the_system_executor_calls_each_handler_once, Operation,
                              all_operations) {
    with_client_on<Operation>(asio::system_executor());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test::matrix
