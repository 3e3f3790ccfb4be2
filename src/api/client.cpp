// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/client.hpp>

#include <colock/lock_options.hpp>

#include "api/call.hpp"
#include "api/instance_info.hpp"
#include "api/instance_uri.hpp"
#include "api/label.hpp"
#include "api/lock_error.hpp"
#include "api/receiver.hpp"
#include "instance/memory/memory_instance.hpp"
#include "instance/redis/redis_instance.hpp"
#include "kinds/inspection/inspection.hpp"
#include "platform/clock.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/engine.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/snapshot_operation.hpp"
#include "runtime/statistics.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace colock {
inline namespace v1 {
namespace {

using runtime::asio_host;

/// Of two instances, a quorum needs both, and the other one has not forgotten. With a single one, a quarantine stops all locks
/// after each restart. So it is off there, unless the program asks for it.
std::chrono::milliseconds quarantine_of(const config& c) noexcept {
    return c.restart_quarantine.value_or(c.instances.size() < 3 ? std::chrono::milliseconds::zero()
                                                                : lock_options().ttl);
}

std::chrono::milliseconds failover_quarantine_of(const config& c) noexcept {
    return c.failover_quarantine.value_or(std::max(
        c.restart_quarantine.value_or(std::chrono::milliseconds::zero()), lock_options().ttl));
}

/// The quarantines that bound the ttl of a lock on these instances.
runtime::quarantine_lengths quarantines_of(const config& c) {
    runtime::quarantine_lengths result;
    for (const std::string& uri : c.instances) {
        const instance::redis::any_address parsed = parse_instance_uri("instances", uri);
        if (std::holds_alternative<instance::redis::memory_address>(parsed)) {
            continue;  // it does not restart before we do
        }
        result.restart = quarantine_of(c);
        if (!std::holds_alternative<instance::redis::address>(parsed)) {
            result.failover = failover_quarantine_of(c);
        }
    }
    return result;
}

runtime::instance_group::list make_instances(const config& c,
                                             const boost::asio::any_io_executor& executor,
                                             instance::instance_observer& observer) {
    instance::redis::redis_settings settings;
    settings.connection = {c.connect_timeout, c.silence_timeout, c.max_reply_size};
    settings.connection.key_prefix = c.key_prefix;
    settings.reconnect = {c.reconnect_initial, c.reconnect_maximum};
    settings.max_in_flight = c.max_in_flight;
    settings.stall_timeout = 2 * c.instance_timeout;
    settings.quarantine.length = quarantine_of(c);
    settings.quarantine.drift = {c.drift_factor, c.drift_minimum};
    settings.failover_quarantine = failover_quarantine_of(c);
    // An acquire may have to wait behind one WAIT and then for its own, and needs time for the way.
    settings.replicas_timeout =
        std::max(std::min(c.instance_timeout, c.silence_timeout) / 3, std::chrono::milliseconds(1));

    std::random_device entropy;
    runtime::instance_group::list result;
    for (std::size_t i = 0; i != c.instances.size(); ++i) {
        const std::string field = "instances[" + std::to_string(i) + "]";
        const auto make = [&](const auto& to) -> std::unique_ptr<instance::instance> {
            if constexpr (std::is_same_v<decltype(to), const instance::redis::memory_address&>) {
                return instance::memory::make_memory_instance(i, to.name, c.max_in_flight,
                                                              observer);
            } else {
                return instance::redis::make_redis_instance(i, to, settings, entropy(), executor,
                                                            observer);
            }
        };
        try {
            result.push_back(std::visit(make, parse_instance_uri(field, c.instances[i])));
        } catch (const instance::redis::address_error& failure) {
            throw config_error(field, failure.what());
        }
    }
    return result;
}

std::shared_ptr<asio_host> make_host(client::executor_type executor, const config& c) {
    c.validate();
    runtime::engine_settings settings;
    settings.key_prefix = c.key_prefix;
    settings.drift = {c.drift_factor, c.drift_minimum};
    settings.instance_timeout = c.instance_timeout;
    settings.close_timeout = c.close_timeout;
    settings.quarantines = quarantines_of(c);
    settings.max_reply_size = c.max_reply_size;
    settings.label = expand_label("label", c.label);
    settings.receiver = detail::receiver_for(c.observer);
    settings.blocked_threshold = c.blocked_threshold;
    return asio_host::make(
        std::move(executor), c.thread_safe, settings,
        [&c](const auto& on, auto& observer) { return make_instances(c, on, observer); });
}

class close_call final : public call<runtime::close_operation> {
public:
    close_call(asio_host& host, detail::handler<> handler)
        : call(host, std::move(handler), host.owned_engine()), owner_(host) {}

    void deliver() override {
        switch (outcome()) {
            case outcome_type::closed:
                complete({});
                break;
            case outcome_type::unanswered:
                complete(
                    {errc::no_quorum, "some releases were not answered before the client closed"});
                break;
            case outcome_type::cancelled:
                complete(boost::system::error_code(boost::asio::error::operation_aborted));
                break;
        }
    }

private:
    /// Closes the client and begins to wait, in one step. A closed client does not keep its context at work. A
    /// second step, posted from another thread, might find that `run()` has returned.
    void on_start() override {
        owner_.close();
        close_operation::on_start();
    }

    asio_host& owner_;
};

class leases_call final : public call<runtime::snapshot_operation, std::vector<lease_info>> {
public:
    using call::call;

    void deliver() override {
        const std::vector<instance::status> instances = client().instances.states();
        std::vector<lease_info> result;
        for_each_lease([&](const runtime::lease_driver& lease) {
            lease_info& one = result.emplace_back();
            one.resource = lease.resource();
            one.token = lease.token();
            one.label = kinds::label_of_holder(lease.token());
            one.fence = lease.fence();
            one.holders = lease.holder_count();
            one.is_shared = lease.is_shared(lease.holder());
            one.is_lost = lease.was_lost();
            one.since = platform::clock::to_steady(lease.held_by_client().since());
            one.valid_until = platform::clock::to_steady(lease.valid_until());
            one.answers = lease.was_lost()
                              ? detail::error_of(lease.why_lost(), lease.loss_details()).message()
                              : lease.last_answers(instances);
        });
        complete({}, std::move(result));
    }
};

class waiters_call final : public call<runtime::snapshot_operation, std::vector<waiter_info>> {
public:
    using call::call;

    void deliver() override {
        const std::vector<instance::status> instances = client().instances.states();
        std::vector<waiter_info> result;
        for_each_waiter([&](const runtime::acquire_operation& waiter) {
            waiter_info& one = result.emplace_back();
            one.resource = waiter.spec()->resource();
            one.label = client().settings.label;
            one.is_queued = waiter.is_in_local_queue();
            one.since = platform::clock::to_steady(waiter.arrived());
            one.answers = waiter.story(instances);
        });
        complete({}, std::move(result));
    }
};

void close_in_background(const std::shared_ptr<asio_host>& owner) noexcept {
    if (!owner) {
        return;
    }
    try {
        owner->run([owner] { owner->close(); });
    } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the ttls end the locks
    }
}

}  // namespace

client::client(executor_type executor, config configuration)
    : host_(make_host(std::move(executor), configuration)) {}

client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        close_in_background(host_);
        host_ = std::move(other.host_);
    }
    return *this;
}

client::~client() {
    close_in_background(host_);
}

client::executor_type client::get_executor() const noexcept {
    return executor_of(host_);
}

std::vector<instance_info> client::instances() const {
    std::vector<instance_info> result;
    if (!host_ || host_->is_inherited()) {
        return result;
    }
    for (instance::status& s : host_->parts().instances.states()) {
        result.push_back(detail::info_of(std::move(s)));
    }
    return result;
}

counters client::counters() const {
    colock::counters result;
    if (!host_) {
        return result;
    }
    const runtime::statistics& s = host_->parts().counts;
    result.attempts = s.attempts;
    result.acquired = s.acquired;
    result.contended = s.contended;
    result.unavailable = s.unavailable;
    result.undone = s.undone;
    result.cancelled = s.cancelled;
    result.renewed = s.renewed;
    result.renewals_failed = s.renewals_failed;
    result.healed = s.healed;
    result.released = s.released;
    result.abandoned = s.abandoned;
    result.detached = s.detached;
    result.adopted = s.adopted;
    result.handed_off = s.handed_off;
    result.lost = s.lost;
    result.overstays = s.overstays;
    result.keys_without_ttl = s.keys_without_ttl;
    result.records_read = s.records_read;
    result.writes_applied = s.writes_applied;
    result.writes_refused = s.writes_refused;
    result.writes_unknown = s.writes_unknown;
    result.once_ran = s.once_ran;
    result.once_found = s.once_found;
    result.held = s.held;
    result.acquiring = s.acquiring;
    result.queued = s.queued;
    result.waiting_to_send = s.waiting_to_send;
    result.releasing = s.releasing;
    return result;
}

histograms client::histograms() const {
    colock::histograms result;
    if (host_) {
        result.waits = host_->parts().counts.waits.read();
        result.holds = host_->parts().counts.holds.read();
    }
    return result;
}

client::executor_type client::executor_of(const std::shared_ptr<asio_host>& owner) noexcept {
    return owner ? owner->user_executor() : executor_type(boost::asio::system_executor());
}

void client::start_close(const std::shared_ptr<asio_host>& owner, detail::handler<> handler) {
    if (!owner) {
        std::move(handler)(detail::delivery{executor_of(owner), false}, {});
    } else if (owner->is_inherited()) {
        refuse<>(owner.get(), std::move(handler), {});
    } else {
        start_call<close_call>(owner, std::move(handler));
    }
}

/// Starts a call that reads the state of the client, or fails it.
template <typename Call, typename Result>
void start_snapshot(const std::shared_ptr<asio_host>& owner, detail::handler<Result> handler) {
    if (!fails_at_start(owner.get(), handler, {})) {
        start_call<Call>(owner, std::move(handler), owner->owned_parts());
    }
}

void client::start_leases(const std::shared_ptr<asio_host>& owner,
                          detail::handler<std::vector<lease_info>> handler) {
    start_snapshot<leases_call>(owner, std::move(handler));
}

void client::start_waiters(const std::shared_ptr<asio_host>& owner,
                           detail::handler<std::vector<waiter_info>> handler) {
    start_snapshot<waiters_call>(owner, std::move(handler));
}

}  // namespace v1
}  // namespace colock
