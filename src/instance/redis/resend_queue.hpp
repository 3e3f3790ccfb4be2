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
/// stay in their order; and it is known which later commands for the same key have overtaken them, and so
/// may have met a key that an earlier one should have deleted.
///
/// Commands go to the server with numbers that grow, and are answered in this order.
class resend_queue {
public:
    using number = std::uint64_t;

    struct entry {
        submission command;
        script_form form = script_form::shortest;
    };

    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

    /// Whether no command is waiting, or was sent again and is not answered yet.
    [[nodiscard]] bool idle() const noexcept { return unfinished_.empty(); }

    /// The command that was sent with that number is to be sent again. Throws `std::bad_alloc`, without effect.
    void add(const submission& command, script_form form, number sent_as);

    /// Those that are to be sent now, in their order. For each of them comes `sent` or `drop`.
    std::vector<entry> take();

    /// A command for that key, the first of those that were taken, has gone out with that number; or will not.
    void sent(std::string_view key, number as);
    void drop(std::string_view key);

    /// The command with that number was answered for good.
    void answered(std::string_view key, number as);

    /// Whether the command with that number was executed before an earlier one for its key.
    [[nodiscard]] bool has_overtaken(std::string_view key, number as) const;

    void clear() noexcept;

private:
    /// With what numbers the unfinished commands of a key have gone out again; `not_sent` if they have not.
    using numbers = std::vector<number>;
    static constexpr number not_sent = UINT64_MAX;

    void finish(std::string_view key, number as);

    std::vector<entry> waiting_;
    std::unordered_map<std::string, numbers> unfinished_;  // each in the order of the first sending
};

}  // namespace colock::instance::redis

#endif
