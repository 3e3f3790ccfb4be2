// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/token.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace colock::runtime {
namespace {

/// Returns four bytes as eight hexadecimal digits, in some order. Computes all digits at once.
std::uint64_t digits_of(std::uint32_t bytes) noexcept {
    std::uint64_t nibbles = bytes;  // Spread out, one per byte.
    nibbles = (nibbles | nibbles << 16U) & 0x0000ffff0000ffffU;
    nibbles = (nibbles | nibbles << 8U) & 0x00ff00ff00ff00ffU;
    nibbles = (nibbles | nibbles << 4U) & 0x0f0f0f0f0f0f0f0fU;
    const std::uint64_t letters = (nibbles + 0x0606060606060606U) >> 4U & 0x0101010101010101U;
    return nibbles + 0x3030303030303030U + letters * ('a' - '0' - 10);
}

}  // namespace

token::token(environment& world, std::string_view prefix, std::string_view label,
             std::string_view drawn)
    : here_(),
      prefix_size_(static_cast<std::uint8_t>(prefix.size())),
      label_size_(static_cast<std::uint8_t>(label.empty() ? 0 : 1 + label.size())) {
    assert(label.size() <= kinds::longest_label);
    if (label_size_ != 0) {
        std::construct_at(&elsewhere_, std::make_unique<char[]>(size_without_label + label_size_));
        text()[size_without_label] = kinds::label_mark;
        std::ranges::copy(label, text() + size_without_label + 1);
    }
    static_cast<void>(with_prefix(prefix));
    if (!drawn.empty()) {
        assert(drawn.size() == kinds::token_digits);
        std::ranges::copy(drawn, text() + longest_prefix);
        return;
    }
    std::uint64_t bits = 0;
    for (std::size_t at = longest_prefix; at != size_without_label; at += sizeof(std::uint64_t)) {
        // mutant: one_token_for_all
        bits = bits >> 32U != 0 ? bits >> 32U : world.random();
        const std::uint64_t some = digits_of(static_cast<std::uint32_t>(bits));
        std::memcpy(text() + at, &some, sizeof(some));
    }
}

token::~token() {
    if (label_size_ != 0) {
        std::destroy_at(&elsewhere_);
    }
}

std::string_view token::with_prefix(std::string_view prefix) noexcept {
    assert(prefix.size() <= longest_prefix);
    std::ranges::copy(prefix, text() + longest_prefix - prefix.size());
    return behind(prefix.size());
}

}  // namespace colock::runtime
