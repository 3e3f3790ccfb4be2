// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SCRIPT_COMMANDS_HPP
#define COLOCK_KINDS_SCRIPT_COMMANDS_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace colock::kinds {

/// The locks that a server cannot serve if its scripts may not use a command.
enum class needed_by : std::uint8_t {
    every_lock,
    readers,  ///< kinds that admit several holders
    fencing,  ///< kinds with fences
    readers_and_fencing,
    no_lock,  ///< releases then go one by one, or waiters poll, or an error says less
};

/// A command that scripts call.
struct script_command {
    std::string_view name;
    needed_by whom;
    /// What a script calls to see whether it may. Without a key `k` it has no effect. Not tried if no lock needs it.
    std::string_view harmless_call{};
};

/// All of them. (A unit test compares them with the scripts.)
inline constexpr auto script_commands = std::to_array<script_command>({
    {"get", needed_by::every_lock, "'get',k"},
    {"set", needed_by::every_lock, "'set',k,'','xx','px',1"},
    {"del", needed_by::every_lock, "'del',k"},
    {"pttl", needed_by::every_lock, "'pttl',k"},
    {"pexpire", needed_by::every_lock, "'pexpire',k,1"},
    {"time", needed_by::readers_and_fencing, "'time'"},
    {"rename", needed_by::readers, "'rename',k,k"},
    {"zadd", needed_by::readers, "'zadd',k,'xx',0,''"},
    {"zrange", needed_by::readers, "'zrange',k,0,0"},
    {"zscore", needed_by::readers, "'zscore',k,''"},
    {"zrem", needed_by::readers, "'zrem',k,''"},
    {"zremrangebyscore", needed_by::readers, "'zremrangebyscore',k,0,0"},
    {"exists", needed_by::no_lock},
    {"mget", needed_by::no_lock},
    {"type", needed_by::no_lock},
    {"lindex", needed_by::no_lock},
    {"llen", needed_by::no_lock},
    {"lpos", needed_by::no_lock},
    {"lrem", needed_by::no_lock},
    {"rpush", needed_by::no_lock},
});

}  // namespace colock::kinds

#endif
