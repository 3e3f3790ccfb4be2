// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_STABLE_HASH_HPP
#define COLOCK_CORE_STABLE_HASH_HPP

#include <cstdint>
#include <string_view>

namespace colock::core {

/// A hash on which all processes agree, whatever they were built with: FNV-1a,
/// http://www.isthe.com/chongo/tech/comp/fnv/
constexpr std::uint64_t stable_hash(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return hash;
}

}  // namespace colock::core

#endif
