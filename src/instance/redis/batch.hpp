#ifndef COLOCK_INSTANCE_REDIS_BATCH_HPP
#define COLOCK_INSTANCE_REDIS_BATCH_HPP

#include "instance/redis/encoder.hpp"
#include "instance/redis/probe.hpp"

#include <boost/redis/request.hpp>

#include <cstddef>
#include <vector>

namespace colock::instance::redis {

/// The commands of one turn, as one request: one write, one operation of Boost.Redis, and the replies
/// matched by their order. Reused, with its memory, for a later turn.
class batch {
public:
    batch();

    void clear();

    /// Takes over what was submitted, and leaves an empty vector with memory to reuse. Keeps, and
    /// has encoded, those for which `admit(command)` is true.
    template <typename Admit>
    void take(std::vector<pending_command>& submitted, encoder& encoder, const server_facts& facts,
              Admit&& admit) {
        commands_.swap(submitted);
        std::size_t kept = 0;
        for (std::size_t i = 0; i != commands_.size(); ++i) {
            if (admit(commands_[i])) {
                if (kept != i) {
                    commands_[kept] = commands_[i];
                }
                ++kept;
            }
        }
        commands_.resize(kept);
        encoder.encode(commands_, facts, request_);
    }

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
