// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "api/instance_info.hpp"

#include "platform/clock.hpp"

#include <utility>

namespace colock {
inline namespace v1 {

std::string_view to_string(instance_state state) noexcept {
    switch (state) {
        case instance_state::connecting:
            return "connecting";
        case instance_state::probing:
            return "probing";
        case instance_state::quarantined:
            return "quarantined";
        case instance_state::ready:
            return "ready";
        case instance_state::down:
            return "down";
        case instance_state::closed:
            return "closed";
    }
    return "unknown";
}

instance_info detail::info_of(instance::status status) {
    if (status.state == instance_state::quarantined) {
        status.reason = std::move(status.why_quarantined);
    }
    status.quarantined_until = platform::clock::to_steady(status.quarantined_until);
    return static_cast<instance_info&&>(status);
}

}  // namespace v1
}  // namespace colock
