// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_OBSERVER_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_OBSERVER_HPP

#include "support/small_redis/command_table.hpp"

#include <span>
#include <string>
#include <string_view>

namespace colock::small_redis {

class session;

/// A command that a server has executed or refused.
struct executed {
    std::string_view name;  ///< The name in the table, or empty for an unknown command.
    words arguments;
    bool is_in_script;  ///< A script has called it. The command of the script follows.
    bool has_failed;    ///< The reply is an error.
    session* client;    ///< The sender, or null.
    std::span<const std::string> changed;  ///< The changed keys, with repetitions.
};

/// Is notified of each command. It must not call the server.
class observer {
public:
    observer() = default;
    observer(const observer&) = delete;
    observer& operator=(const observer&) = delete;
    virtual ~observer() = default;

    virtual void on_executed(const executed& what) = 0;
};

}  // namespace colock::small_redis

#endif
