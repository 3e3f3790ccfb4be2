// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/client_hold.hpp"

#include <algorithm>

namespace colock::core {

duration client_hold::cool_down(time_point now) const noexcept {
    constexpr duration longest = milliseconds(10);
    return std::max(std::min(2 * round_trip_, longest), minimum_cool_down(now - since_));
}

}  // namespace colock::core
