#ifndef COLOCK_SRC_CALL_HPP
#define COLOCK_SRC_CALL_HPP

// What stands between a runtime operation and the caller's completion handler.

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include "runtime/engine.hpp"
#include "runtime/operation.hpp"

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <memory>
#include <utility>

namespace colock {

/// A handler, with the promise that its executor stays at work until it was called.
template <typename... Results>
class completion {
public:
    completion(detail::handler<Results...> handler, const boost::asio::any_io_executor& fallback)
        : executor_(boost::asio::prefer(
              boost::asio::get_associated_executor(handler, fallback),
              boost::asio::execution::outstanding_work.tracked)),
          handler_(std::move(handler)) {}

    /// Calls the handler on its executor; right here, if that is where we are.
    void dispatch(error e, Results... results) {
        boost::asio::dispatch(executor_, bind(std::move(e), std::move(results)...));
    }

    /// Calls the handler on its executor, later.
    void post(error e, Results... results) {
        // Not asio::post: a type-erased executor can only be asked, not required, not to block.
        boost::asio::prefer(executor_, boost::asio::execution::blocking.never)
            .execute(bind(std::move(e), std::move(results)...));
    }

private:
    auto bind(error e, Results... results) {
        return [handler = std::move(handler_), e = std::move(e),
                ... results = std::move(results)]() mutable {
            std::move(handler)(std::move(e), std::move(results)...);
        };
    }

    boost::asio::any_completion_executor executor_;
    detail::handler<Results...> handler_;
};

/// A runtime operation with its caller's handler. Who derives from it overrides `deliver`, and there
/// turns the result into the arguments of `complete`.
template <typename Operation, typename... Results>
class call : public Operation {
protected:
    template <typename... Arguments>
    call(const std::shared_ptr<runtime::engine>& engine, detail::handler<Results...> handler,
         Arguments&&... arguments)
        : Operation(std::forward<Arguments>(arguments)...),
          completion_(std::move(handler), engine->user_executor()),
          inline_(!engine->thread_safe()) {}

    /// Ends the call. With a strand of our own, the handler must not run on it.
    void complete(error e, Results... results) {
        if (inline_) {
            completion_.dispatch(std::move(e), std::move(results)...);
        } else {
            completion_.post(std::move(e), std::move(results)...);
        }
    }

private:
    completion<Results...> completion_;
    bool inline_;
};

/// Makes a `Call`, connects the handler's cancellation slot to it, and starts it.
template <typename Call, typename... Results, typename... Arguments>
void start_call(const std::shared_ptr<runtime::engine>& engine, detail::handler<Results...> handler,
                Arguments&&... arguments) {
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    const auto started = std::make_shared<Call>(engine, std::move(handler),
                                                std::forward<Arguments>(arguments)...);
    if (slot.is_connected()) {
        slot.assign([weak_engine = std::weak_ptr<runtime::engine>(engine),
                     weak = std::weak_ptr<runtime::operation>(started)](
                        boost::asio::cancellation_type type) {
            const auto owner = weak_engine.lock();
            if (type != boost::asio::cancellation_type::none && owner) {
                owner->run([weak] {
                    if (const auto operation = weak.lock()) {
                        operation->cancel();
                    }
                });
            }
        });
    }
    engine->run([started] { started->start(); });
}

}  // namespace colock

#endif
