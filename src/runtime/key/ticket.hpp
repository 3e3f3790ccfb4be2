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

/// The client's part in the remote queue of a key: drives a `core::queue_ticket`, on behalf of the operation that is at the
/// key in the client. It tells the key's queue what that advises, as the last thing. Belongs to that queue until it `leave`s;
/// kept alive by itself until the last vote has come.
class ticket final : public instance::vote_receiver,
                     public in_client,
                     public watcher,
                     private timed {
public:
    /// A ticket in the queue that instance number `keeper` keeps, for the waiters of that client.
    static ticket& make(key_queue& queue, std::shared_ptr<const lock_spec> wanted,
                        std::size_t keeper);

    ticket(key_queue& queue, std::shared_ptr<const lock_spec> wanted, std::size_t keeper);
    ~ticket();

    /// Once it is the queue's.
    void join();

    /// The latest that is known of it.
    [[nodiscard]] core::queue_ticket::advice advice() const noexcept { return advice_; }
    /// Whether no other client was before it when it joined last.
    [[nodiscard]] bool is_first() const noexcept { return machine_.is_first(); }
    /// Whether another client was. Both are false before the first answer.
    [[nodiscard]] bool has_others_before() const noexcept { return machine_.before() != 0; }
    /// An attempt was denied, with these votes. It may have written to the lock's key all the same: an announcement.
    void on_denied(const core::round& votes, bool may_have_written);
    /// An attempt was granted: the ticket stays until the release, but no longer than for a while.
    void on_held();
    /// Nobody of this client waits there any more, nor has the lock.
    void leave();

    /// Something has happened to the lock's key at instance number `index`.
    void on_lock_changed(std::size_t index);

    // From the engine:

    void on_watched_changed(std::size_t index) override;
    void on_all_keys_changed(std::size_t index);
    void on_instance_changed(std::size_t index);
    void on_abandon() noexcept;

private:
    enum class question : instance::command_tag { join, lock, before, leave };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    [[nodiscard]] bool concerned_by(std::size_t index) const noexcept {
        return queue_ != nullptr && index == keeper_;
    }
    void resume(const core::queue_ticket::event& e);
    void resume(const core::queue_ticket::event& e, core::time_point now);
    void carry_out(const core::queue_ticket::step& step, core::time_point now);
    void ask(question what, core::step step, std::string_view key, core::time_point now);
    void watch_before();
    void stop_watching() noexcept;
    void ask_to_leave(core::time_point now);
    void on_left(const core::vote& vote, core::time_point now);
    void forget_if_over() noexcept;

    std::shared_ptr<const lock_spec> spec_;
    client_context& client_;
    key_queue* queue_;  // null once it has left
    std::size_t keeper_;
    std::uint64_t number_;
    core::queue_ticket machine_;
    core::queue_ticket::advice advice_ = core::queue_ticket::advice::none;
    std::string ticket_;  // of the one before it, or the last that was
    bool watching_ = false;
    bool left_behind_ = false;  // its ticket is, until the keeper can be asked, or the ticket ends
    std::uint32_t pending_votes_ = 0;
    std::optional<std::uint32_t> first_turn_{};  // the first turn in which something was asked
    std::uint32_t last_turn_ = 0;                // in which something was asked
    std::shared_ptr<ticket> self_;               // until all is over
};

}  // namespace colock::runtime

#endif
