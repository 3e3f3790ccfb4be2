#ifndef COLOCK_RUNTIME_TOKEN_HPP
#define COLOCK_RUNTIME_TOKEN_HPP

#include <array>
#include <cstdint>
#include <random>
#include <string_view>

namespace colock::runtime {

/// The random value by which instances know the holder of a key: 20 random bytes as 40 hexadecimal
/// digits, so that it can be read in redis-cli.
class token {
public:
    [[nodiscard]] std::string_view view() const noexcept {
        return {digits_.data(), digits_.size()};
    }

private:
    friend class token_source;
    std::array<char, 40> digits_{};
};

/// Draws tokens and seeds; itself seeded from the system's entropy. Tokens need to be unique, not
/// secret: whoever can read them from the server can delete the keys as well.
class token_source {
public:
    token_source();
    token next_token();
    std::uint64_t next_seed() { return generator_(); }

private:
    std::mt19937_64 generator_;
};

}  // namespace colock::runtime

#endif
