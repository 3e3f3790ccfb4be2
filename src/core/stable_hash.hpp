// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_STABLE_HASH_HPP
#define COLOCK_CORE_STABLE_HASH_HPP

#include <cstdint>
#include <string_view>

namespace colock::core {

/// Returns the FNV-1a hash of a text. All processes compute the same hash, however they were built.
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
