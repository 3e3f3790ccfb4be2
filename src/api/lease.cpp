// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/lease.hpp>

#include <colock/lock_options.hpp>

#include "api/call.hpp"
#include "api/lease_access.hpp"
#include "api/lock_error.hpp"
#include "api/options_check.hpp"
#include "kinds/once/once.hpp"
#include "platform/clock.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"
#include "runtime/key/lease_driver.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {
namespace {

error aborted() {
    return boost::system::error_code(boost::asio::error::operation_aborted);
}

bool is_inherited(const runtime::lease_driver& state) noexcept {
    return runtime::asio_host::of(*state.owner()).is_inherited();
}

/// The validity may be over before the client can notice, if something blocks its event loop. Such a lease is lost, whatever
/// the instances answer later.
error untold_loss_of(const runtime::lease_driver& state, std::uint32_t holder) {
    const core::time_point until = state.valid_until(holder);
    const core::time_point now = platform::clock::now();
    if (until == core::time_point::min() || now < until) {
        return {};
    }
    const std::string lease = runtime::describe(state.resource());
    if (state.policy().lease.renew_interval == core::duration::zero()) {
        return {errc::lease_expired, lease};
    }
    return {errc::lease_lost, lease + runtime::describe_standstill(now - until)};
}

error loss_of(const runtime::lease_driver& state, std::uint32_t holder) {
    if (is_inherited(state)) {
        return {errc::forked, runtime::describe(state.resource())};
    }
    const core::loss why = state.loss(holder);
    return why == core::loss::none ? untold_loss_of(state, holder)
                                   : detail::error_of(why, state.loss_details());
}

/// Throws `config_error` for a ttl that a lease of this client cannot have.
void check_ttl(std::chrono::milliseconds ttl, const runtime::lease_driver& lease) {
    const runtime::engine_settings& settings = lease.owner()->settings;
    detail::check_ttl("ttl", ttl);
    detail::check_quarantine(ttl, settings.quarantines);
    detail::check_drift(ttl, settings.drift, lease.policy().lease.loss_margin);
}

/// The lock on which an operation was started cannot use the lease.
error wrong_lease(const runtime::lease_driver& state, std::string_view why) {
    return {errc::wrong_lease, runtime::describe(state.resource()).append(": ").append(why)};
}

}  // namespace

error detail::error_of(core::loss why, std::string details) {
    switch (why) {
        case core::loss::none:
            break;
        case core::loss::keys_gone:
        case core::loss::unrenewable:
            return {errc::lease_lost, std::move(details)};
        case core::loss::expired:
            return {errc::lease_expired, std::move(details)};
        case core::loss::max_hold:
            return {errc::max_hold_exceeded, std::move(details)};
        case core::loss::closed:
            return {errc::client_closed, std::move(details)};
    }
    return {};
}

error detail::error_of(runtime::lease_result result, const runtime::lease_driver& state,
                       std::uint32_t holder, std::string_view lock) {
    switch (result) {
        case runtime::lease_result::done:
            return {};
        case runtime::lease_result::not_held:
            return {errc::not_held, runtime::describe(state.resource())};
        case runtime::lease_result::ended:
            return loss_of(state, holder);
        case runtime::lease_result::no_quorum:
            return {errc::no_quorum, state.no_quorum_details()};
        case runtime::lease_result::closed:
            return {errc::client_closed,
                    runtime::describe(state.resource()) +
                        ": the client was closed before the release was sent, so the keys stay "
                        "until their ttl ends"};
        case runtime::lease_result::of_another_client:
            return wrong_lease(state, "the lease and the lock belong to different clients");
        case runtime::lease_result::of_another_name:
            return wrong_lease(state,
                               "the lease has this name, the lock has " + runtime::describe(lock));
        case runtime::lease_result::fenced_otherwise:
            return wrong_lease(state, "only one of the lease and the lock has fencing");
        case runtime::lease_result::of_a_mutex:
            return wrong_lease(state, "the lease is a mutex's, not a shared_mutex's");
        case runtime::lease_result::not_a_readers:
            return wrong_lease(state, "the lease is not a reader's");
        case runtime::lease_result::shared_by_others:
            return wrong_lease(state,
                               "other holders of this client share the lease, so it cannot be "
                               "detached. Release them first");
        case runtime::lease_result::cancelled:
            break;
    }
    return aborted();
}

namespace {

using detail::error_of;

class extend_call final : public call<runtime::extend_operation> {
public:
    using call::call;

    void deliver() override { complete(error_of(result(), lease(), holder())); }
};

release_result result_of(core::release_outcome outcome) noexcept {
    switch (outcome) {
        case core::release_outcome::released:
            return release_result::released;
        case core::release_outcome::expired:
            return release_result::expired;
        case core::release_outcome::lost:
        case core::release_outcome::no_quorum:
            break;
    }
    return release_result::lost;
}

class release_call final : public call<runtime::release_operation, release_result> {
public:
    using call::call;

    void deliver() override {
        if (result() == runtime::lease_result::done) {
            complete({}, result_of(outcome()));
        } else {
            complete(error_of(result(), lease(), holder()), release_result::lost);
        }
    }
};

class detach_call final : public call<runtime::handover_operation, std::string> {
public:
    using call::call;

    void deliver() override {
        if (result() == runtime::lease_result::done) {
            complete({}, runtime::to_text(handed_over()));
        } else {
            complete(error_of(result(), lease(), holder()), std::string());
        }
    }
};

class wait_lost_call final : public call<runtime::loss_operation> {
public:
    using call::call;

    void deliver() override {
        complete_anyway(result() == runtime::lease_result::ended
                            ? error()
                            : error_of(result(), lease(), holder()));
    }
};

}  // namespace

std::string_view to_string(release_result result) noexcept {
    switch (result) {
        case release_result::released:
            return "released";
        case release_result::expired:
            return "expired";
        case release_result::lost:
            return "lost";
    }
    return "unknown";
}

lease& lease::operator=(lease&& other) noexcept {
    lease mine(std::move(other));
    std::swap(held_, mine.held_);
    return *this;  // and what was ours is handed over
}

/// Of a lease that is not empty.
void lease::let_go() noexcept {
    const holding held = std::move(held_);
    const bool is_held = held.state->valid_until(held.holder) != time_point::min();
    if (!is_held && held.state->loss(held.holder) == core::loss::none) {
        return;  // it was released
    }
    try {
        runtime::asio_host::of(held.state->owner())->run([held] {
            held.state->let_go(held.holder);
        });
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; then the ttl ends the lock
    }
}

void lease::abandon() noexcept {
    const holding held = std::move(held_);
    if (!held.state) {
        return;
    }
    try {
        runtime::asio_host::of(held.state->owner())->run([held] {
            held.state->abandon(held.holder);
        });
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory
    }
}

lease::executor_type lease::get_executor() const noexcept {
    return executor_of(held_);
}

std::string_view lease::resource() const noexcept {
    return held_.state ? held_.state->resource() : std::string_view();
}

std::string_view lease::token() const noexcept {
    return held_.state ? held_.state->token() : std::string_view();
}

bool lease::is_shared() const noexcept {
    return held_.state && held_.state->is_shared(held_.holder);
}

std::uint64_t lease::fence() const {
    if (!held_.state) {
        throw lock_error(errc::not_held);
    }
    if (held_.fence == 0) {
        throw lock_error({errc::not_fenced, runtime::describe(held_.state->resource())});
    }
    return held_.fence;
}

lease::time_point lease::valid_until() const noexcept {
    return held_.state && !is_inherited(*held_.state)
               ? platform::clock::to_steady(held_.state->valid_until(held_.holder))
               : time_point::min();
}

bool lease::owns_lock() const& noexcept {
    return held_.state && !is_inherited(*held_.state) &&
           held_.state->valid_until(held_.holder) != time_point::min();
}

bool lease::valid() const& noexcept {
    return held_.state && !is_inherited(*held_.state) &&
           platform::clock::now() < held_.state->valid_until(held_.holder);
}

error lease::loss() const {
    return held_.state ? loss_of(*held_.state, held_.holder) : error();
}

lease::executor_type lease::executor_of(const holding& held) noexcept {
    if (held.state) {
        return runtime::asio_host::of(*held.state->owner()).user_executor();
    }
    const auto host = runtime::asio_host::find(held.client);
    return host ? host->user_executor() : boost::asio::system_executor();
}

void lease::start_extend(holding held, duration ttl, detail::handler<> handler) {
    if (!held.state) {
        refuse_empty<>(executor_of(held), std::move(handler));
        return;
    }
    try {
        if (!is_inherited(*held.state)) {
            check_ttl(ttl, *held.state);
        }
    } catch (const config_error& problem) {
        fail<>(executor_of(held), std::move(handler),
               invalid_argument(held.state->resource(), problem.what()));
        return;
    }
    start_on_lease<extend_call>(held.state, std::move(handler), held.holder, ttl);
}

void lease::start_release(holding held, detail::handler<release_result> handler) {
    if (held.state) {
        start_on_lease<release_call, release_result>(held.state, std::move(handler),
                                                     release_result::lost, held.holder);
    } else {
        refuse_empty<release_result>(executor_of(held), std::move(handler), release_result::lost);
    }
}

void lease::start_detach(holding held, detail::handler<std::string> handler) {
    if (held.state && &held.state->policy().kind() == &kinds::once) {
        fail<std::string>(
            executor_of(held), std::move(handler),
            wrong_lease(*held.state,
                        "the lease is for the body of once, so it cannot be "
                        "detached. Use a mutex for work that moves to another process"),
            std::string());
    } else if (held.state) {
        start_on_lease<detach_call, std::string>(held.state, std::move(handler), std::string(),
                                                 held.holder);
    } else {
        refuse_empty<std::string>(executor_of(held), std::move(handler), std::string());
    }
}

void lease::start_wait_lost(holding held, detail::handler<> handler) {
    if (held.state) {
        start_on_lease<wait_lost_call>(held.state, std::move(handler), held.holder);
    } else {
        refuse_empty<>(executor_of(held), std::move(handler));
    }
}

}  // namespace v1
}  // namespace colock
