// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_HANDLERS_HPP
#define COLOCK_DETAIL_HANDLERS_HPP

// How an operation crosses from a header, where the caller's handler has a type, into the library,
// where it has none.

#include <colock/detail/asio_settings.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/tokens.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
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

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace colock::runtime {

class asio_host;
class lease_driver;
struct lock_spec;
struct client_context;

}  // namespace colock::runtime

namespace colock {
inline namespace v1 {

class lease;  // NOLINT(*-forward-declaration-namespace): not that of the core
enum class release_result;

namespace detail {

COLOCK_EXPORT void* allocate_block(std::size_t size);
COLOCK_EXPORT void deallocate_block(void* memory, std::size_t size) noexcept;

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

/// Ends a handler without a call.
struct dropped {};

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
    void operator()(dropped /*instead*/) noexcept {}

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

/// A handler of any type, inside the library. It is called once, or dropped.
template <typename... Results>
class handler {
public:
    template <typename Handler>
    handler(delivering_handler<Handler>&& target)  // NOLINT(*-explicit-*)
        : target_(std::move(target)) {}
    handler(handler&&) noexcept = default;
    handler& operator=(handler&&) = delete;
    /// A handler may own the resource of its allocator, as that of a suspended coroutine may. So it is moved out of its
    /// memory before it is destroyed. The destructor of `any_completion_handler` destroys it first.
    ~handler() {
        if (target_) {
            target_(dropped());
        }
    }

    void operator()(delivery where, error e, Results... results) {
        target_(where, std::move(e), std::move(results)...);
    }

    /// Is connected to the caller's slot, if there is one.
    [[nodiscard]] boost::asio::cancellation_slot get_cancellation_slot() const noexcept {
        return target_.get_cancellation_slot();
    }

private:
    boost::asio::any_completion_handler<void(delivery, error, Results...), void(dropped)> target_;
};

/// Readies a handler for the border; `own` is the client's executor.
template <typename Handler>
delivering_handler<std::decay_t<Handler>> deliver_to(Handler&& handler,
                                                     const boost::asio::any_io_executor& own) {
    return {std::decay_t<Handler>(std::forward<Handler>(handler)), own};
}

/// Starts an operation of the library on an object, by `Start(object, arguments..., handler)`. `ExecutorOf(object)` is
/// the operation's executor.
template <auto Start, auto ExecutorOf, typename Object>
struct initiation {
    using executor_type = boost::asio::any_io_executor;
    [[nodiscard]] executor_type get_executor() const noexcept { return ExecutorOf(object); }

    template <typename Handler, typename... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) && {
        auto to = deliver_to(std::forward<Handler>(handler), ExecutorOf(object));
        Start(std::move(object), std::forward<Arguments>(arguments)..., std::move(to));
    }

    Object object;
};

struct lease_access;  // lets the library make leases

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
