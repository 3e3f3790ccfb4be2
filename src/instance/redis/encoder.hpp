#ifndef COLOCK_INSTANCE_REDIS_ENCODER_HPP
#define COLOCK_INSTANCE_REDIS_ENCODER_HPP

#include "instance/batch.hpp"
#include "instance/redis/probe.hpp"
#include "instance/shared_pool.hpp"

#include <boost/redis/request.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>

namespace colock::instance::redis {

/// How the server is told to do what no command that all servers know does.
enum class script_form : std::uint8_t {
    shortest,  ///< by a command of its own where it has one, else by a script's digest; many as one
    digest,    ///< by a script's digest, each by itself
    in_full,   ///< by a script, each by itself
    many_in_full,  ///< by a script; many as one
};

/// Whether scripts are sent themselves, which every server knows.
constexpr bool is_in_full(script_form form) noexcept {
    return form == script_form::in_full || form == script_form::many_in_full;
}

/// Whether a command goes to the server as one of its own.
constexpr bool is_native(core::verb verb, const dialect& words, script_form form) noexcept {
    return verb == core::verb::release && form == script_form::shortest &&
           words.native_delete != native_delete::none;
}

/// How many of these commands, from the first on, go to the server as one, to which it gives one reply:
/// releases that come one behind the other, in one run of a script. (It costs a server three fifths of what
/// they cost one by one, and the client a reply to read for each.) Not too many, since the server does nothing
/// else meanwhile.
inline std::size_t sent_as_one(std::span<const submission> commands, const dialect& words,
                               script_form form) noexcept {
    constexpr std::size_t most = 64;
    const bool usual = form == script_form::shortest && words.native_delete == native_delete::none;
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

/// Whether a command comes behind another one, which has a reply of its own: that the server is to tell
/// what happens to the key from then on. (https://redis.io/docs/latest/commands/client-caching/)
constexpr bool has_prelude(core::verb verb, const dialect& words) noexcept {
    return verb == core::verb::remaining && words.tells_changes;
}

/// Writes batches as RESP. The instances of a client share an encoder, and are mostly given the same
/// batch: it is written for the first of them, and the others send the same request. (Writing it for
/// each would be a third of what a lock costs its client.)
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class encoder {
public:
    using request_pointer = std::shared_ptr<const boost::redis::request>;

    /// The commands of a batch, those for other instances too. `facts` has the scripts' digests on
    /// the server.
    request_pointer encode(const batch& commands, const server_facts& facts, script_form form);

    /// As `encode`, and remembered for the next call.
    request_pointer encode_shared(const std::shared_ptr<const batch>& commands,
                                  const server_facts& facts,
                                  script_form form = script_form::shortest);

private:
    void expect_more(boost::redis::request& of, std::size_t replies);

    shared_pool<boost::redis::request> requests_;
    std::string text_;
    std::deque<boost::redis::request> expectations_;  // the i-th expects 2^i replies, to nothing
    std::shared_ptr<const batch> last_;  // kept, so that no other batch can have its address
    request_pointer last_request_;
    dialect last_dialect_;
    script_form last_form_ = script_form::shortest;
};

}  // namespace colock::instance::redis

#endif
