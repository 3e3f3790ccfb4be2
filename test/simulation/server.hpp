// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SERVER_HPP
#define COLOCK_TEST_SIMULATION_SERVER_HPP

#include "simulation/permit.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/table.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

/// A server: the memory instance's table, with a clock of its own, that can stand still, restart
/// and lose what it knew. Nothing but the commands reaches it; it never sees true time.
///
/// What it knows is divided into slots, as that of a node of a cluster is. Any other server has one.
class server {
public:
    /// Of a waiting writer; it keeps further readers out.
    struct mark {
        core::time_point until = core::time_point::min();
        bool is_known = true;  ///< else the table may have one or not, as its clock was set back
    };

    using marks_by_client = std::map<std::uint64_t, mark>;

    struct slot {
        kinds::table table;
        // By key: the last holder, or the readers; and the marks, by client.
        std::map<std::string, std::set<std::string>> tokens;
        std::map<std::string, marks_by_client> marks;
    };

    server(world& w, std::string name, std::size_t slots = 1);
    /// Another server of the same instance. It has the same clock, since servers tell each other when keys expire.
    server(const server& other, std::string name);

    /// Executes a command now, which has come by that connection.
    core::vote execute(const kinds::command& command, const void* by = nullptr);

    /// Calls `tell` once, when something has happened to the key, unless that connection (`who`) has done it.
    void track(const std::string& key, const void* who, std::function<void()> tell);

    [[nodiscard]] bool up() const { return up_; }
    /// Whether it says that it is a master; clients use no other.
    [[nodiscard]] bool is_master() const { return is_master_; }
    /// Whether it was a replica before.
    [[nodiscard]] bool was_promoted() const { return !term_.empty(); }
    /// Its replication ID, if it was promoted.
    [[nodiscard]] const std::string& term() const { return term_; }
    [[nodiscard]] std::size_t slot_of(std::string_view key) const;

    // Replication.

    /// Called when it has written.
    std::function<void()> on_written;
    /// How often it has.
    [[nodiscard]] std::uint64_t written() const { return written_; }
    /// What it knows now.
    [[nodiscard]] std::shared_ptr<const std::vector<slot>> copy() const {
        return std::make_shared<const std::vector<slot>>(state_);
    }
    /// From now on it knows that.
    void replace(const std::vector<slot>& all) { state_ = all; }
    void promote(std::string term) {
        is_master_ = true;
        term_ = std::move(term);
        ++written_;
    }
    /// It is a replica from now on, and breaks all connections.
    void demote();
    /// Another server serves that slot from now on.
    void hand_off(std::size_t which, server& to);
    /// Until when it stands still; in the past, if it does not.
    [[nodiscard]] true_time paused_until() const { return paused_until_; }
    /// Until when it executes the command that it has taken last.
    [[nodiscard]] true_time busy_until() const { return busy_until_; }
    void be_busy() { busy_until_ = world_.now() + world_.faults().service; }

    /// Called when it goes down: all connections to it break.
    std::function<void()> on_down;

    // What goes wrong.

    void pause(duration how_long);
    /// Another server is at its address, which has been up for as long, and has no keys.
    void become_another();
    enum class data { kept, lost, rolled_back };
    void restart(duration how_long, data d);
    void jump(duration by);
    /// From now on its clock runs so fast.
    void set_rate(double rate);
    void delete_key(const std::string& key);
    void shorten_key(const std::string& key);
    void lose_counter(const std::string& key);
    /// For a while; then it is lost.
    void spoil_counter(const std::string& key);

    // What the checkers know.

    /// Whether it has the key of this token now, by its own clock.
    [[nodiscard]] bool holds(const std::string& key, const std::string& token);
    /// Somebody's, or a semaphore's of which no permit is out.
    [[nodiscard]] bool holds_anything(const std::string& key);
    /// The slots of a semaphore that a token has now.
    [[nodiscard]] slot_set slots_of(const std::string& key, const std::string& token);
    /// Those that nobody has, of a semaphore of that limit. None if another lock has the key.
    [[nodiscard]] slot_set free_slots(const std::string& key, std::uint32_t limit);
    /// One of those that hold it; empty if nobody does.
    [[nodiscard]] std::string holder_of(const std::string& key);
    /// When a key that it has will be gone, or what that token holds of it, rounded down to a millisecond of its clock.
    [[nodiscard]] true_time lasts_until(const std::string& key, const std::string& token = {});
    /// What it tells of how long it has been up: whole seconds, rounded down.
    /// As it tells it: whole seconds.
    [[nodiscard]] std::chrono::seconds uptime() const;
    /// When the next second begins on its clock.
    [[nodiscard]] true_time next_second() const;
    /// When nobody takes it to be in quarantine any more, at the earliest.
    [[nodiscard]] true_time quarantined_until() const;
    /// Told of each token whose key was destroyed here.
    std::function<void(const std::string& token)> on_destroyed;
    /// Told instead, where restarts are quarantined.
    std::function<void(const std::string& token)> on_forgotten;
    /// Told when a token's key is given, or given a ttl, by a command.
    std::function<void(const std::string& key, const std::string& token)> on_granted;
    /// Whether it is that token that it has last given a key to, or one of the readers, whether the key is still there or
    /// not.
    [[nodiscard]] bool was_last_held_by(const std::string& key, const std::string& token) const;
    /// The keys that it has, each with its token.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> holders();
    /// By how much its clock was set back in all.
    [[nodiscard]] duration set_back() const { return set_back_; }
    /// Whether it ever restarted with what it had known before, deleted keys included.
    [[nodiscard]] bool rolled_back() const { return rolled_back_; }
    [[nodiscard]] double rate() const { return clock_.rate(); }
    [[nodiscard]] const std::string& who() const { return name_; }

private:
    using state = std::vector<slot>;
    /// A token that holds a key: the only one, or one of the readers, or of those that have permits.
    struct holder {
        std::string token;
        core::time_point expires;
        slot_set slots = 0;  // of a semaphore
    };
    /// What a key holds. The functions that return it, and those that say what a token holds, know how a key is stored. No other
    /// function does.
    struct contents {
        bool exists = false;
        core::time_point expires{};
        std::uint32_t limit = 0;  // of a semaphore; 0 if another lock has it
        std::vector<holder> holders{};

        [[nodiscard]] const holder* find(std::string_view token) const;
        /// The slots of all holders but that one.
        [[nodiscard]] slot_set taken(std::string_view but = {}) const;
    };

    [[nodiscard]] slot& slot_with(std::string_view key) { return state_[slot_of(key)]; }
    [[nodiscard]] std::set<std::string> holders_of(const std::string& key);
    [[nodiscard]] contents contents_of(const std::string& key, core::time_point now);
    [[nodiscard]] kinds::permits* permits_at(const std::string& key, core::time_point now);
    void have_end(const std::string& key, core::time_point until);
    void note_holder(const kinds::command& command, const contents& before);
    void expect_untouched(const kinds::command& command, const core::vote& answer,
                          const contents& before, const contents& after);
    void expect_room(const kinds::command& command, const contents& before);
    void expect_mark(const kinds::command& claim, marks_by_client& expected);
    void expect_reason(const kinds::command& command, const contents& before, bool has_mark);
    void expect_permits(const kinds::command& command, const core::vote& answer,
                        const contents& before, const contents& after);
    void expect_vacancy(const kinds::command& command, const core::vote& answer,
                        const contents& before);
    void destroy_all(const std::function<void(const std::string& token)>& told);
    void checkpoint();
    void tell_of_change(const std::string& key, const void* by);
    [[nodiscard]] kinds::wall_time wall() const;

    world& world_;
    std::string name_;
    local_clock clock_;
    core::time_point clock_start_;
    state state_;
    struct tracker {
        const void* who;
        std::function<void()> tell;
    };
    std::map<std::string, std::vector<tracker>> trackers_;  // by key
    std::vector<state> checkpoints_;  // what it would know after it lost its last writes
    bool up_ = true;
    bool is_master_ = true;
    std::string term_;
    std::uint64_t written_ = 0;
    core::time_point started_;  // by its own clock; when it is down: will have
    true_time paused_until_{};
    true_time busy_until_{};
    duration set_back_{};
    bool rolled_back_ = false;
};

}  // namespace colock::simulation

#endif
