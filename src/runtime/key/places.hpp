// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_PLACES_HPP
#define COLOCK_RUNTIME_KEY_PLACES_HPP

#include "core/queue_place.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "core/waiting_places.hpp"
#include "instance/batch.hpp"
#include "kinds/command.hpp"
#include "runtime/in_client.hpp"
#include "runtime/key/watcher.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/timer_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

class key_queue;

/// The places of a client's waiters in the queue of a lock whose order binds. It enters and leaves on their
/// behalf, and drives a `core::queue_place` for the operation at the key. Its last action is to report the
/// advice to the key's queue. It belongs to that queue while there are waiters, and keeps itself alive until
/// the last vote has arrived.
///
/// Such a lock is on one instance.
class places final : public instance::vote_receiver,
                     public in_client,
                     public watcher,
                     private timed {
public:
    static places& make(key_queue& queue, std::shared_ptr<const lock_spec> of);

    places(key_queue& queue, std::shared_ptr<const lock_spec> of);
    ~places();

    /// Enters the queue for a waiter. The places have increasing numbers.
    void enter(std::uint64_t place);
    /// Records a denied attempt. It has entered the waiter, if it was not in the queue before.
    void on_denied(std::uint64_t place);
    /// An attempt of that waiter has got no answer.
    void on_attempt_lost(std::uint64_t place) noexcept { waiting_.on_attempt_lost(place); }
    /// The first waiter of this client attempts.
    void on_attempting();
    /// The attempt of that waiter was granted, so it has no place any more.
    void on_granted(std::uint64_t place);
    /// That waiter gets its client's lease by hand-off.
    void on_handed_off(std::uint64_t place) noexcept;
    /// Leaves for that waiter. It has stopped waiting, or its attempt has ended in another way.
    void leave(std::uint64_t place);

    [[nodiscard]] bool contains(std::uint64_t place) const noexcept;
    /// Returns whether no waiter of another client precedes this one, while its client holds the lock.
    [[nodiscard]] bool may_be_handed_off(std::uint64_t place) const noexcept;
    /// Returns whether there are no waiters. The queue then detaches it.
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    void detach();

    /// The lock's key on the instance may have changed.
    void on_lock_changed();

    // From the engine:

    void on_watched_changed(std::size_t index) override;
    /// Notifications of the instance may be lost, or it may have lost the places.
    void on_all_keys_changed(std::size_t index);
    void on_abandon() noexcept;

private:
    using event = core::queue_place::event;
    using kind = event::kind_type;

    enum class question : instance::command_tag { enter, stay, lock, before, leave };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    void add(std::uint64_t place, core::time_point now);
    void resume(const event& e, core::time_point now);
    void carry_out(const core::queue_place::step& step, core::time_point now);
    kinds::command& ask(question what, core::step step, std::string_view key, core::time_point now,
                        std::uint64_t place = 0);
    void ask_to_enter(std::uint64_t place, core::time_point now);
    void on_entered(instance::command_tag tag, const core::vote& vote);
    [[nodiscard]] core::duration longest_silence() const noexcept;
    void enter_again(core::time_point now);
    void ask_to_leave(std::uint64_t place, core::time_point now);
    void ask_lock(core::time_point now);
    void ask_to_stay(core::time_point now);
    void watch_before();
    void stop_watching() noexcept;
    void on_left(const core::vote& vote);
    void forget_if_over() noexcept;

    std::shared_ptr<const lock_spec> spec_;
    client_context& client_;
    key_queue* queue_;  // Null when no operation waits.
    core::queue_place machine_;
    core::waiting_places waiting_;
    std::vector<std::uint64_t> leaving_;  // Until the instance has confirmed.
    bool left_behind_ = false;            // The instance may not have received a leave.
    bool must_enter_again_ = false;       // A place was not confirmed.
    core::time_point asked_{};            // Last request to keep the places.
    // The last one is watched. Commands may refer to the others.
    std::list<std::string> tickets_;
    bool watching_ = false;
    std::uint32_t pending_votes_ = 0;
    std::uint32_t pending_leaves_ = 0;
    std::shared_ptr<places> self_;  // Until the last vote.
};

}  // namespace colock::runtime

#endif
