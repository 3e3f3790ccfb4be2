// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_AGREED_MASTER_HPP
#define COLOCK_INSTANCE_REDIS_AGREED_MASTER_HPP

#include "core/time.hpp"

#include <optional>
#include <span>
#include <string>

namespace colock::instance::redis {

/// The master that one Sentinel reports.
struct named_master {
    std::string host;
    std::string port;
    /// The Sentinel has reported it at least since this time. A restarted Sentinel loses the start time.
    core::time_point since;

    [[nodiscard]] bool same_place(const named_master& other) const noexcept {
        return host == other.host && port == other.port;
    }
};

/// The last report of each Sentinel of an instance. Empty for a Sentinel that is unreachable.
using master_opinions = std::span<const std::optional<named_master>>;

/// Returns the master that a majority of all Sentinels reports, and since when a majority has. A Sentinel
/// that is cut off still reports the former master.
std::optional<named_master> agreed_master(master_opinions opinions);

/// Returns whether any Sentinel reports another master.
bool is_contradicted(const named_master& master, master_opinions opinions);

}  // namespace colock::instance::redis

#endif
