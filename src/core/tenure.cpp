#include "core/tenure.hpp"

#include <algorithm>

namespace colock::core {

duration tenure::pause(time_point now) const noexcept {
    constexpr duration longest = milliseconds(10);
    return std::min(std::max(2 * round_trip_, (now - since_) / 16), longest);
}

}  // namespace colock::core
