#ifndef COLOCK_DETAIL_HANDLERS_HPP
#define COLOCK_DETAIL_HANDLERS_HPP

// How an operation crosses from a header, where the caller's handler has a type, into the library,
// where it has none.

#include <colock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/append.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <type_traits>
#include <utility>

namespace colock {

class lease;
enum class release_result;

namespace detail {

/// How to call a handler from where the library is when it has the result.
enum class delivery {
    dispatch,  ///< right here, if this is the handler's executor
    post,      ///< never here
};

/// A handler of any type, on the library's side of the border.
template <typename... Results>
using handler = boost::asio::any_completion_handler<void(delivery, error, Results...)>;

/// A handler on the caller's side: keeps its executor at work, and runs on it.
template <typename Handler>
class delivering_handler {
public:
    using allocator_type = boost::asio::associated_allocator_t<Handler>;
    using cancellation_slot_type = boost::asio::associated_cancellation_slot_t<Handler>;

    delivering_handler(Handler&& handler, const boost::asio::any_io_executor& fallback)
        : work_(boost::asio::make_work_guard(handler, fallback)), handler_(std::move(handler)) {}

    [[nodiscard]] allocator_type get_allocator() const noexcept {
        return boost::asio::get_associated_allocator(handler_);
    }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
        return boost::asio::get_associated_cancellation_slot(handler_);
    }

    template <typename... Results>
    void operator()(delivery how, error e, Results... results) {
        const auto work = std::move(work_);
        auto call = boost::asio::bind_executor(
            work.get_executor(),
            boost::asio::append(std::move(handler_), std::move(e), std::move(results)...));
        if (how == delivery::dispatch) {
            boost::asio::dispatch(std::move(call));
        } else {
            boost::asio::post(std::move(call));
        }
    }

private:
    using executor_type = boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

    boost::asio::executor_work_guard<executor_type> work_;
    Handler handler_;
};

/// Readies a handler for the border; `fallback` is for one that has no executor.
template <typename Handler>
delivering_handler<std::decay_t<Handler>> deliver_to(Handler&& handler,
                                                     const boost::asio::any_io_executor& fallback) {
    return {std::decay_t<Handler>(std::forward<Handler>(handler)), fallback};
}

struct lease_access;  // lets the library make leases

}  // namespace detail

namespace runtime {

class engine;
class lease_state;
struct lock_spec;

}  // namespace runtime
}  // namespace colock

#endif
