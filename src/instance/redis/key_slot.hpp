// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_KEY_SLOT_HPP
#define COLOCK_INSTANCE_REDIS_KEY_SLOT_HPP

#include "kinds/auxiliary_key.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::instance::redis {

/// The number of slots of a Redis Cluster. See
/// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
inline constexpr std::size_t slot_count = 16384;

namespace detail {

/// Returns the CRC-16/XMODEM of each byte.
consteval std::array<std::uint16_t, 256> crc16_table() {
    std::array<std::uint16_t, 256> table{};
    for (std::size_t byte = 0; byte != table.size(); ++byte) {
        auto crc = static_cast<std::uint32_t>(byte << 8U);
        for (int bit = 0; bit != 8; ++bit) {
            const bool carry = (crc & 0x8000U) != 0;
            crc = (crc << 1U ^ (carry ? 0x1021U : 0U)) & 0xFFFFU;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

}  // namespace detail

/// Returns the slot of a key, or of its hash tag if it has one.
constexpr std::size_t key_slot(std::string_view key) noexcept {
    constexpr auto table = detail::crc16_table();
    std::uint32_t crc = 0;
    for (const char c : kinds::hashed_part(key)) {
        crc = (crc << 8U ^ table[(crc >> 8U ^ static_cast<unsigned char>(c)) & 0xFFU]) & 0xFFFFU;
    }
    return crc % slot_count;
}

}  // namespace colock::instance::redis

#endif
