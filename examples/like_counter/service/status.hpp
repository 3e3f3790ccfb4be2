// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_STATUS_HPP
#define LIKE_COUNTER_STATUS_HPP

#include "counters.hpp"

#include <colock/client.hpp>
#include <colock/counters.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace like_counter {

/// How many of the instances are ready, and how many must be.
struct quorum_state {
    std::size_t ready;
    std::size_t instances;
    [[nodiscard]] std::size_t quorum() const noexcept { return instances / 2 + 1; }
    [[nodiscard]] bool reached() const noexcept { return ready >= quorum(); }
};

quorum_state quorum_of(const std::vector<colock::instance_info>& instances);

nlohmann::json to_json(const std::vector<colock::instance_info>& instances);
nlohmann::json to_json(const colock::counters& locks);
nlohmann::json to_json(const counters& service);

}  // namespace like_counter

#endif
