// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SCRIPT_COMMANDS_HPP
#define COLOCK_KINDS_SCRIPT_COMMANDS_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace colock::kinds {

/// The locks that a server cannot serve if its scripts may not use a command: one bit each.
enum class needed_by : std::uint8_t {
    no_lock = 0,  ///< releases then go one by one, or waiters poll, or an error says less
    every_lock = 1,
    readers = 2,
    fencing = 4,  ///< kinds with fences
    semaphores = 8,
    records = 16,
    orders = 32,  ///< locks whose order binds
    sets = readers | semaphores,
    all_sets = sets | orders,
    all_but_plain = readers | fencing | semaphores | records,
};

/// Whether those include these.
[[nodiscard]] constexpr bool includes(needed_by those, needed_by these) noexcept {
    return (static_cast<unsigned>(those) & static_cast<unsigned>(these)) != 0;
}

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
    // An even number of arguments behind the key is needed, but looked at only after the rights.
    {"hset", needed_by::records, "'hset',k,'','',''"},
    {"persist", needed_by::records, "'persist',k"},
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
