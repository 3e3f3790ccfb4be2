// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SERVER_HPP
#define COLOCK_TEST_SIMULATION_SERVER_HPP

#include "simulation/order_checker.hpp"
#include "simulation/permit.hpp"
#include "simulation/redis_session.hpp"
#include "simulation/stored_key.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "support/small_redis/dialect.hpp"
#include "support/small_redis/observer.hpp"
#include "support/small_redis/server.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

/// A server: a small Redis that runs the production scripts and has a clock of its own. It can pause, restart
/// and lose its data. Its only inputs are commands, and it never uses true time.
///
/// The state of a cluster node is divided into slots. Any other server has one slot.
class server final : private small_redis::observer {
public:
    /// The mark of a waiting writer, which keeps new readers out.
    struct mark {
        wall_milliseconds until = 0;
        /// False after the clock was set back: the mark may or may not exist.
        bool is_known = true;
    };

    using marks_by_client = std::map<std::uint64_t, mark>;

    /// The data of the server, and the checkers' expectations.
    struct state {
        small_redis::keyspace keys{};
        // By key: the last holder or the readers, and the writer marks by client.
        std::map<std::string, std::set<std::string>> tokens{};
        std::map<std::string, marks_by_client> marks{};
    };

    server(world& w, std::string name, const small_redis::dialect& speaks, std::size_t slots = 1);
    /// Creates another server of the same instance. It shares the clock, because servers replicate the expiry
    /// of keys.
    server(const server& other, std::string name);

    /// Returns the session of a new connection. `tell` is called when the server has reported a changed key.
    /// Returns null if the server must not vote.
    std::unique_ptr<redis_session> open(std::function<void()> tell);

    /// Executes commands that arrived as one, in that session. The outcomes are valid until the next call.
    std::span<const outcome> execute(std::span<const sent_request> all, script_form form,
                                     redis_session& by);

    /// Lets scripts use only the keys that their call declares.
    void require_declared_keys() { host_.access.declared_keys_only = true; }

    /// Disables client tracking.
    void tell_nothing() { host_.access.denied_commands.emplace_back("client|tracking"); }

    [[nodiscard]] bool up() const { return up_; }
    /// Returns whether it reports that it is a master. Clients use only masters.
    [[nodiscard]] bool is_master() const { return is_master_; }
    /// Returns whether it was a replica before.
    [[nodiscard]] bool was_promoted() const { return !term_.empty(); }
    /// Returns its replication ID if it was promoted.
    [[nodiscard]] const std::string& term() const { return term_; }
    [[nodiscard]] std::size_t slot_of(std::string_view key) const;

    // Replication.

    /// Called after each write.
    std::function<void()> on_written;
    /// Returns the number of writes.
    [[nodiscard]] std::uint64_t written() const { return written_; }
    /// Returns the current data.
    [[nodiscard]] std::shared_ptr<const state> copy() const;
    /// Replaces all data.
    void replace(const state& all);
    void promote(std::string term) {
        is_master_ = true;
        host_.state.is_replica = false;
        term_ = std::move(term);
        ++written_;
    }
    /// Turns it into a replica and breaks all connections.
    void demote();
    /// Moves a slot to another server.
    void hand_off(std::size_t which, server& to);
    /// Starts to move the keys of a real cluster's slot to another node. The second function starts to
    /// receive them.
    void begin_to_export(std::size_t slot, std::size_t to);
    void begin_to_import(std::size_t slot, std::size_t from);
    /// Moves one of the keys.
    void move_key(std::size_t slot, server& to);
    /// Ends the movement. From now on it would serve the slot.
    void end_movement(std::size_t slot);
    /// Returns the end of its pause. This is in the past if it is not paused.
    [[nodiscard]] true_time paused_until() const { return paused_until_; }
    /// Returns the end of the command that it is executing.
    [[nodiscard]] true_time busy_until() const { return busy_until_; }
    void be_busy() { busy_until_ = world_.now() + world_.faults().service; }

    /// Called when it goes down. All connections to it break.
    std::function<void()> on_down;

    // Faults.

    void pause(duration how_long);
    /// Replaces it by another server at its address, with the same uptime and no keys.
    void become_another();
    enum class data { kept, lost, rolled_back };
    void restart(duration how_long, data d);
    void jump(duration by);
    /// Sets the rate of its clock.
    void set_rate(double rate);
    void delete_key(const std::string& key);
    void shorten_key(const std::string& key);
    void lose_counter(const std::string& key);
    /// Spoils the counter for a while. Then the counter is lost.
    void spoil_counter(const std::string& key);
    /// Lets it have no memory for new keys for a while.
    void run_out_of_memory(duration how_long);
    /// Denies its users this command. Earlier results of their probes do not show this.
    void refuse(const std::string& command, duration how_long);
    /// Does the same for a random command.
    void lose_right(duration how_long);
    /// Lets it refuse writes, because it cannot save or because it loads its data.
    void refuse_writes(duration how_long);
    /// Turns it into a replica that keeps its connections. It must have no replicas itself.
    void become_replica(duration how_long);
    void lose_scripts();
    /// Creates a foreign value under this name, unless the library has a value there.
    void take_name(const std::string& name, duration how_long);
    /// Does the same for a random name that belongs to a lock.
    void take_name_of(const std::string& key, duration how_long);
    /// Returns whether it executes all commands.
    [[nodiscard]] bool is_in_order() const { return troubles_ == 0; }

    // For the checkers.

    /// Returns whether it has the key of this token now, by its own clock.
    [[nodiscard]] bool holds(const std::string& key, const std::string& token) const;
    /// Returns whether the key exists, even if it is a semaphore's without a holder.
    [[nodiscard]] bool holds_anything(const std::string& key) const;
    /// Returns the waiters for the key of a lock with a binding order.
    [[nodiscard]] stored_waiters waiters(const std::string& key) const {
        return read_waiters(host_.keys(), key, wall_in_ms());
    }
    /// Returns whether any data of such waiters exists. A queue that ends soon enough is left out.
    [[nodiscard]] bool has_anything_of_waiters(const std::string& key) const;
    /// Returns the slots of a semaphore that a token has now.
    [[nodiscard]] slot_set slots_of(const std::string& key, const std::string& token) const;
    /// Returns the free slots of a semaphore with this limit. Returns none if another lock has the key.
    [[nodiscard]] slot_set free_slots(const std::string& key, std::uint32_t limit) const;
    /// Returns one of the holders, or an empty string if there is none.
    [[nodiscard]] std::string holder_of(const std::string& key) const;
    /// Returns when the key expires, or when the token's share expires. The time is rounded down to a
    /// millisecond of the server's clock.
    [[nodiscard]] true_time lasts_until(const std::string& key,
                                        const std::string& token = {}) const;
    /// Returns the uptime that it reports, in whole seconds, rounded down.
    [[nodiscard]] std::chrono::seconds uptime() const;
    /// Returns when the next second begins on its clock.
    [[nodiscard]] true_time next_second() const;
    /// Returns the earliest time at which a client may consider its quarantine over.
    [[nodiscard]] true_time quarantined_until() const;
    /// Called with each token whose key was destroyed here.
    std::function<void(const std::string& token)> on_destroyed;
    /// Called instead if restarts are quarantined.
    std::function<void(const std::string& token)> on_forgotten;
    /// Called when a command grants a token's key or sets its ttl.
    std::function<void(const std::string& key, const std::string& token)> on_granted;
    /// Called with each execution of a read or a write, with the record before and after it.
    std::function<void(const request& what, const stored_record& before,
                       const stored_record& after)>
        on_record;
    /// Called with each execution of a command for a name that is run once.
    std::function<void(const request& what, const core::vote& answer, const result_change& change)>
        on_result;
    /// Returns whether the token was the last holder of the key, or one of the last readers. The key may have
    /// expired since.
    [[nodiscard]] bool was_last_held_by(const std::string& key, const std::string& token) const;
    /// Returns the keys that it has, each with its token.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> holders() const;
    /// Returns the total time by which its clock was set back.
    [[nodiscard]] duration set_back() const { return set_back_; }
    /// Returns whether it ever restarted with old data, which includes deleted keys.
    [[nodiscard]] bool rolled_back() const { return rolled_back_; }
    /// Returns whether it ever lost data in a restart, or a third party has deleted a record.
    [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
    /// Returns when it last lost data or when its clock was last set forward.
    [[nodiscard]] true_time forgot_at() const { return forgot_at_; }
    /// Returns the content of a name that is run once.
    [[nodiscard]] stored_result result_of(const std::string& key) const {
        return read_result(host_.keys(), key, wall_in_ms());
    }
    [[nodiscard]] double rate() const { return clock_.rate(); }
    [[nodiscard]] const std::string& who() const { return name_; }

private:
    /// A command, with the key before and after it.
    struct change {
        const kinds::command& command;
        const core::vote& answer;
        stored_key before;
        stored_key after;
    };

    void begin();
    template <typename Predicate>
    void move_keys(server& to, const Predicate& is_moved);
    void on_executed(const small_redis::executed& what) override;
    void order(std::initializer_list<std::string_view> command);
    void expire();
    void look_at(const change& c, std::span<const sent_request> all, bool is_claimed);
    [[nodiscard]] stored_key read(std::string_view key) const;
    [[nodiscard]] std::set<std::string> holders_of(const std::string& key) const;
    void note_holder(const change& c);
    void expect_untouched(const change& c, std::span<const sent_request> all);
    void expect_all_or_none(const kinds::command& command, const core::vote& answer,
                            const small_redis::keyspace& keys);
    void expect_room(const change& c);
    void note_claim(const change& c);
    void expect_mark(const change& c, marks_by_client& expected);
    void expect_reason(const change& c, bool has_mark, bool is_cleared);
    void expect_reason_to_wait(const kinds::command& command, const core::vote& answer,
                               const small_redis::keyspace& before);
    void expect_permits(const change& c);
    void expect_vacancy(const change& c);
    void destroy_all(const std::function<void(const std::string& token)>& told);
    void forget_all();
    void expect_strangers_left_alone(const small_redis::keyspace& before);
    void begin_trouble(fault f, const std::string& what, duration how_long,
                       std::function<void()> end);
    void checkpoint();
    [[nodiscard]] wall_microseconds wall() const;
    [[nodiscard]] wall_milliseconds wall_in_ms() const { return wall() / 1000; }
    [[nodiscard]] true_time when(wall_milliseconds t) const;

    world& world_;
    std::string name_;
    local_clock clock_;
    core::time_point clock_start_;
    small_redis::server host_;
    std::size_t slots_;
    std::map<std::string, std::set<std::string>> tokens_;  // See `state`.
    std::map<std::string, marks_by_client> marks_;         // See `state`.
    std::map<const small_redis::session*, std::function<void()>> tellers_;
    order_checker order_{world_, name_};
    bool moves_slot_ = false;          // Key by key.
    small_redis::keyspace last_keys_;  // Before the current command.
    std::uint64_t last_version_ = 0;   // Before the current command.
    std::vector<bool> failures_;       // Whether each of the merged commands failed.
    bool is_strangers_ = false;        // The current command is a third party's.
    // Foreign values under the library's names.
    std::map<std::string, small_redis::key_value> of_strangers_;
    std::size_t troubles_ = 0;        // The number of conditions that make it refuse commands.
    std::vector<state> checkpoints_;  // The data to restore after a loss of the last writes.
    bool up_ = true;
    bool is_master_ = true;
    std::string term_;
    std::uint64_t written_ = 0;
    core::time_point started_;  // By its own clock. While it is down: its next start.
    true_time paused_until_{};
    true_time busy_until_{};
    duration set_back_{};
    bool rolled_back_ = false;
    bool has_forgotten_ = false;
    true_time forgot_at_{};
};

}  // namespace colock::simulation

#endif
