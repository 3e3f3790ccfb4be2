// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/shared_mutex.hpp>

#include "api/call.hpp"
#include "api/lease_access.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {
namespace {

using detail::error_of;

class downgrade_call final : public call<runtime::downgrade_operation> {
public:
    using call::call;

    void deliver() override {
        complete(error_of(result(), lease(), holder(), shared()->resource()));
    }
};

class share_call final : public call<runtime::share_operation, lease> {
public:
    using call::call;

    void deliver() override {
        if (result() == runtime::lease_result::done) {
            complete({}, detail::lease_access::make(host(), shared_lease(), new_holder(), fence()));
        } else {
            complete(error_of(result(), lease(), holder(), shared()->resource()), colock::lease());
        }
    }
};

/// A lock that was moved from, or made of a client that was, behaves as closed: fails the operation, and gives true.
template <typename... Results>
bool refused_as_closed(const std::shared_ptr<const runtime::lock_spec>& lock,
                       detail::handler<Results...>& handler, Results... nothing) {
    if (lock && lock->owner) {
        return false;
    }
    refuse<Results...>(nullptr, std::move(handler), lock ? lock->resource() : std::string_view(),
                       std::move(nothing)...);
    return true;
}

}  // namespace

shared_mutex::shared_mutex(client& client, std::string_view resource, lock_options options)
    : basic_lock(
          {client, resource, options, options.fencing ? kinds::fenced_writer : kinds::writer},
          options),
      reader_(client, resource, options, options.fencing ? kinds::fenced_shared : kinds::shared) {}

shared_mutex::operand shared_mutex::of(const lease& held) const {
    using detail::lease_access;
    return {lease_access::state_of(held), lease_access::holder_of(held), reader_.spec()};
}

/// Starts a `Call` on a lease that is given to the lock, or fails it at once.
template <typename Call, typename... Results>
void shared_mutex::start(operand on, detail::handler<Results...> handler) {
    if (refused_as_closed(on.reader, handler, Results()...)) {
        return;
    }
    if (on.state) {
        start_on_lease<Call, Results...>(on.state, std::move(handler), Results()..., on.holder,
                                         std::move(on.reader));
    } else {
        refuse_empty<Results...>(detail::lock_handle::executor_of(on.reader), std::move(handler),
                                 Results()...);
    }
}

void shared_mutex::start_downgrade(operand on, detail::handler<> handler) {
    start<downgrade_call>(std::move(on), std::move(handler));
}

void shared_mutex::start_share(operand on, detail::handler<lease> handler) {
    start<share_call, lease>(std::move(on), std::move(handler));
}

}  // namespace v1
}  // namespace colock
