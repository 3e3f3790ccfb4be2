#ifndef COLOCK_INSTANCE_REDIS_BATCH_HPP
#define COLOCK_INSTANCE_REDIS_BATCH_HPP

#include "core/command.hpp"
#include "instance/instance.hpp"
#include "instance/redis/probe.hpp"

#include <boost/redis/request.hpp>

#include <cstddef>
#include <vector>

namespace colock::instance::redis {

/// A command on its way: who sent it, and whether its script has to go along.
struct pending_command {
    core::command command;
    vote_receiver* receiver = nullptr;
    command_tag tag = 0;
    bool script_in_full = false;
};

/// The commands of one turn, as one request: one write, one operation of Boost.Redis, and the replies
/// matched by their order. Reused, with its memory, for a later turn.
class batch {
public:
    batch();

    void clear();

    /// Encodes a command. `facts` has the scripts' digests on this server.
    void add(const pending_command& command, const server_facts& facts);

    [[nodiscard]] bool empty() const noexcept { return commands_.empty(); }
    [[nodiscard]] const boost::redis::request& request() const noexcept { return request_; }

    /// The next command that has not been answered; null when all are.
    [[nodiscard]] pending_command* next() noexcept {
        return answered_ == commands_.size() ? nullptr : &commands_[answered_];
    }

    /// That one is answered now.
    void pop() noexcept { ++answered_; }

private:
    boost::redis::request request_;
    std::vector<pending_command> commands_;
    std::size_t answered_ = 0;
};

}  // namespace colock::instance::redis

#endif
