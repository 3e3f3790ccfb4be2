// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_HANDLERS_HPP
#define COLOCK_DETAIL_HANDLERS_HPP

// How an operation crosses from a header, where the caller's handler has a type, into the library,
// where it has none.

#include <colock/detail/asio_settings.hpp>
#include <colock/detail/tokens.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/require.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace colock {

class lease;  // NOLINT(*-forward-declaration-namespace): not that of the core
enum class release_result;

namespace runtime {

class asio_host;
class lease_state;
struct lock_spec;
struct shared_parts;

}  // namespace runtime

namespace detail {

void* allocate_block(std::size_t size);
void deallocate_block(void* memory, std::size_t size) noexcept;

/// For handlers that bring no allocator: memory that is used again for the next ones.
template <typename T>
class handler_allocator {
public:
    using value_type = T;

    handler_allocator() noexcept = default;
    template <typename U>
    // NOLINTNEXTLINE(*-explicit-*)
    handler_allocator(const handler_allocator<U>& /*other*/) noexcept {}

    T* allocate(std::size_t n) {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            return std::allocator<T>().allocate(n);
        } else {
            return static_cast<T*>(allocate_block(n * sizeof(T)));
        }
    }
    void deallocate(T* memory, std::size_t n) noexcept {
        if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
            std::allocator<T>().deallocate(memory, n);
        } else {
            deallocate_block(memory, n * sizeof(T));
        }
    }

    friend bool operator==(const handler_allocator& /*a*/,
                           const handler_allocator& /*b*/) noexcept {
        return true;
    }
};

/// Where the library is when it has a result.
struct delivery {
    const boost::asio::any_io_executor& executor;  ///< the client's
    bool inside;                                   ///< running on it, so that a handler may run now
};

/// A handler on the caller's side: keeps its executor at work, and runs on it. As for Asio's own
/// operations, one whose executor is the operation's own costs neither a guard nor a dispatch.
template <typename Handler>
class delivering_handler {
public:
    using allocator_type =
        boost::asio::associated_allocator_t<Handler, handler_allocator<std::byte>>;
    using cancellation_slot_type = boost::asio::associated_cancellation_slot_t<Handler>;

    delivering_handler(Handler&& handler, const boost::asio::any_io_executor& own)
        : handler_(std::move(handler)) {
        if (const executor_type executor = boost::asio::get_associated_executor(handler_, own);
            !is_own(executor, own)) {
            foreign_ = std::make_unique<work_guard>(executor);
        }
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept {
        return boost::asio::get_associated_allocator(handler_, handler_allocator<std::byte>());
    }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
        return boost::asio::get_associated_cancellation_slot(handler_);
    }

    template <typename... Results>
    void operator()(delivery where, error e, Results... results) {
        if (!foreign_ && where.inside) {
            std::move(handler_)(std::move(e), std::move(results)...);
            return;
        }
        const auto work = std::move(foreign_);
        auto call = boost::asio::append(std::move(handler_), std::move(e), std::move(results)...);
        if constexpr (can_post) {
            if (work && !where.inside) {
                boost::asio::post(work->get_executor(), std::move(call));
                return;
            }
        }
        if (work && where.inside) {
            boost::asio::dispatch(work->get_executor(), std::move(call));
        } else {
            boost::asio::post(where.executor, std::move(call));  // and runs on its own from there
        }
    }

private:
    using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;
    using work_guard = boost::asio::executor_work_guard<executor_type>;

    /// Not if it runs what it is given in place, as an `inline_executor` does.
    static constexpr bool can_post =
        !boost::asio::execution::is_executor<executor_type>::value ||
        boost::asio::can_require<executor_type, boost::asio::execution::blocking_t::never_t>::value;

    static bool is_own(const executor_type& executor, const boost::asio::any_io_executor& own) {
        if constexpr (std::is_convertible_v<executor_type, boost::asio::any_io_executor>) {
            return own == executor;
        } else {
            return false;
        }
    }

    Handler handler_;
    std::unique_ptr<work_guard> foreign_;
};

/// A handler that cannot be kept in place, in memory of its own allocator.
template <typename Handler>
class boxed_handler {
public:
    explicit boxed_handler(Handler&& target) : target_(make(std::move(target))) {}

    [[nodiscard]] auto get_cancellation_slot() const noexcept {
        return target_->get_cancellation_slot();
    }

    template <typename... Arguments>
    void operator()(Arguments&&... arguments) {
        Handler target = unbox(target_.release());  // so that what it starts may use the memory
        target(std::forward<Arguments>(arguments)...);
    }

private:
    using allocator = typename std::allocator_traits<
        typename Handler::allocator_type>::template rebind_alloc<Handler>;
    using traits = std::allocator_traits<allocator>;

    struct deleter {
        void operator()(Handler* target) const noexcept { unbox(target); }
    };

    /// Frees the memory. Its allocator may be part of the handler (as that of an `any_completion_handler` is), so
    /// it is asked of a handler that lives, and has not been moved from.
    static Handler unbox(Handler* target) {
        Handler result = std::move(*target);
        allocator memory(result.get_allocator());
        traits::destroy(memory, target);
        traits::deallocate(memory, target, 1);
        return result;
    }

    static Handler* make(Handler&& target) {
        allocator memory(target.get_allocator());
        Handler* const place = traits::allocate(memory, 1);
        try {
            traits::construct(memory, place, std::move(target));
        } catch (...) {
            traits::deallocate(memory, place, 1);
            throw;
        }
        return place;
    }

    std::unique_ptr<Handler, deleter> target_;
};

/// A handler of any type, on the library's side of the border; to be called once, or dropped. It is kept in
/// place if it is small and moves without throwing, as that of a coroutine does: a few pointers.
template <typename... Results>
class handler {
public:
    template <typename Handler>
    handler(delivering_handler<Handler>&& target) {  // NOLINT(*-explicit-*)
        using in_place = delivering_handler<Handler>;
        constexpr bool is_small = sizeof(in_place) <= room;
        constexpr bool is_aligned = alignof(in_place) <= alignment;
        if constexpr (is_small && is_aligned && std::is_nothrow_move_constructible_v<in_place>) {
            hold(std::move(target));
        } else {
            hold(boxed_handler<in_place>(std::move(target)));
        }
    }
    handler(handler&& other) noexcept : actions_(std::exchange(other.actions_, nullptr)) {
        if (actions_ != nullptr) {
            actions_->move(other.memory_.data(), memory_.data());
        }
    }
    handler& operator=(handler&&) = delete;
    ~handler() {
        if (actions_ != nullptr) {
            actions_->destroy(memory_.data());
        }
    }

    void operator()(delivery where, error e, Results... results) {
        std::exchange(actions_, nullptr)
            ->call(memory_.data(), where, std::move(e), std::move(results)...);
    }

    [[nodiscard]] boost::asio::cancellation_slot get_cancellation_slot() const noexcept {
        return actions_->cancellation_slot(memory_.data());
    }

private:
    static constexpr std::size_t room = 6 * sizeof(void*);
    static constexpr std::size_t alignment = alignof(void*);

    struct actions {
        void (*call)(std::byte*, delivery, error&&, Results&&...);
        void (*move)(std::byte* from, std::byte* to) noexcept;
        void (*destroy)(std::byte*) noexcept;
        boost::asio::cancellation_slot (*cancellation_slot)(const std::byte*) noexcept;
    };

    template <typename Target>
    static Target& target_in(std::byte* memory) noexcept {
        return *std::launder(reinterpret_cast<Target*>(memory));
    }

    template <typename Target>
    static constexpr actions actions_of{
        [](std::byte* memory, delivery where, error&& e, Results&&... results) {
            Target target = std::move(target_in<Target>(memory));
            std::destroy_at(&target_in<Target>(memory));
            target(where, std::move(e), std::move(results)...);
        },
        [](std::byte* from, std::byte* to) noexcept {
            ::new (to) Target(std::move(target_in<Target>(from)));
            std::destroy_at(&target_in<Target>(from));
        },
        [](std::byte* memory) noexcept { std::destroy_at(&target_in<Target>(memory)); },
        [](const std::byte* memory) noexcept -> boost::asio::cancellation_slot {
            return std::launder(reinterpret_cast<const Target*>(memory))->get_cancellation_slot();
        },
    };

    template <typename Target>
    void hold(Target target) {
        ::new (memory_.data()) Target(std::move(target));
        actions_ = &actions_of<Target>;
    }

    alignas(alignment) std::array<std::byte, room> memory_{};
    const actions* actions_ = nullptr;
};

/// Readies a handler for the border; `own` is the client's executor.
template <typename Handler>
delivering_handler<std::decay_t<Handler>> deliver_to(Handler&& handler,
                                                     const boost::asio::any_io_executor& own) {
    return {std::decay_t<Handler>(std::forward<Handler>(handler)), own};
}

struct lease_access;  // lets the library make leases

}  // namespace detail
}  // namespace colock

#endif
