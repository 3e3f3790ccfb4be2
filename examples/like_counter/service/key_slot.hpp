// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_KEY_SLOT_HPP
#define LIKE_COUNTER_KEY_SLOT_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace like_counter {

/// The slots of a Redis Cluster.
inline constexpr std::size_t slot_count = 16384;

/// The slot of a key: the CRC16 (XMODEM) of its hash tag, or of all of it if it has none. The hash tag is what
/// stands between the first '{' and the next '}', if that is not empty.
constexpr std::uint16_t key_slot(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    if (open != std::string_view::npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != std::string_view::npos && close != open + 1) {
            key = key.substr(open + 1, close - open - 1);
        }
    }
    constexpr unsigned polynomial = 0x1021;
    unsigned crc = 0;
    for (const char c : key) {
        crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
        for (int bit = 0; bit != 8; ++bit) {
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ polynomial : crc << 1U;
        }
        crc &= 0xffffU;
    }
    return static_cast<std::uint16_t>(crc % slot_count);
}

}  // namespace like_counter

#endif
