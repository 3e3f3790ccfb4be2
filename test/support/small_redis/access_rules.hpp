// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_ACCESS_RULES_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_ACCESS_RULES_HPP

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// The rights that the users of a server lack. All users have the same rights.
struct access_rules {
    /// Commands in lower case, such as "get" or "script|load". The name "script" includes all of its
    /// subcommands.
    std::vector<std::string> denied_commands{};
    /// Returns true if the users may use this key. If empty, they may use all keys.
    std::function<bool(std::string_view key)> may_use{};

    /// Whether scripts may use only those keys that their call has declared. Some services check that.
    bool declared_keys_only = false;

    [[nodiscard]] bool denies(std::string_view command) const {
        return std::ranges::any_of(denied_commands, [command](const std::string& denied) {
            return command == denied ||
                   (command.starts_with(denied) && command[denied.size()] == '|');
        });
    }
};

}  // namespace colock::small_redis

#endif
