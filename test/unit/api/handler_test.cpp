// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A handler on its way into the library: kept in place or in memory of its own, called at most once.

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

namespace colock::detail::test {
namespace {

namespace asio = boost::asio;

/// What an allocator has given and got back.
struct account {
    std::size_t allocated = 0;
    std::size_t freed = 0;
};

template <typename T>
struct counting_allocator {
    using value_type = T;

    explicit counting_allocator(account& given) : to(&given) {}
    template <typename U>
    // NOLINTNEXTLINE(*-explicit-*)
    counting_allocator(const counting_allocator<U>& other) : to(other.to) {}

    T* allocate(std::size_t n) {
        ++to->allocated;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        ++to->freed;
        std::allocator<T>().deallocate(memory, n);
    }
    friend bool operator==(const counting_allocator& a, const counting_allocator& b) = default;

    account* to;
};

struct context {
    asio::io_context loop;
    asio::any_io_executor executor = loop.get_executor();
    delivery inside{executor, true};
};

/// A function with an allocator.
template <typename Function>
struct allocating {
    using allocator_type = counting_allocator<int>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(memory); }
    void operator()(const error& e, int n) { function(e, n); }

    account& memory;
    Function function;
};
template <typename Function>
allocating(account&, Function) -> allocating<Function>;

/// More than there is room for in place.
using ballast = std::array<std::byte, 256>;

template <typename Function>
handler<int> make(context& at, Function&& function) {
    return deliver_to(std::forward<Function>(function), at.executor);
}

BOOST_AUTO_TEST_SUITE(handler_test)

BOOST_AUTO_TEST_CASE(a_small_handler_allocates_no_memory) {
    context at;
    account memory;
    int got = 0;
    handler<int> small =
        make(at, allocating{memory, [&got](const error& /*e*/, int n) { got = n; }});
    handler<int> moved = std::move(small);
    moved(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    BOOST_TEST(memory.allocated == 0U);
}

BOOST_AUTO_TEST_CASE(a_large_handler_frees_its_memory_before_the_call) {
    context at;
    account memory;
    int got = 0;
    std::size_t freed_before = 0;
    handler<int> large =
        make(at, allocating{memory, [&, weight = ballast{}](const error& /*e*/, int n) {
                                got = n + static_cast<int>(weight[0]);
                                freed_before = memory.freed;
                            }});
    BOOST_TEST(memory.allocated == 1U);
    handler<int> moved = std::move(large);
    moved(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    BOOST_TEST(memory.allocated == 1U);
    BOOST_TEST(freed_before == 1U);
}

/// Its allocator is what it holds itself, and nothing is left of that in one that was moved from or destroyed.
BOOST_AUTO_TEST_CASE(a_large_type_erased_handler_can_be_called_or_dropped) {
    context at;
    const auto erased = [&](auto function) {
        asio::any_completion_handler<void(error, int)> inner(
            [function](const error& /*e*/, int n) { function(n); });
        // In a box, since a binder's move might throw.
        return make(at, asio::bind_executor(at.executor, std::move(inner)));
    };
    int got = 0;
    erased([&](int n) { got = n; })(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    {
        const auto dropped = erased([&](int n) { got = n; });
    }
    at.loop.run();
    BOOST_TEST(got == 7);
}

BOOST_AUTO_TEST_CASE(a_handler_receives_the_error_and_a_move_only_value) {
    context at;
    handler<std::unique_ptr<int>> waiting = deliver_to(
        [](const error& e, const std::unique_ptr<int>& n) {
            BOOST_TEST((e.code() == errc::no_quorum));
            BOOST_TEST(*n == 7);
        },
        at.executor);
    waiting(at.inside, errc::no_quorum, std::make_unique<int>(7));
}

BOOST_AUTO_TEST_CASE(a_handler_that_is_never_called_is_destroyed_once) {
    const auto owned = std::make_shared<int>();
    {
        context at;
        handler<int> small = make(at, [owned](const error& /*e*/, int /*n*/) {});
        handler<int> large =
            make(at, [owned, weight = ballast{}](const error& /*e*/, int /*n*/) { (void)weight; });
        BOOST_TEST(owned.use_count() == 3);
        handler<int> moved_small = std::move(small);
        handler<int> moved_large = std::move(large);
        BOOST_TEST(owned.use_count() == 3);
    }
    BOOST_TEST(owned.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_handler_exposes_its_cancellation_slot) {
    context at;
    asio::cancellation_signal signal;
    const auto ignore = [](const error& /*e*/, int /*n*/) {};
    const auto ignore_much = [weight = ballast{}](const error& /*e*/, int /*n*/) { (void)weight; };
    BOOST_TEST(
        (make(at, asio::bind_cancellation_slot(signal.slot(), ignore)).get_cancellation_slot() ==
         signal.slot()));
    BOOST_TEST((make(at, asio::bind_cancellation_slot(signal.slot(), ignore_much))
                    .get_cancellation_slot() == signal.slot()));
    BOOST_TEST(!make(at, ignore).get_cancellation_slot().is_connected());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::detail::test
