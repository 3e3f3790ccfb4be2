// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_TOKEN_HPP
#define COLOCK_RUNTIME_TOKEN_HPP

#include "runtime/environment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::runtime {

/// The random value by which instances know the holder of a key: 20 random bytes as 40 hexadecimal
/// digits, so that it can be read in redis-cli. It needs to be unique, not secret: a client that can read it from the
/// server can delete the key as well.
class token {
public:
    static constexpr std::size_t longest_prefix = 8;

    [[nodiscard]] static token draw(environment& world, std::string_view prefix) noexcept;

    [[nodiscard]] std::string_view view() const noexcept {
        return {&text_[longest_prefix - prefix_size_], prefix_size_ + digits};
    }

    /// The same digits with another prefix in front of them. `view` stays as it is.
    [[nodiscard]] std::string_view with_prefix(std::string_view prefix) noexcept;

private:
    static constexpr std::size_t digits = 40;

    token() = default;

    std::array<char, longest_prefix + digits> text_{};
    std::uint8_t prefix_size_ = 0;
};

}  // namespace colock::runtime

#endif
