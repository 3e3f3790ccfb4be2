#include "core/tenure.hpp"

#include <algorithm>

namespace colock::core {

duration tenure::pause(time_point now) const noexcept {
    constexpr duration longest = milliseconds(10);
    return std::max(std::min(2 * round_trip_, longest), time_for_others(now - since_));
}

}  // namespace colock::core
