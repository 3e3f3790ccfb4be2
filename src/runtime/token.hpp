// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_TOKEN_HPP
#define COLOCK_RUNTIME_TOKEN_HPP

#include "kinds/label.hpp"
#include "runtime/environment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colock::runtime {

/// The random value that identifies the holder of a key on the instances: 20 random bytes as 40 hexadecimal
/// digits. The digits are readable in redis-cli. The token must be unique, not secret: a client that can read
/// it from the server can also delete the key. A label may follow: see `kinds::label_in`.
///
/// Without a label, it allocates nothing.
class token {
public:
    static constexpr std::size_t longest_prefix = 24;

    /// `prefix` comes before the digits. A label comes after them and has at most `kinds::longest_label`
    /// characters. The digits are `drawn` if another process has drawn them. Otherwise they are random.
    token(environment& world, std::string_view prefix, std::string_view label,
          std::string_view drawn = {});
    token(const token&) = delete;
    token& operator=(const token&) = delete;
    ~token();

    [[nodiscard]] std::string_view view() const noexcept { return behind(prefix_size_); }

    /// Returns the same digits and label with another prefix. `view` does not change.
    [[nodiscard]] std::string_view with_prefix(std::string_view prefix) noexcept;

private:
    static constexpr std::size_t size_without_label = longest_prefix + kinds::token_digits;

    /// Returns the text from `prefix_size` characters before the digits.
    [[nodiscard]] std::string_view behind(std::size_t prefix_size) const noexcept {
        return {text() + longest_prefix - prefix_size,
                prefix_size + kinds::token_digits + label_size_};
    }
    [[nodiscard]] const char* text() const noexcept {
        return label_size_ == 0 ? here_.data() : elsewhere_.get();
    }
    [[nodiscard]] char* text() noexcept {
        return label_size_ == 0 ? here_.data() : elsewhere_.get();
    }

    union {
        std::array<char, size_without_label> here_;
        std::unique_ptr<char[]> elsewhere_;  // If there is a label.
    };
    std::uint8_t prefix_size_;
    std::uint8_t label_size_;  // Includes the mark before the label.
};

}  // namespace colock::runtime

#endif
