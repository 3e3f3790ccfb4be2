// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_HOLDER_STEPS_HPP
#define COLOCK_KINDS_HOLDER_STEPS_HPP

#include "kinds/coalescing.hpp"
#include "kinds/kind.hpp"

// What several kinds have in common: the steps for the holder of a `lock_key`, which extend.lua and release.lua carry out.

namespace colock::kinds {

/// SET with NX and PX: takes the key if there is none.
void write_set(const kinds::command& command, resp::command_writer& to);

/// Many releases in one call of release_many.lua, for kinds that release.lua releases. It costs a server three fifths of what they
/// cost one by one, and the client a reply to read for each.
class release_many final : public coalescing {
public:
    constexpr release_many() = default;

    void encode(std::span<const command* const> commands, script_form form,
                resp::command_writer& to) const override;
    [[nodiscard]] core::vote decode(std::size_t index, std::size_t count,
                                    const resp::value& reply) const override;
};
inline constexpr release_many releases_together;

/// A release by a command of the server's own, and the vote on it.
void write_native_release(const kinds::command& command, const capabilities& server,
                          resp::command_writer& to);
[[nodiscard]] core::vote decode_native_release(const resp::value& reply);

/// Extend, release, or remaining.
void write_for_holder(const kinds::command& command, const capabilities& server, script_form form,
                      resp::command_writer& to);
[[nodiscard]] core::vote decode_for_holder(core::step what, const resp::value& reply);
core::vote execute_for_holder(const kinds::command& command, table& keys, const instant& at);

}  // namespace colock::kinds

#endif
