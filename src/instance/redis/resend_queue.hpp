// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_RESEND_QUEUE_HPP
#define COLOCK_INSTANCE_REDIS_RESEND_QUEUE_HPP

#include "instance/batch.hpp"
#include "instance/redis/encoder.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock::instance::redis {

/// Commands that a server has answered without executing them, and that are sent again in another form. They
/// keep their order. The queue also tracks which later commands for the same key have overtaken them. Such a
/// command may have met a key that an earlier command should have deleted.
///
/// Commands are sent with increasing numbers and are answered in this order.
class resend_queue {
public:
    using number = std::uint64_t;

    struct entry {
        submission command;
        script_form form = script_form::shortest;
    };

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Returns whether every command that was added is finally answered or dropped.
    [[nodiscard]] bool idle() const noexcept { return unfinished_.empty(); }

    /// Adds the command that was sent with that number, to send it again. Throws `std::bad_alloc`, without
    /// effect.
    void add(const submission& command, script_form form, number sent_as);

    /// Removes and returns the commands to send now, in order. Each of them must be followed by `sent` or
    /// `drop`.
    std::vector<entry> take();

    /// Reports on the first taken command for that key: it was sent with that number, or will not be sent.
    void sent(std::string_view key, number as);
    void drop(std::string_view key);

    /// Reports that the command with that number has its final answer.
    void answered(std::string_view key, number as);

    /// Returns whether the command with that number was executed before an earlier one for its key.
    [[nodiscard]] bool has_overtaken(std::string_view key, number as) const;

    void clear() noexcept;

private:
    /// The numbers with which the unfinished commands of a key were sent again. `not_sent` before that.
    using numbers = std::vector<number>;
    static constexpr number not_sent = UINT64_MAX;

    void finish(std::string_view key, number as);

    std::vector<entry> waiting_;
    std::unordered_map<std::string, numbers> unfinished_;  // In the order of the first sending.
};

}  // namespace colock::instance::redis

#endif
