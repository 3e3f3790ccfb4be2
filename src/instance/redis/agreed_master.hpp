// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_AGREED_MASTER_HPP
#define COLOCK_INSTANCE_REDIS_AGREED_MASTER_HPP

#include "core/time.hpp"

#include <optional>
#include <span>
#include <string>

namespace colock::instance::redis {

/// Which server is the master, as one Sentinel says.
struct named_master {
    std::string host;
    std::string port;
    /// The Sentinel has said so since then, or for longer. (A Sentinel that was restarted forgets for how long.)
    core::time_point since;

    [[nodiscard]] bool same_place(const named_master& other) const noexcept {
        return host == other.host && port == other.port;
    }
};

/// What the Sentinels of an instance last said; nothing of those that cannot be asked.
using master_opinions = std::span<const std::optional<named_master>>;

/// The master that a majority of all Sentinels names, and since when a majority has. (A Sentinel that is cut off goes
/// on naming the old one.)
std::optional<named_master> agreed_master(master_opinions opinions);

/// Whether a Sentinel names another master than this one.
bool is_contradicted(const named_master& master, master_opinions opinions);

}  // namespace colock::instance::redis

#endif
