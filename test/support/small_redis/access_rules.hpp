// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_ACCESS_RULES_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_ACCESS_RULES_HPP

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// What the users of a server may not do. All users have the same rights.
struct access_rules {
    /// Commands, in lower case: "get", "script|load", or "script" with all of its subcommands.
    std::vector<std::string> denied_commands{};
    /// Which keys they may use. If it is empty, all.
    std::function<bool(std::string_view key)> may_use{};

    [[nodiscard]] bool denies(std::string_view command) const {
        return std::ranges::any_of(denied_commands, [command](const std::string& denied) {
            return command == denied ||
                   (command.starts_with(denied) && command[denied.size()] == '|');
        });
    }
};

}  // namespace colock::small_redis

#endif
