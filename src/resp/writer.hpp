// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RESP_WRITER_HPP
#define COLOCK_RESP_WRITER_HPP

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

// Commands in the format of a server: https://redis.io/docs/latest/develop/reference/protocol-spec/

namespace colock::resp {

constexpr std::size_t longest_number = std::numeric_limits<long long>::digits10 + 2;

/// A number as text.
class number {
public:
    explicit number(long long value)
        : size_(static_cast<std::size_t>(
              std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr - text_.data())) {
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

private:
    std::array<char, longest_number> text_{};
    std::size_t size_;
};

namespace detail {

constexpr char* write_line_end(char* at) noexcept {
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

constexpr char* write_size(char* at, char kind, std::size_t size) noexcept {
    *at++ = kind;
    if (size < 10) {
        *at++ = static_cast<char>('0' + size);
    } else if (size < 100) {
        *at++ = static_cast<char>('0' + size / 10);
        *at++ = static_cast<char>('0' + size % 10);
    } else {
        at = std::to_chars(at, at + longest_number, size).ptr;
    }
    return write_line_end(at);
}

constexpr char* write_argument(char* at, std::string_view text) noexcept {
    at = write_size(at, '$', text.size());
    at = std::copy(text.begin(), text.end(), at);
    return write_line_end(at);
}

/// The maximum size of the frame of an argument: "$<size>\r\n", and "\r\n".
constexpr std::size_t around_argument = 1 + longest_number + 2 + 2;

}  // namespace detail

/// An argument that is known at compile time.
template <std::size_t Size>
struct word {
    consteval word(const char (&literal)[Size])  // NOLINT(*-explicit-*)
    {
        std::copy_n(literal, Size - 1, text.begin());
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept {
        return {text.data(), text.size()};
    }
    std::array<char, Size - 1> text{};
};

/// A sequence of words, encoded for the wire at compile time.
template <word... Words>
struct word_list {
    static constexpr std::size_t size = sizeof...(Words);

    [[nodiscard]] static constexpr std::string_view encoded() noexcept {
        return {buffer.text.data(), buffer.size};
    }

private:
    struct encoding {
        consteval encoding() {
            char* at = text.data();
            ((at = detail::write_argument(at, Words.view())), ...);
            size = static_cast<std::size_t>(at - text.data());
        }
        std::array<char, ((Words.text.size() + detail::around_argument) + ...)> text{};
        std::size_t size;
    };
    static constexpr encoding buffer{};
};
template <word... Words>
constexpr word_list<Words...> words;

/// Writes commands one after the other.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class command_writer {
public:
    /// Overwrites `buffer`, and lets it grow. It must outlive the writer.
    explicit command_writer(std::string& buffer) : buffer_(buffer) {}

    /// Writes a command of `words`, strings, and spans of strings.
    template <typename... Arguments>
    void write(const Arguments&... arguments) {
        char* at = room_for(detail::around_argument + (most(arguments) + ...));
        at = detail::write_size(at, '*', (count(arguments) + ...));
        ((at = put(at, arguments)), ...);
        end_at(at);
    }

    /// Returns the written text, which is the beginning of the buffer.
    [[nodiscard]] std::string_view text() const noexcept { return {buffer_.data(), size_}; }

private:
    static constexpr std::size_t count(std::string_view /*one*/) noexcept { return 1; }
    static constexpr std::size_t most(std::string_view one) noexcept {
        return one.size() + detail::around_argument;
    }
    static char* put(char* at, std::string_view one) noexcept {
        return detail::write_argument(at, one);
    }

    using strings = std::span<const std::string_view>;
    static constexpr std::size_t count(strings some) noexcept { return some.size(); }
    static constexpr std::size_t most(strings some) noexcept {
        std::size_t result = 0;
        for (const std::string_view one : some) {
            result += most(one);
        }
        return result;
    }
    static char* put(char* at, strings some) noexcept {
        for (const std::string_view one : some) {
            at = put(at, one);
        }
        return at;
    }

    template <word... Words>
    static constexpr std::size_t count(word_list<Words...> some) noexcept {
        return some.size;
    }
    template <word... Words>
    static constexpr std::size_t most(word_list<Words...> some) noexcept {
        return some.encoded().size();
    }
    template <word... Words>
    static char* put(char* at, word_list<Words...> some) noexcept {
        return std::copy_n(some.encoded().begin(), some.encoded().size(), at);
    }

    [[nodiscard]] char* room_for(std::size_t more) {
        if (buffer_.size() - size_ < more) {
            constexpr std::size_t at_first = 512;
            buffer_.resize(std::max(at_first, 2 * (size_ + more)));
        }
        return buffer_.data() + size_;
    }

    void end_at(const char* end) noexcept {
        size_ = static_cast<std::size_t>(end - buffer_.data());
    }

    std::string& buffer_;
    std::size_t size_ = 0;
};

}  // namespace colock::resp

#endif
