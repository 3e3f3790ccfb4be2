// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/client_context.hpp"

#include "runtime/key/lease_driver.hpp"
#include "runtime/key/places.hpp"
#include "runtime/key/ticket.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/operations/request_operation.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace colock::runtime {

client_context::client_context(environment& world_of_client, engine_settings checked)
    : loop(world_of_client),
      events(turn, std::move(checked.receiver)),
      settings(std::move(checked)) {}

client_context::~client_context() = default;

void client_context::note_acquired(const lease_driver& lease, core::duration waited) noexcept {
    // The time of the turn may be slightly old.
    waited = std::max(waited, core::duration::zero());
    ++counts.acquired;
    counts.waits.add(waited);
    events.add([&] {
        return acquired_event{std::string(lease.resource()), std::string(lease.token()),
                              lease.fence(), lease.is_shared(lease.holder()), waited};
    });
}

void client_context::on_broken(std::string_view key, std::string_view token) {
    const auto broken = std::ranges::find_if(members.leases, [&](const lease_driver& one) {
        const lock_spec& lock = *one.shared_spec();
        return one.is_at_key() &&
               token_parts::of(token).digits == token_parts::of(one.token()).digits &&
               (key == lock.key || std::ranges::count(lock.more_names, key) != 0);
    });
    if (broken != members.leases.end()) {
        broken->on_broken();
    }
}

}  // namespace colock::runtime
