// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_LEASE_ACCESS_HPP
#define COLOCK_API_LEASE_ACCESS_HPP

#include <colock/error.hpp>
#include <colock/lease.hpp>

#include "api/call.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/key/lease_driver.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {
namespace detail {

/// Lets the library make leases.
struct lease_access {
    /// `holder` as in `runtime::lease_driver`; `fence` is 0 without fencing. Without a state it is empty, and belongs to the
    /// client all the same.
    static lease make(const runtime::asio_host& client,
                      std::shared_ptr<runtime::lease_driver> state, std::uint32_t holder,
                      std::uint64_t fence) noexcept {
        return lease({std::move(state), holder, fence, client.number()});
    }

    /// Null for an empty lease.
    static const std::shared_ptr<runtime::lease_driver>& state_of(const lease& l) noexcept {
        return l.held_.state;
    }
    static std::uint32_t holder_of(const lease& l) noexcept { return l.held_.holder; }
};

/// The error of an operation on a lease. `lock` is the name of the lock on which it was started, if it was.
error error_of(runtime::lease_result result, const runtime::lease_driver& state,
               std::uint32_t holder, std::string_view lock = {});

}  // namespace detail
}  // namespace v1
}  // namespace colock

namespace colock {
inline namespace v1 {

/// Fails an operation on an empty lease.
template <typename... Results>
void refuse_empty(const boost::asio::any_io_executor& executor, detail::handler<Results...> handler,
                  Results... nothing) {
    fail<Results...>(executor, std::move(handler), errc::not_held, std::move(nothing)...);
}

/// Starts a `Call` on a lease that is not empty, or fails it at once.
template <typename Call, typename... Results, typename... Arguments>
void start_on_lease(const std::shared_ptr<runtime::lease_driver>& state,
                    detail::handler<Results...> handler, Results... nothing,
                    Arguments&&... arguments) {
    const auto host = runtime::asio_host::of(state->owner());
    if (host->is_inherited()) {
        refuse<Results...>(host.get(), std::move(handler), state->resource(),
                           std::move(nothing)...);
    } else {
        start_call<Call>(host, std::move(handler), state, std::forward<Arguments>(arguments)...);
    }
}

}  // namespace v1
}  // namespace colock

#endif
