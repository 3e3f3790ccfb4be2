// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_COMMANDS_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_COMMANDS_HPP

#include "support/small_redis/command_table.hpp"

#include <span>

// The commands, grouped into families.

namespace colock::small_redis {

// The usual positions of keys, and the usual flags.
inline constexpr key_positions one_key{.first = 1, .last = 1};
inline constexpr key_positions all_keys{.first = 1, .last = -1};
inline constexpr unsigned reads = command::reads;
inline constexpr unsigned writes = command::writes;
inline constexpr unsigned grows = command::writes | command::needs_memory;

extern const std::span<const command> string_commands;
extern const std::span<const command> key_commands;
extern const std::span<const command> list_commands;
extern const std::span<const command> sorted_set_commands;
extern const std::span<const command> hash_commands;
extern const std::span<const command> script_commands;
extern const std::span<const command> connection_commands;

}  // namespace colock::small_redis

#endif
