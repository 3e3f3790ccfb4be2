#ifndef COLOCK_RUNTIME_TOKEN_HPP
#define COLOCK_RUNTIME_TOKEN_HPP

#include "runtime/environment.hpp"

#include <array>
#include <string_view>

namespace colock::runtime {

/// The random value by which instances know the holder of a key: 20 random bytes as 40 hexadecimal
/// digits, so that it can be read in redis-cli. It needs to be unique, not secret: a client that can read it from the
/// server can delete the key as well.
class token {
public:
    [[nodiscard]] static token draw(environment& world) noexcept;

    [[nodiscard]] std::string_view view() const noexcept {
        return {digits_.data(), digits_.size()};
    }

private:
    token() = default;

    std::array<char, 40> digits_{};
};

}  // namespace colock::runtime

#endif
