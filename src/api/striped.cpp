// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/striped.hpp>

#include "core/stable_hash.hpp"

#include <colock/error.hpp>
#include <colock/mutex.hpp>

#include <string>

namespace colock {
inline namespace v1 {
namespace detail {

std::uint32_t stripe_of(std::string_view key, std::uint32_t stripes) noexcept {
    return static_cast<std::uint32_t>(core::stable_hash(key) % stripes);
}

void check_stripes(std::uint32_t stripes) {
    constexpr std::uint32_t most = striped<mutex>::max_stripes;
    if (stripes == 0 || stripes > most) {
        throw config_error("stripes", std::to_string(stripes) +
                                          " stripes are not possible. Give 1 to " +
                                          std::to_string(most));
    }
}

std::string name_of_stripe(std::string_view resource, std::uint32_t index) {
    return std::string(resource).append(":").append(std::to_string(index));
}

}  // namespace detail
}  // namespace v1
}  // namespace colock
