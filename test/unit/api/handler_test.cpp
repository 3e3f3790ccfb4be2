// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A handler in the library: it is stored in memory of its own allocator, and called at most once.

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

namespace colock::detail::test {
namespace {

namespace asio = boost::asio;

/// Counts the allocations and deallocations of an allocator.
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

/// Owns the state of its allocator. A coroutine that waits for the call does the same.
struct owning {
    using allocator_type = counting_allocator<int>;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(*memory); }
    void operator()(const error& /*e*/, int n) { *got = n; }

    std::unique_ptr<account> memory;
    int* got;
};

/// Throws during the last of the allowed moves.
class fragile {
public:
    using allocator_type = counting_allocator<int>;

    fragile(account& memory, int& moves, std::shared_ptr<int> owned)
        : memory_(&memory), moves_(&moves), owned_(std::move(owned)) {}
    fragile(fragile&& other)  // NOLINT(*-noexcept-move*)
        : memory_(other.memory_), moves_(other.moves_), owned_(other.owned_) {
        if (--*moves_ == 0) {
            throw std::runtime_error("moved too often");
        }
    }
    fragile& operator=(fragile&&) = delete;
    ~fragile() = default;

    [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(*memory_); }
    void operator()(const error& /*e*/, int n) { *owned_ = n; }

private:
    account* memory_;
    int* moves_;
    std::shared_ptr<int> owned_;
};

template <typename Function>
handler<int> make(context& at, Function&& function) {
    return deliver_to(std::forward<Function>(function), at.executor);
}

BOOST_AUTO_TEST_SUITE(handler_test)

BOOST_AUTO_TEST_CASE(a_handler_is_kept_in_memory_of_its_allocator_which_is_freed_before_the_call) {
    context at;
    account memory;
    int got = 0;
    std::size_t freed_before = 0;
    handler<int> waiting = make(at, allocating{memory, [&](const error& /*e*/, int n) {
                                                   got = n;
                                                   freed_before = memory.freed;
                                               }});
    BOOST_TEST(memory.allocated == 1U);
    handler<int> moved = std::move(waiting);
    moved(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    BOOST_TEST(memory.allocated == 1U);
    BOOST_TEST(freed_before == 1U);
}

BOOST_AUTO_TEST_CASE(a_handler_that_owns_the_resource_of_its_allocator_can_be_called_or_dropped) {
    context at;
    int got = 0;
    handler<int> called = make(at, owning{std::make_unique<account>(), &got});
    called(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    { const handler<int> dropped = make(at, owning{std::make_unique<account>(), &got}); }
    BOOST_TEST(got == 7);
}

/// The allocator of an `any_completion_handler` refers to the handler inside it.
BOOST_AUTO_TEST_CASE(a_type_erased_handler_can_be_called_or_dropped) {
    context at;
    account memory;
    int got = 0;
    const auto erased = [&] {
        return asio::any_completion_handler<void(error, int)>(
            allocating{memory, [&](const error& /*e*/, int n) { got = n; }});
    };
    handler<int> called = make(at, asio::bind_executor(at.executor, erased()));
    called(at.inside, {}, 7);
    BOOST_TEST(got == 7);
    { const handler<int> dropped = make(at, erased()); }
    BOOST_TEST(got == 7);
    BOOST_TEST(memory.allocated == 4U);
    BOOST_TEST(memory.freed == 4U);
}

BOOST_AUTO_TEST_CASE(a_handler_whose_move_throws_is_destroyed_and_its_memory_freed) {
    context at;
    account memory;
    const auto owned = std::make_shared<int>();
    int failures = 0;
    for (bool called = false; !called;) {
        int moves = failures + 1;
        try {
            handler<int> waiting = make(at, fragile(memory, moves, owned));
            waiting(at.inside, {}, 7);
            called = true;
        } catch (const std::runtime_error&) {
            ++failures;
        }
        BOOST_TEST(memory.allocated == memory.freed);
        BOOST_TEST(owned.use_count() == 1);
    }
    BOOST_TEST(failures > 2);  // On the way in, into the memory, and out of the memory.
    BOOST_TEST(memory.allocated > 1U);
    BOOST_TEST(*owned == 7);
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
        handler<int> waiting = make(at, [owned](const error& /*e*/, int /*n*/) {});
        BOOST_TEST(owned.use_count() == 2);
        const handler<int> moved = std::move(waiting);
        BOOST_TEST(owned.use_count() == 2);
    }
    BOOST_TEST(owned.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_handler_is_cancelled_through_its_callers_slot) {
    context at;
    asio::cancellation_signal signal;
    const auto ignore = [](const error& /*e*/, int /*n*/) {};
    const handler<int> waiting = make(at, asio::bind_cancellation_slot(signal.slot(), ignore));
    asio::cancellation_slot slot = waiting.get_cancellation_slot();
    BOOST_TEST_REQUIRE(slot.is_connected());
    for (const auto type : {asio::cancellation_type::total, asio::cancellation_type::partial,
                            asio::cancellation_type::terminal}) {
        auto got = asio::cancellation_type::none;
        slot.assign([&got](asio::cancellation_type emitted) { got = emitted; });
        signal.emit(type);
        BOOST_TEST((got == type));
    }
    BOOST_TEST(!make(at, ignore).get_cancellation_slot().is_connected());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::detail::test
