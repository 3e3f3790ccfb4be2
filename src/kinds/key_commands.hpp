// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_KEY_COMMANDS_HPP
#define COLOCK_KINDS_KEY_COMMANDS_HPP

#include "kinds/fence.hpp"
#include "kinds/kind.hpp"

// What kinds have in common: the steps of one that holds a key, which extend.lua and release.lua carry out.

namespace colock::kinds {

/// SET with NX and PX: takes the key if there is none.
void write_set(const kinds::command& command, resp::command_writer& to);

/// The part of a step that moves the fence counter on for the holder of the key, without a look at the key.
inline constexpr std::uint8_t counter_part = 1;
void write_count(const kinds::command& command, fence_use use, script_form form,
                 resp::command_writer& to);

/// Extend, release, or remaining.
void write_for_holder(const kinds::command& command, const capabilities& server, script_form form,
                      resp::command_writer& to);
[[nodiscard]] core::vote decode_for_holder(core::step what, const resp::value& reply);
core::vote execute_for_holder(const kinds::command& command, table& keys, const instant& at);

}  // namespace colock::kinds

#endif
