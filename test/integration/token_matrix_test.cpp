// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Every operation with every completion token of Asio that wraps a callback.

#include "integration/token_matrix.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_single.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/asio/redirect_error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace colock::test::matrix {
namespace {

using boost::system::error_code;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(token_matrix_test, *label("fault-111"))

BOOST_AUTO_TEST_CASE_TEMPLATE(a_move_only_callback_is_called_once, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, [receive, owned = std::make_unique<int>(7)](const auto& e,
                                                                        auto&&... results) mutable {
            BOOST_TEST(*owned == 7);
            receive(e, std::move(results)...);
        });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_over_aligned_callback_is_called_once, Operation, all_operations) {
    struct alignas(128) ballast {
        std::byte byte{};
    };
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(
            s, [receive, weight = ballast()](const auto& e, auto&&... results) mutable {
                BOOST_TEST(reinterpret_cast<std::uintptr_t>(&weight) % alignof(ballast) == 0U);
                receive(e, std::move(results)...);
            });
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(any_completion_handler, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::any_completion_handler<typename Operation::signature>(receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_tuple, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(
            s, asio::as_tuple([receive](auto all) { std::apply(receive, std::move(all)); }));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(as_single, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::experimental::as_single([receive](auto all) {
                             if constexpr (requires { std::tuple_size<decltype(all)>::value; }) {
                                 std::apply(receive, std::move(all));
                             } else {
                                 receive(all);
                             }
                         }));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(append, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::append(
                                [receive](auto... all) {
                                    auto results = std::make_tuple(std::move(all)...);
                                    constexpr std::size_t last = sizeof...(all) - 1;
                                    BOOST_TEST(std::get<last>(results) == 7);
                                    [&]<std::size_t... I>(std::index_sequence<I...>) {
                                        receive(std::move(std::get<I>(results))...);
                                    }
                                    (std::make_index_sequence<last>());
                                },
                                7));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(prepend, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::prepend(
                                [receive](int first, auto... all) {
                                    BOOST_TEST(first == 7);
                                    receive(std::move(all)...);
                                },
                                7));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(consign, Operation, all_operations) {
    const auto owned = std::make_shared<int>(7);
    expect_one_call<Operation>([&](scene& s, auto receive) {
        Operation::start(s, asio::consign(receive, owned));
        BOOST_TEST(owned.use_count() > 1);
    });
    BOOST_TEST(owned.use_count() == 1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancel_after, Operation, all_operations) {
    expect_one_call<Operation>(
        [](scene& s, auto receive) { Operation::start(s, asio::cancel_after(10s, receive)); });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancel_at, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::cancel_at(std::chrono::steady_clock::now() + 10s, receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bind_cancellation_slot, Operation, all_operations) {
    asio::cancellation_signal signal;
    expect_one_call<Operation>([&](scene& s, auto receive) {
        Operation::start(s, asio::bind_cancellation_slot(signal.slot(), receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bind_allocator, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::bind_allocator(asio::recycling_allocator<int>(), receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(bind_immediate_executor, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        Operation::start(s, asio::bind_immediate_executor(s.context.get_executor(), receive));
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(redirect_error, Operation, operations) {
    error_code stored = make_error_code(errc::no_quorum);
    expect_one_call<Operation>([&](scene& s, auto receive) {
        Operation::start(
            s,
            asio::redirect_error(
                [receive](auto... results) { receive(error(), std::move(results)...); }, stored));
    });
    BOOST_TEST(!stored, stored.message());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(deferred_as_a_token, Operation, all_operations) {
    expect_one_call<Operation>([](scene& s, auto receive) {
        auto operation = Operation::start(s, asio::deferred);
        std::move(operation)(receive);
    });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(detached, Operation, all_operations) {
    scene s(Operation::needs);
    Operation::start(s, asio::detached);
    s.run_until([&] { return s.context.poll() == 0; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test::matrix
