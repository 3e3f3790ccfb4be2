// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_TICKET_HPP
#define COLOCK_RUNTIME_KEY_TICKET_HPP

#include "core/queue_ticket.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "kinds/command.hpp"
#include "runtime/in_client.hpp"
#include "runtime/key/watcher.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/timer_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock::runtime {

class key_queue;

/// The client's part in the remote queue of a key. It drives a `core::queue_ticket` for the operation at the
/// key. Its last action is to report the advice to the key's queue. It belongs to that queue until `leave`,
/// and keeps itself alive until the last vote has arrived.
class ticket final : public instance::vote_receiver,
                     public in_client,
                     public watcher,
                     private timed {
public:
    /// Creates a ticket in the queue that instance number `keeper` hosts, for the waiters of that client.
    static ticket& make(key_queue& queue, std::shared_ptr<const lock_spec> wanted,
                        std::size_t keeper);

    ticket(key_queue& queue, std::shared_ptr<const lock_spec> wanted, std::size_t keeper);
    ~ticket();

    /// Joins. Called when the ticket belongs to the queue.
    void join();

    /// Returns the latest advice.
    [[nodiscard]] core::queue_ticket::advice advice() const noexcept { return advice_; }
    /// Returns whether no other client preceded it at the last join.
    [[nodiscard]] bool is_first() const noexcept { return machine_.is_first(); }
    /// Returns whether another client preceded it. Both are false before the first reply.
    [[nodiscard]] bool has_others_before() const noexcept { return machine_.before() != 0; }
    /// Reports the votes of a denied attempt. The attempt may still have written an announcement to the
    /// lock's key.
    void on_denied(const core::round& votes, bool may_have_written);
    /// Reports a granted attempt. The ticket stays until the release, but only for a limited time.
    void on_held();
    /// Leaves the queue, because no waiter or lease of this client needs the ticket.
    void leave();

    /// The lock's key on instance number `index` may have changed.
    void on_lock_changed(std::size_t index);

    // From the engine:

    void on_watched_changed(std::size_t index) override;
    void on_all_keys_changed(std::size_t index);
    void on_instance_changed(std::size_t index);
    void on_abandon() noexcept;

private:
    using event = core::queue_ticket::event;
    using kind = event::kind_type;

    enum class question : instance::command_tag { join, lock, before, leave };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    [[nodiscard]] bool concerned_by(std::size_t index) const noexcept {
        return queue_ != nullptr && index == keeper_;
    }
    void resume(const event& e);
    void resume(const event& e, core::time_point now);
    void carry_out(const core::queue_ticket::step& step, core::time_point now);
    void ask(question what, core::step step, std::string_view key, core::time_point now);
    void watch_before();
    void stop_watching() noexcept;
    void ask_to_leave(core::time_point now);
    void on_left(const core::vote& vote, core::time_point now);
    void forget_if_over() noexcept;

    std::shared_ptr<const lock_spec> spec_;
    client_context& client_;
    key_queue* queue_;  // Null after `leave`.
    std::size_t keeper_;
    std::uint64_t number_;
    core::queue_ticket machine_;
    core::queue_ticket::advice advice_ = core::queue_ticket::advice::none;
    // Name of the watched ticket of the client before it. It may be an old one.
    std::string ticket_;
    bool watching_ = false;
    // The ticket stays behind until the keeper is reachable, or the ticket ends.
    bool left_behind_ = false;
    std::uint32_t pending_votes_ = 0;
    std::optional<std::uint32_t> first_turn_{};  // Turn of the first request.
    std::uint32_t last_turn_ = 0;                // Turn of the last request.
    std::shared_ptr<ticket> self_;               // Until the last vote.
};

}  // namespace colock::runtime

#endif
