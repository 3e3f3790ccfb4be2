// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_CALL_HPP
#define COLOCK_API_CALL_HPP

// What stands between a runtime operation and the caller's completion handler.

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include "runtime/asio_host.hpp"
#include "runtime/describe.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/recycling_allocator.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/system_executor.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// A runtime operation with its caller's handler. A class that derives from it overrides `deliver`, and there
/// turns the result into the arguments of `complete`.
template <typename Operation, typename... Results>
class call : public Operation {
public:
    template <typename... Arguments>
    call(const runtime::asio_host& host, detail::handler<Results...> handler,
         Arguments&&... arguments)
        : Operation(std::forward<Arguments>(arguments)...),
          handler_(std::move(handler)),
          host_(host) {}

protected:
    /// Ends the call. What the parent has begun is not for a child to have.
    void complete(error e, Results... results) {
        if (host_.is_inherited()) {
            e = errc::forked;
        }
        complete_anyway(std::move(e), std::move(results)...);
    }

    /// The same in every process.
    void complete_anyway(error e, Results... results) {
        // With a strand of our own, the handler must not run on it.
        const detail::delivery where{host_.user_executor(), !host_.thread_safe()};
        std::move(handler_)(where, std::move(e), std::move(results)...);
    }

    [[nodiscard]] const runtime::asio_host& host() const noexcept { return host_; }

private:
    detail::handler<Results...> handler_;
    const runtime::asio_host& host_;  // in whose turn we are called
};

/// Fails an operation that is not started.
template <typename... Results>
void fail(const boost::asio::any_io_executor& executor, detail::handler<Results...> handler,
          error why, Results... results) {
    std::move(handler)(detail::delivery{executor, false}, std::move(why), std::move(results)...);
}

/// Returns the error of an operation that was given an impossible argument. `resource` may be empty.
inline error invalid_argument(std::string_view resource, std::string_view problem) {
    const std::string name = resource.empty() ? "" : runtime::describe(resource) + ": ";
    return {errc::invalid_argument, name + std::string(problem)};
}

/// Fails an operation that is not started. Its client was moved from, so `owner` is null. Or the client belongs to
/// a parent process. This function does not change such a client.
template <typename... Results>
void refuse(const runtime::asio_host* owner, detail::handler<Results...> handler,
            std::string_view resource, Results... results) {
    const boost::asio::any_io_executor executor =
        owner == nullptr ? boost::asio::any_io_executor(boost::asio::system_executor())
                         : owner->user_executor();
    const errc why = owner == nullptr ? errc::client_closed : errc::forked;
    std::string details = resource.empty() ? std::string() : runtime::describe(resource);
    fail<Results...>(executor, std::move(handler), error(why, std::move(details)),
                     std::move(results)...);
}

/// Fails an operation that cannot start: the client was moved from, or belongs to a parent process, or `problem` is not
/// empty. Returns whether it has failed. The results are empty then.
template <typename... Results>
[[nodiscard]] bool fails_at_start(const runtime::asio_host* owner,
                                  detail::handler<Results...>& handler, std::string_view resource,
                                  std::string_view problem = {}) {
    if (owner == nullptr || owner->is_inherited()) {
        refuse<Results...>(owner, std::move(handler), resource, Results()...);
        return true;
    }
    if (!problem.empty()) {
        fail<Results...>(owner->user_executor(), std::move(handler),
                         invalid_argument(resource, problem), Results()...);
        return true;
    }
    return false;
}

/// Makes a `Call`, connects the handler's cancellation slot to it, and starts it.
template <typename Call, typename... Results, typename... Arguments>
void start_call(const std::shared_ptr<runtime::asio_host>& host,
                detail::handler<Results...> handler, Arguments&&... arguments) {
    auto slot = handler.get_cancellation_slot();
    auto started =
        std::allocate_shared<Call>(runtime::recycling_allocator<Call>(), *host, std::move(handler),
                                   std::forward<Arguments>(arguments)...);
    if (slot.is_connected()) {
        slot.assign([weak_host = std::weak_ptr<runtime::asio_host>(host),
                     weak = std::weak_ptr<runtime::operation>(started)](
                        boost::asio::cancellation_type type) {
            const auto owner = weak_host.lock();
            if (type != boost::asio::cancellation_type::none && owner) {
                owner->run([weak] {
                    if (const auto operation = weak.lock()) {
                        operation->cancel();
                    }
                });
            }
        });
    }
    host->run([started = std::move(started)]() mutable {
        Call& operation = *started;
        operation.start(std::move(started));
    });
}

}  // namespace v1
}  // namespace colock

#endif
