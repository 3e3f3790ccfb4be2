// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ENCODER_HPP
#define COLOCK_INSTANCE_REDIS_ENCODER_HPP

#include "instance/batch.hpp"
#include "instance/redis/probe.hpp"
#include "kinds/capabilities.hpp"
#include "kinds/kind.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace colock::instance::redis {

using kinds::capabilities;
using kinds::script_form;

/// Returns how many of the first commands are sent as one command, which has one reply.
inline std::size_t sent_as_one(std::span<const submission> commands, const capabilities& server,
                               script_form form) noexcept {
    const auto with = [&](const submission& one) {
        return one.command.kind->coalesces(one.command, server, form);
    };
    const kinds::coalescing* const together = with(commands.front());
    std::size_t count = 1;
    while (together != nullptr && count != kinds::coalescing::most && count != commands.size() &&
           with(commands[count]) == together) {
        ++count;
    }
    return count;
}

/// Returns whether a command before this one turns on notifications for the key. See
/// https://redis.io/docs/latest/commands/client-caching/
constexpr bool is_watched(core::step step, const capabilities& server, script_form form) noexcept {
    return step == core::step::remaining && server.tells_changes && form != script_form::asking;
}

/// Returns whether a command with its own reply is sent before this one. It watches the key, announces the
/// sender, or is ASKING. ASKING applies to a single command and cannot be combined with the others.
inline bool has_prelude(const kinds::command& command, const capabilities& server,
                        script_form form) noexcept {
    return form == script_form::asking || is_watched(command.step, server, form) ||
           kinds::is_behind_announcement(command, form);
}

/// Encodes batches as RESP. The instances of a client share an encoder and usually get the same batch. The
/// batch is encoded for the first instance, and the others send the same text. Separate encoding would take a
/// third of the client's CPU time for a lock.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class encoder {
public:
    /// Returns all commands of a batch as text, including those for other instances. The text is valid until
    /// the next call of `encode`.
    std::string_view encode(const batch& commands, const server_facts& facts, script_form form);

    /// Encodes like `encode`, but does not encode the same batch twice in a row. The text is valid until the
    /// next call of `encode_shared`.
    std::string_view encode_shared(const std::shared_ptr<const batch>& commands,
                                   const server_facts& facts,
                                   script_form form = script_form::shortest);

private:
    std::string buffer_;
    std::shared_ptr<const batch> last_;  // Kept alive, so that no other batch can have its address.
    std::string_view last_text_;
    std::string last_buffer_;
    capabilities last_capabilities_;
    script_form last_form_ = script_form::shortest;
};

}  // namespace colock::instance::redis

#endif
