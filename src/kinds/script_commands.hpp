// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SCRIPT_COMMANDS_HPP
#define COLOCK_KINDS_SCRIPT_COMMANDS_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace colock::kinds {

/// The locks that a server cannot serve if its scripts may not use a command. Each lock is one bit.
enum class needed_by : std::uint8_t {
    /// Without the command, releases are sent one by one, waiters poll, or an error has less detail.
    no_lock = 0,
    every_lock = 1,
    readers = 2,
    fencing = 4,  ///< Kinds with fences.
    semaphores = 8,
    records = 16,
    orders = 32,  ///< Locks whose order is binding.
    sets = readers | semaphores,
    all_sets = sets | orders,
    all_but_plain = readers | fencing | semaphores | records,
};

/// Returns whether `those` has any of `these`.
[[nodiscard]] constexpr bool includes(needed_by those, needed_by these) noexcept {
    return (static_cast<unsigned>(those) & static_cast<unsigned>(these)) != 0;
}

/// A command that scripts call.
struct script_command {
    std::string_view name;
    needed_by whom;
    /// The call by which a script checks whether it may use the command. It has no effect if there is no key
    /// `k`. Empty if no lock needs the command.
    std::string_view harmless_call{};
};

/// All commands that scripts call. A unit test compares them with the scripts.
inline constexpr auto script_commands = std::to_array<script_command>({
    {"get", needed_by::every_lock, "'get',k"},
    {"set", needed_by::every_lock, "'set',k,'','xx','px',1"},
    {"del", needed_by::every_lock, "'del',k"},
    {"pttl", needed_by::every_lock, "'pttl',k"},
    {"pexpire", needed_by::every_lock, "'pexpire',k,1"},
    {"time", needed_by::all_but_plain, "'time'"},
    {"rename", needed_by::sets, "'rename',k,k"},
    {"zadd", needed_by::all_sets, "'zadd',k,'xx',0,''"},
    {"zrange", needed_by::all_sets, "'zrange',k,0,0"},
    {"zscore", needed_by::all_sets, "'zscore',k,''"},
    {"zrem", needed_by::all_sets, "'zrem',k,''"},
    {"zrank", needed_by::orders, "'zrank',k,''"},
    {"exists", needed_by::orders, "'exists',k"},
    {"zcard", needed_by::semaphores, "'zcard',k"},
    {"zrangebyscore", needed_by::semaphores, "'zrangebyscore',k,1,0"},
    {"zremrangebyscore", needed_by::readers, "'zremrangebyscore',k,0,0"},
    {"hmget", needed_by::records, "'hmget',k,''"},
    {"hget", needed_by::records, "'hget',k,''"},
    // HSET needs an even number of arguments after the key. The server checks this only after
    // the permissions.
    {"hset", needed_by::records, "'hset',k,'','',''"},
    {"persist", needed_by::records, "'persist',k"},
    {"mget", needed_by::no_lock},
    {"type", needed_by::no_lock},
    {"zcount", needed_by::no_lock},
    {"lindex", needed_by::no_lock},
    {"llen", needed_by::no_lock},
    {"lpos", needed_by::no_lock},
    {"lrem", needed_by::no_lock},
    {"rpush", needed_by::no_lock},
});

}  // namespace colock::kinds

#endif
