// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_HOLDER_STEPS_HPP
#define COLOCK_KINDS_HOLDER_STEPS_HPP

#include "kinds/coalescing.hpp"
#include "kinds/kind.hpp"

// Steps that several kinds share: those of a token that holds a `lock_key`. On servers, extend.lua and
// release.lua execute them.

namespace colock::kinds {

/// Writes SET with NX and PX, which acquires the key if it does not exist.
void write_set(const kinds::command& command, resp::command_writer& to);

/// Combines releases into one call of release_many.lua, for kinds that release.lua releases. This costs a
/// server three fifths of the time that separate releases cost. The client reads one reply instead of one
/// for each release.
class release_many final : public coalescing {
public:
    constexpr release_many() = default;

    void encode(std::span<const command* const> commands, script_form form,
                resp::command_writer& to) const override;
    [[nodiscard]] core::vote decode(std::size_t index, std::size_t count,
                                    const resp::value& reply) const override;
};
inline constexpr release_many releases_together;

/// The release by the server's own command: writes it, and decodes its reply.
void write_native_release(const kinds::command& command, const capabilities& server,
                          resp::command_writer& to);
[[nodiscard]] core::vote decode_native_release(const resp::value& reply);

/// The steps extend, release and remaining: writes, decodes and executes them.
void write_for_holder(const kinds::command& command, const capabilities& server, script_form form,
                      resp::command_writer& to);
[[nodiscard]] core::vote decode_for_holder(core::step what, const resp::value& reply);
core::vote execute_for_holder(const kinds::command& command, table& keys, const instant& at);

}  // namespace colock::kinds

#endif
