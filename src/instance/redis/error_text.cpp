// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/error_text.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::instance::redis {
namespace {

/// Start of a script's error before Redis 7.0.
constexpr std::string_view raised_by = "ERR Error running script (call to f_";
constexpr std::string_view place_in_script = "@user_script:";

bool is_code(std::string_view word) noexcept {
    return word.size() > 1 &&
           std::ranges::all_of(word, [](char c) { return 'A' <= c && c <= 'Z'; });
}

/// Removes `@user_script:10: ` or `@user_script: 10: ` if the text begins with it. Returns whether it did.
bool drop_place(std::string_view& text) noexcept {
    if (!text.starts_with(place_in_script)) {
        return false;
    }
    const std::size_t line = text.find_first_not_of(' ', place_in_script.size());
    const std::size_t end = text.find(": ", line);
    if (end == std::string_view::npos) {
        return false;
    }
    text.remove_prefix(end + 2);
    return true;
}

}  // namespace

error_text read_error(std::string_view text) noexcept {
    if (text.starts_with(raised_by)) {
        const std::size_t end = text.find("): ");
        text.remove_prefix(end == std::string_view::npos ? 0 : end + 3);
    }
    while (drop_place(text)) {
    }
    if (text.starts_with('-')) {
        text.remove_prefix(1);
    }
    const std::string_view word = text.substr(0, text.find_first_of(" \r\n"));
    if (!is_code(word)) {
        return {"ERR", text};
    }
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return {word, text};
}

bool is_forbidden(const error_text& error) noexcept {
    return error.code == "NOPERM" ||
           (error.code == "ERR" && (error.message.starts_with("ACL failure in script") ||
                                    error.message.starts_with("The user executing the script")));
}

bool is_command_refused(const error_text& error) noexcept {
    constexpr std::string_view unknown[] = {
        "unknown command",
        "Unknown Redis command called from",  // Redis.
        "Unknown command called from",        // Valkey.
    };
    constexpr std::string_view not_this_command[] = {
        "permissions to run the",  // Of NOPERM, and of "ACL failure in script" since 7.2.
        "can't run this command",  // Before 7.0.
    };
    if (is_forbidden(error)) {
        return std::ranges::any_of(not_this_command, [&](std::string_view part) {
            return error.message.find(part) != std::string_view::npos;
        });
    }
    return error.code == "ERR" && std::ranges::any_of(unknown, [&](std::string_view text) {
               return error.message.starts_with(text);
           });
}

}  // namespace colock::instance::redis
