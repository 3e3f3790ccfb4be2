#ifndef COLOCK_INSTANCE_REDIS_ENCODER_HPP
#define COLOCK_INSTANCE_REDIS_ENCODER_HPP

#include "core/command.hpp"
#include "instance/instance.hpp"
#include "instance/redis/probe.hpp"

#include <boost/redis/request.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// A command on its way: who sent it, and whether its script has to go along.
struct pending_command {
    core::command command;
    vote_receiver* receiver = nullptr;
    command_tag tag = 0;
    bool script_in_full = false;
};

/// Writes commands as RESP. Remembers what it wrote last: in a turn, all instances of a client are
/// mostly sent the same, and then it is encoded for the first of them only. (Encoding would otherwise
/// be a third of what a lock costs its client.)
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class encoder {
public:
    /// Appends the commands to a request. `facts` has the scripts' digests on the server.
    void encode(const std::vector<pending_command>& commands, const server_facts& facts,
                boost::redis::request& to);

private:
    /// A command in `written_`: where its key and its token stand there.
    struct record {
        core::verb verb;
        bool script_in_full;
        core::milliseconds ttl;
        std::size_t key_at;
        std::size_t key_size;
        std::size_t token_at;
        std::size_t token_size;
    };

    [[nodiscard]] bool wrote(const std::vector<pending_command>& commands,
                             const server_facts& facts) const;
    [[nodiscard]] bool is(const record& known, const pending_command& pending) const;
    void write(const pending_command& pending);

    boost::redis::request written_;
    std::vector<record> records_;
    std::string extend_sha_;
    std::string release_sha_;
};

}  // namespace colock::instance::redis

#endif
