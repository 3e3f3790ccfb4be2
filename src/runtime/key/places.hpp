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

/// The places of a client's waiters in the queue of a lock whose order binds. It enters and leaves for them, and drives a
/// `core::queue_place` on behalf of the operation that is at the key. It tells the key's queue what that advises, as the last thing.
/// Belongs to that queue as long as one waits; kept alive by itself until the last vote has come.
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

    /// A waiter enters the queue. Their numbers grow.
    void enter(std::uint64_t place);
    /// It has entered by an attempt that was denied, if it was not there before.
    void on_denied(std::uint64_t place);
    /// The waiter that is the first of this client attempts.
    void on_attempting();
    /// The attempt of that waiter was granted: it has no place any more.
    void on_granted(std::uint64_t place);
    /// That waiter is handed the lease of its client.
    void on_handed_off(std::uint64_t place) noexcept;
    /// It waits no more, or its attempt has ended otherwise.
    void leave(std::uint64_t place);

    [[nodiscard]] bool contains(std::uint64_t place) const noexcept;
    /// Whether no waiter of another client is before this one, if its client holds the lock.
    [[nodiscard]] bool may_be_handed_off(std::uint64_t place) const noexcept;
    /// Whether nobody waits. Then its queue lets go of it.
    [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
    void detach();

    /// Something has happened to the lock's key at the instance.
    void on_lock_changed();

    // From the engine:

    void on_watched_changed(std::size_t index) override;
    /// What the instance was to tell may be lost, or it may have forgotten the places.
    void on_all_keys_changed(std::size_t index);
    void on_abandon() noexcept;

private:
    enum class question : instance::command_tag { enter, stay, lock, before, leave };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    void add(std::uint64_t place, core::time_point now);
    void resume(const core::queue_place::event& e, core::time_point now);
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
    key_queue* queue_;  // null once nobody waits
    core::queue_place machine_;
    core::waiting_places waiting_;
    std::vector<std::uint64_t> leaving_;  // until the instance has said so
    bool left_behind_ = false;            // one of them: the instance may not have heard of it
    bool must_enter_again_ = false;       // an instance has not said that a waiter has a place
    core::time_point asked_{};            // to keep the places, at last
    std::list<std::string> tickets_;      // the last is watched. Commands may refer to the others
    bool watching_ = false;
    std::uint32_t pending_votes_ = 0;
    std::uint32_t pending_leaves_ = 0;
    std::shared_ptr<places> self_;  // until all is over
};

}  // namespace colock::runtime

#endif
