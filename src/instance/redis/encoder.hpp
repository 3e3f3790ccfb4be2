#ifndef COLOCK_INSTANCE_REDIS_ENCODER_HPP
#define COLOCK_INSTANCE_REDIS_ENCODER_HPP

#include "instance/batch.hpp"
#include "instance/redis/probe.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace colock::instance::redis {

/// How the server is told to do what no command that all servers know does.
enum class script_form : std::uint8_t {
    shortest,  ///< by a command of its own where it has one, else by a script's digest; many as one
    digest,    ///< by a script's digest, each by itself
    in_full,   ///< by a script, each by itself
    many_in_full,  ///< by a script; many as one
    asking,  ///< by a script, each by itself, for a slot that the server is about to take over
};

/// Whether scripts are sent themselves, which every server knows.
constexpr bool is_in_full(script_form form) noexcept {
    return form == script_form::in_full || form == script_form::many_in_full ||
           form == script_form::asking;
}

/// Whether a command goes to the server as one of its own.
constexpr bool is_native(core::verb verb, const capabilities& words, script_form form) noexcept {
    return verb == core::verb::release && form == script_form::shortest &&
           words.native_delete != native_delete::none;
}

/// How many of these commands, from the first on, go to the server as one, to which it gives one reply:
/// releases that come one behind the other, in one run of a script. (It costs a server three fifths of what
/// they cost one by one, and the client a reply to read for each.) Not too many, since the server does nothing
/// else meanwhile.
inline std::size_t sent_as_one(std::span<const submission> commands, const capabilities& words,
                               script_form form) noexcept {
    constexpr std::size_t most = 64;
    const bool usual = form == script_form::shortest && !words.is_clustered &&
                       words.native_delete == native_delete::none;
    if (!usual && form != script_form::many_in_full) {
        return 1;
    }
    std::size_t count = 0;
    while (count != most && count != commands.size() &&
           commands[count].command.verb == core::verb::release) {
        ++count;
    }
    return std::max<std::size_t>(count, 1);
}

/// Whether the server is to tell what happens to the key from then on, by a command in front of this one.
/// (https://redis.io/docs/latest/commands/client-caching/)
constexpr bool is_watched(core::verb verb, const capabilities& words, script_form form) noexcept {
    return verb == core::verb::remaining && words.tells_changes && form != script_form::asking;
}

/// Whether a command comes behind another one, which has a reply of its own: that one, or ASKING, which serves for
/// a single command and cannot be combined with it.
constexpr bool has_prelude(core::verb verb, const capabilities& words, script_form form) noexcept {
    return form == script_form::asking || is_watched(verb, words, form);
}

/// Writes batches as RESP. The instances of a client share an encoder, and are mostly given the same
/// batch: it is written for the first of them, and the others send the same text. (Writing it for
/// each would be a third of what a lock costs its client.)
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class encoder {
public:
    /// The commands of a batch, those for other instances too, as text that is valid until the next call of
    /// `encode`. `facts` has the scripts' digests on the server.
    std::string_view encode(const batch& commands, const server_facts& facts, script_form form);

    /// As `encode`, but valid until the next call of `encode_shared`, which does not write the same batch again.
    std::string_view encode_shared(const std::shared_ptr<const batch>& commands,
                                   const server_facts& facts,
                                   script_form form = script_form::shortest);

private:
    std::string buffer_;
    std::shared_ptr<const batch> last_;  // kept, so that no other batch can have its address
    std::string_view last_text_;
    std::string last_buffer_;
    capabilities last_capabilities_;
    script_form last_form_ = script_form::shortest;
};

}  // namespace colock::instance::redis

#endif
