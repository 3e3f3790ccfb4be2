// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SECRETS_HPP
#define COLOCK_TEST_SUPPORT_SECRETS_HPP

#include "support/fake_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Recognizable passwords, and a record of texts that must not contain any of them.

namespace colock::test {

/// Every password of these tests consists of pieces that begin with this mark, separated by special
/// characters. A search for the mark also finds a single piece of a password, or only the beginning of a
/// piece.
inline constexpr std::string_view secret_mark = "zq9x";

/// Returns a distinguishable piece of a password.
inline std::string secret(std::string_view name) {
    return std::string(secret_mark) + std::string(name);
}

inline std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return text;
}

/// Decodes percent escapes, such as %41 for A.
inline std::string percent_decoded(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i != text.size(); ++i) {
        unsigned char byte = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            result += static_cast<char>(byte);
            i += 2;
        } else {
            result += text[i];
        }
    }
    return result;
}

/// The texts that a run has produced.
class transcript {
public:
    void add(std::string text) { texts_.push_back(std::move(text)); }

    [[nodiscard]] bool has(std::string_view part) const {
        return std::ranges::any_of(
            texts_, [&](const std::string& text) { return text.find(part) != std::string::npos; });
    }

    /// Checks that these texts were produced. An empty record would contain no secret either.
    void check_has(const std::vector<std::string>& parts) const {
        for (const std::string& part : parts) {
            BOOST_TEST(has(part), "nothing says \"" << part << "\":\n" << all());
        }
    }

    void check_no_secret() const {
        BOOST_TEST(!texts_.empty());
        for (const std::string& text : texts_) {
            BOOST_TEST(!holds_secret(text), "there is a password in: " << text);
        }
    }

    static bool holds_secret(const std::string& text) {
        return lower_case(text).find(secret_mark) != std::string::npos ||
               lower_case(percent_decoded(text)).find(secret_mark) != std::string::npos;
    }

private:
    [[nodiscard]] std::string all() const {
        std::string result;
        for (const std::string& text : texts_) {
            result += "  " + text + "\n";
        }
        return result;
    }

    std::vector<std::string> texts_;
};

/// The error of Redis for an unknown command. It repeats up to 128 bytes of the arguments. Redis before 6.0
/// replies in this way to HELLO, whose arguments contain the password.
inline std::string unknown_command(const fake_server::words& command) {
    constexpr std::size_t most = 128;
    std::string arguments;
    for (std::size_t i = 1; i != command.size() && arguments.size() < most; ++i) {
        arguments += "`" + command[i].substr(0, most - arguments.size()) + "`, ";
    }
    return "-ERR unknown command `" + command[0] + "`, with args beginning with: " + arguments +
           "\r\n";
}

}  // namespace colock::test

#endif
