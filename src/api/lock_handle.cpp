// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/detail/lock_handle.hpp>

#include "api/call.hpp"
#include "api/lease_access.hpp"
#include "api/lock_error.hpp"
#include "api/options_check.hpp"
#include "api/start_on_lock.hpp"
#include "kinds/auxiliary_key.hpp"
#include "platform/clock.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/acquire_operation.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {
namespace detail {

error error_of(core::acquire_outcome result, std::string details) {
    switch (result) {
        case core::acquire_outcome::granted:
        case core::acquire_outcome::completed:
            return {};
        case core::acquire_outcome::contended:
            return {errc::contended, std::move(details)};
        case core::acquire_outcome::no_quorum:
            return {errc::no_quorum, std::move(details)};
        case core::acquire_outcome::too_slow:
            return {errc::too_slow, std::move(details)};
        case core::acquire_outcome::wrong_kind:
            return {errc::wrong_kind, std::move(details)};
        case core::acquire_outcome::wrong_limit:
            return {errc::limit_mismatch, std::move(details)};
        case core::acquire_outcome::closed:
            return {errc::client_closed, std::move(details)};
        case core::acquire_outcome::would_deadlock:
            return {errc::would_deadlock, std::move(details)};
        case core::acquire_outcome::lease_lost:
            return {errc::lease_lost, std::move(details)};
        case core::acquire_outcome::adopted_twice:
            return {errc::invalid_argument, std::move(details)};
        case core::acquire_outcome::cancelled:
            break;
    }
    return {boost::asio::error::operation_aborted, std::move(details)};
}

namespace {

/// Whether it is an error that another holder has the lock.
enum class denial : bool { is_error, is_empty_lease };

class acquire_call final : public call<runtime::acquire_operation, lease> {
public:
    acquire_call(const runtime::asio_host& host, handler<lease> handler,
                 std::shared_ptr<const runtime::lock_spec> spec, core::time_point deadline,
                 std::uint64_t owner, denial denied)
        : call(host, std::move(handler), std::move(spec), deadline, owner), denied_(denied) {}
    acquire_call(const runtime::asio_host& host, handler<lease> handler,
                 std::shared_ptr<const runtime::lock_spec> spec,
                 std::shared_ptr<const runtime::handover> adopted)
        : call(host, std::move(handler), std::move(spec), std::move(adopted)) {}

    void deliver() override {
        const bool is_no_error =
            result() == core::acquire_outcome::contended && denied_ == denial::is_empty_lease;
        complete(is_no_error ? error() : error_of(result(), take_details()),
                 lease_access::make(host(), take_lease(), holder(), fence()));
    }

private:
    denial denied_ = denial::is_error;
};

runtime::lock_policy policy_of(const lock_options& options, const kinds::lock_kind& kind,
                               const runtime::client_context& client) {
    runtime::lock_policy policy(kind);
    policy.lease.instances = client.instances.size();
    policy.lease.ttl = options.ttl;
    policy.lease.renew_interval = options.renew_interval();
    policy.lease.spread_renewals = true;
    policy.lease.max_hold = options.max_hold;
    policy.lease.loss_margin = options.loss_margin;
    policy.lease.drift = client.settings.drift;
    policy.lease.instance_timeout = client.settings.instance_timeout;
    policy.retry = {options.retry.initial, options.retry.maximum};
    policy.attempts = options.retry.attempts;
    policy.unavailable_timeout = options.unavailable_timeout;
    policy.handoff = {options.handoff_limit, options.handoff_time};
    if (kind.traits().orders_waiters) {
        policy.place_refresh = core::queue_place_settings::refresh_for(options.retry.maximum);
    }
    return policy;
}

/// Throws `config_error` for a lock that needs several keys, if a Cluster has them in several slots.
void check_slot(std::string_view key, const kinds::lock_kind& kind,
                const runtime::client_context& client) {
    kinds::command second;
    second.contended = true;
    if (!kinds::has_auxiliary_keys(key) && kind.has_auxiliary_key(second) &&
        std::ranges::any_of(client.instances.states(), &instance::status::is_cluster)) {
        throw config_error("resource",
                           runtime::describe(key) +
                               " has a } but no {hash tag}, so a Cluster cannot keep the keys of "
                               "this lock in one slot. Use a name without }, or one that begins "
                               "with a hash tag");
    }
}

std::shared_ptr<const runtime::lock_spec> make_spec(
    const std::shared_ptr<runtime::client_context>& owner,
    std::span<const std::string_view> resources, const lock_options& options,
    const kinds::lock_kind& kind, bool is_reentrant) {
    const std::string_view resource = resources.front();
    auto spec = std::make_shared<runtime::lock_spec>();
    if (!owner) {  // the client was moved from: only the name is needed, for the errors
        spec->key = resource;
        return spec;
    }
    const std::string& prefix = owner->settings.key_prefix;
    spec->owner = owner;
    spec->policy = owner->policies.share(policy_of(options, kind, *owner));
    spec->key.reserve(prefix.size() + resource.size());
    spec->key.append(prefix).append(resource);
    check_slot(spec->key, kind, *owner);
    spec->key_hash = runtime::hash_of_key(spec->key);
    spec->prefix_size = prefix.size();
    spec->is_reentrant = is_reentrant;
    for (const std::string_view another : resources.subspan(1)) {
        if (spec->all_resources.empty()) {
            spec->all_resources = resource;
        }
        spec->all_resources.append(", ").append(another);
        spec->more_names.push_back(std::string(prefix).append(another));
    }
    spec->more_keys.assign(spec->more_names.begin(), spec->more_names.end());
    return spec;
}

}  // namespace

lock_handle::lock_handle(client& client, std::string_view resource, const lock_options& options,
                         const kinds::lock_kind& kind, reentry again)
    : lock_handle(owner_of(client), std::span(&resource, 1), options, kind, again) {}

lock_handle::lock_handle(const std::shared_ptr<runtime::client_context>& owner,
                         std::span<const std::string_view> resources, const lock_options& options,
                         const kinds::lock_kind& kind, reentry again) {
    for (const std::string_view resource : resources) {
        check_resource(resource);
    }
    options.validate();
    check_order(options, kind, owner ? owner->instances.size() : 1);
    if (owner) {
        check_quarantine(options.ttl, owner->settings.quarantines);
        check_drift(options.ttl, owner->settings.drift, options.loss_margin);
    }
    spec_ = make_spec(owner, resources, options, kind, again == reentry::allowed);
}

std::shared_ptr<runtime::client_context> lock_handle::owner_of(const client& client) {
    return client.host_ ? client.host_->owned_parts() : nullptr;
}

lock_handle lock_handle::with_kind(const kinds::lock_kind& kind) const {
    if (host_of(spec_) == nullptr) {
        return *this;  // every operation fails
    }
    runtime::lock_policy policy = *spec_->policy;
    policy.set_kind(kind);
    auto spec = std::make_shared<runtime::lock_spec>(*spec_);
    spec->more_keys.assign(spec->more_names.begin(), spec->more_names.end());
    spec->policy = spec_->owner->policies.share(policy);
    return lock_handle(std::move(spec));
}

lock_handle lock_handle::with_problem(std::string problem) const {
    auto spec = spec_ ? std::make_shared<runtime::lock_spec>(*spec_)
                      : std::make_shared<runtime::lock_spec>();
    spec->more_keys.assign(spec->more_names.begin(), spec->more_names.end());
    spec->problem = std::move(problem);
    return lock_handle(std::move(spec));
}

lock_handle lock_handle::invalid(client& client, std::string_view resource,
                                 const config_error& problem) {
    auto spec = std::make_shared<runtime::lock_spec>();
    spec->owner = owner_of(client);
    spec->key = resource;
    spec->problem = problem.what();
    return lock_handle(std::move(spec));
}

std::string_view lock_handle::resource() const noexcept {
    return resource_of(spec_);
}

const lock_handle::executor_type& lock_handle::executor_of(
    const std::shared_ptr<const runtime::lock_spec>& spec) noexcept {
    // It outlives all static objects.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
    static const executor_type& of_none = *new executor_type(boost::asio::system_executor());
    const runtime::asio_host* const host = host_of(spec);
    return host != nullptr ? host->user_executor() : of_none;
}

lock_handle::executor_type lock_handle::body_executor() const {
    const runtime::asio_host* const host = host_of(spec_);
    return host != nullptr && host->thread_safe()
               ? executor_type(boost::asio::make_strand(get_executor()))
               : get_executor();
}

lock_handle::time_point lock_handle::deadline_after(duration timeout) noexcept {
    if (timeout <= duration::zero()) {
        return time_point::min();
    }
    const time_point now = std::chrono::steady_clock::now();
    return timeout < std::chrono::floor<duration>(time_point::max() - now) ? now + timeout
                                                                           : time_point::max();
}

void lock_handle::start_acquire(shared_spec spec, std::uint64_t owner, handler<lease> handler) {
    start_on_lock<acquire_call, lease>(std::move(spec), std::move(handler), core::never, owner,
                                       denial::is_error);
}

void lock_handle::start_adopt(shared_spec spec, std::shared_ptr<const runtime::handover> adopted,
                              handler<lease> handler) {
    start_on_lock<acquire_call, lease>(std::move(spec), std::move(handler), std::move(adopted));
}

void lock_handle::start_try_acquire(shared_spec spec, std::uint64_t owner, time_point deadline,
                                    handler<lease> handler) {
    // A deadline in the past waits for nobody, except for the first connections: as `try_acquire` does.
    const auto until = deadline <= std::chrono::steady_clock::now()
                           ? time_point::min()
                           : platform::clock::from_steady(deadline);
    start_on_lock<acquire_call, lease>(std::move(spec), std::move(handler), until, owner,
                                       denial::is_empty_lease);
}

/// With a strand of its own, the engine cannot be asked from here.
lease lock_handle::try_reenter(std::uint64_t owner) const {
    lease result;
    if (can_start(spec_) && !host_of(spec_)->thread_safe()) {
        runtime::client_context& client = *spec_->owner;
        runtime::asio_host::of(spec_->owner)->run([&] {
            if (auto state = client.queues.reenter(*spec_, {owner, spec_->is_reentrant})) {
                const std::uint32_t holder = state->holder();
                const std::uint64_t fence = state->fence();
                result = lease_access::make(*host_of(spec_), std::move(state), holder, fence);
            }
        });
    }
    return result;
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
