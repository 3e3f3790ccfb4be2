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

/// A server: a small Redis that runs the production scripts, with a clock of its own, that can stand still, restart and lose what it
/// knew. Nothing but the commands reaches it; it never sees true time.
///
/// What a node of a cluster knows is divided into slots. Any other server has one.
class server final : private small_redis::observer {
public:
    /// Of a waiting writer; it keeps further readers out.
    struct mark {
        wall_milliseconds until = 0;
        bool is_known = true;  ///< else the key may have one or not, as its clock was set back
    };

    using marks_by_client = std::map<std::uint64_t, mark>;

    /// What it knows, and what the checkers expect of it.
    struct state {
        small_redis::keyspace keys{};
        // By key: the last holder, or the readers; and the marks, by client.
        std::map<std::string, std::set<std::string>> tokens{};
        std::map<std::string, marks_by_client> marks{};
    };

    server(world& w, std::string name, const small_redis::dialect& speaks, std::size_t slots = 1);
    /// Another server of the same instance. It has the same clock, since servers tell each other when keys expire.
    server(const server& other, std::string name);

    /// The session of a new connection. `tell` is called when the server has told of a changed key. Null if the server must not vote.
    std::unique_ptr<redis_session> open(std::function<void()> tell);

    /// Executes now what has come as one command, in that session. The outcomes are valid until the next call.
    std::span<const outcome> execute(std::span<const sent_request> all, script_form form,
                                     redis_session& by);

    /// It does not tell of changed keys.
    void tell_nothing() { host_.access.denied_commands.emplace_back("client|tracking"); }

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
    [[nodiscard]] std::shared_ptr<const state> copy() const;
    /// From now on it knows that.
    void replace(const state& all);
    void promote(std::string term) {
        is_master_ = true;
        host_.state.is_replica = false;
        term_ = std::move(term);
        ++written_;
    }
    /// It is a replica from now on, and breaks all connections.
    void demote();
    /// Another server serves that slot from now on.
    void hand_off(std::size_t which, server& to);
    /// The keys of that slot of a real cluster move to another node, or from there to this one.
    void begin_to_export(std::size_t slot, std::size_t to);
    void begin_to_import(std::size_t slot, std::size_t from);
    /// One of them moves.
    void move_key(std::size_t slot, server& to);
    /// No more do. From now on it would serve the slot.
    void end_movement(std::size_t slot);
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
    /// It has no memory for new keys.
    void run_out_of_memory(duration how_long);
    /// Its users may not use that command. What they have found out before does not tell them.
    void refuse(const std::string& command, duration how_long);
    /// The same of any command.
    void lose_right(duration how_long);
    /// It cannot save, or it loads its data, and refuses writes.
    void refuse_writes(duration how_long);
    /// It is a replica, and keeps its connections. It must have no replicas itself.
    void become_replica(duration how_long);
    void lose_scripts();
    /// A stranger has a value of his own under that name, unless we have one there.
    void take_name(const std::string& name, duration how_long);
    /// The same of any name that belongs to a lock.
    void take_name_of(const std::string& key, duration how_long);
    /// Whether it executes all commands.
    [[nodiscard]] bool is_in_order() const { return troubles_ == 0; }

    // What the checkers know.

    /// Whether it has the key of this token now, by its own clock.
    [[nodiscard]] bool holds(const std::string& key, const std::string& token) const;
    /// Somebody's, or a semaphore's of which no permit is out.
    [[nodiscard]] bool holds_anything(const std::string& key) const;
    /// Who waits for the key of a lock whose order binds.
    [[nodiscard]] stored_waiters waiters(const std::string& key) const {
        return read_waiters(host_.keys(), key, wall_in_ms());
    }
    /// Whether there is anything of theirs.
    [[nodiscard]] bool has_anything_of_waiters(const std::string& key) const;
    /// The slots of a semaphore that a token has now.
    [[nodiscard]] slot_set slots_of(const std::string& key, const std::string& token) const;
    /// Those that nobody has, of a semaphore of that limit. None if another lock has the key.
    [[nodiscard]] slot_set free_slots(const std::string& key, std::uint32_t limit) const;
    /// One of those that hold it; empty if nobody does.
    [[nodiscard]] std::string holder_of(const std::string& key) const;
    /// When a key that it has will be gone, or what that token holds of it, rounded down to a millisecond of its clock.
    [[nodiscard]] true_time lasts_until(const std::string& key,
                                        const std::string& token = {}) const;
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
    /// Told of each execution of a read or a write: the record before it and after it.
    std::function<void(const request& what, const stored_record& before,
                       const stored_record& after)>
        on_record;
    /// Told of each execution of a command for a name that is run once.
    std::function<void(const request& what, const core::vote& answer, const result_change& change)>
        on_result;
    /// Whether it is that token that it has last given a key to, or one of the readers, whether the key is still there or
    /// not.
    [[nodiscard]] bool was_last_held_by(const std::string& key, const std::string& token) const;
    /// The keys that it has, each with its token.
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> holders() const;
    /// By how much its clock was set back in all.
    [[nodiscard]] duration set_back() const { return set_back_; }
    /// Whether it ever restarted with what it had known before, deleted keys included.
    [[nodiscard]] bool rolled_back() const { return rolled_back_; }
    /// Whether it ever restarted without what it had known, or a stranger has deleted a record.
    [[nodiscard]] bool has_forgotten() const { return has_forgotten_; }
    /// When it last did, or when its clock was set forward.
    [[nodiscard]] true_time forgot_at() const { return forgot_at_; }
    /// What a name that is run once has.
    [[nodiscard]] stored_result result_of(const std::string& key) const {
        return read_result(host_.keys(), key, wall_in_ms());
    }
    [[nodiscard]] double rate() const { return clock_.rate(); }
    [[nodiscard]] const std::string& who() const { return name_; }

private:
    /// What a command has met, and what it has left.
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
    std::map<std::string, std::set<std::string>> tokens_;  // see `state`
    std::map<std::string, marks_by_client> marks_;         // likewise
    std::map<const small_redis::session*, std::function<void()>> tellers_;
    order_checker order_{world_, name_};
    bool moves_slot_ = false;          // key by key
    small_redis::keyspace last_keys_;  // before the command that is executed
    std::uint64_t last_version_ = 0;   // likewise
    std::vector<bool> failures_;       // of the commands that came as one: which were errors
    bool is_strangers_ = false;        // the command that is executed
    std::map<std::string, small_redis::key_value> of_strangers_;  // what they have under our names
    std::size_t troubles_ = 0;        // because of which it refuses commands
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
    bool has_forgotten_ = false;
    true_time forgot_at_{};
};

}  // namespace colock::simulation

#endif
