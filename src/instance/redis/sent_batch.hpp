#ifndef COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP
#define COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP

#include "instance/batch.hpp"
#include "instance/redis/encoder.hpp"

#include <cstddef>
#include <memory>

namespace colock::instance::redis {

/// A batch on its way through one connection: one write, one operation of Boost.Redis, and the
/// replies matched by their order.
struct sent_batch {
    std::shared_ptr<const batch> commands;
    encoder::request_pointer request;
    script_form form = script_form::shortest;
    std::size_t answered = 0;
    bool prelude_answered = false;  ///< of the next command, if it has one

    /// The next command that has not been answered; null when all are.
    [[nodiscard]] const submission* next() const noexcept { return command(answered); }

    /// One that will be answered soon after that; null if there is none.
    [[nodiscard]] const submission* soon() const noexcept { return command(answered + 2); }

private:
    [[nodiscard]] const submission* command(std::size_t i) const noexcept {
        return i < commands->size() ? &commands->submissions()[i] : nullptr;
    }
};

}  // namespace colock::instance::redis

#endif
