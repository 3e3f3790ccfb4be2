#ifndef COLOCK_TEST_SIMULATION_CLIENT_HPP
#define COLOCK_TEST_SIMULATION_CLIENT_HPP

#include "simulation/checker.hpp"
#include "simulation/connection.hpp"
#include "simulation/route.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/acquire.hpp"
#include "core/lease.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

class client;
struct operation;

/// What a lock object knows: `runtime::lock_spec`.
struct spec {
    std::string key;
    core::lease_settings lease;
    core::acquire_settings acquire;
};

/// Drives a `core::lease`, as `runtime::lease_state` does.
struct token_life {
    token_life(client& o, const spec& s, operation& by, std::string t, std::uint64_t seed)
        : owner(o), lock(s), attempt(&by), token(std::move(t)), machine(s.lease, seed) {}

    client& owner;
    const spec& lock;
    operation* attempt;
    std::string token;
    core::lease machine;
    core::time_point timer = core::never;
    std::function<void(bool held_still)> on_extended;
    std::function<void()> on_lost;
    std::function<void(bool passed)> on_passed;  // while it is passed on

    // For the checkers; instances are bits.
    std::size_t unanswered = 0;     // votes that have not come
    bool outcome_unknown = false;   // of one of its commands
    std::uint64_t may_have = 0;     // those that may have its key, for all that the client was told
    std::uint64_t deleted_at = 0;   // those that say that a release has deleted it
    std::uint64_t extended_by = 0;  // those that granted the latest round
    std::uint64_t denied_by = 0;    // those that denied it
    std::uint32_t latest_round = 0;
    std::uint64_t destroyed_at = 0;
    /// Those that may yet execute an acquire or a heal, which no connection since has shown to be over.
    std::uint64_t open_at = 0;
    core::time_point closed_at{};  // when the last of them was shown to be over by a new connection
    std::uint64_t late_at = 0;     // those that gave it a key, or a ttl, when it was let go
    std::uint64_t forgotten_at = 0;  // those that restarted, which had the key
    core::duration longest_ttl{};
    bool counts = false;  // as a lease that may be valid
    core::time_point valid_since{};
    core::time_point valid_until{};  // while it counts
    bool lost = false;               // and perhaps not let go yet
    bool let_go = false;             // released or given back
    core::time_point let_go_at{};
    std::uint32_t renewals = 0;
    /// When each instance gave it its key, as a number that grows, until it was handed out.
    std::map<std::size_t, std::uint64_t> granted_at;
    std::uint64_t fence = 0;        // of the latest holder
    std::size_t fences_before = 0;  // how many were handed out before it was asked for
};

/// Drives a `core::acquire`, as `runtime::acquire_operation` does.
struct operation {
    operation(const spec& s, const core::acquire_settings& settings, std::uint64_t seed)
        : lock(s), deadline(settings.deadline), machine(settings, seed) {}

    const spec& lock;
    core::time_point deadline;
    core::acquire machine;
    token_life* life = nullptr;
    core::time_point timer = core::never;
    true_time started{};
    bool running = true;
    std::function<void(token_life* granted)> on_finished;
};

/// A process that uses the library: its engine and its users.
///
/// It does what `runtime::engine` does, in turns: what is submitted goes out at the end of a turn,
/// handlers run at its begin. Between two turns anything may happen.
class client {
public:
    client(world& w, checker& c, std::vector<std::unique_ptr<voter>>& voters, std::size_t index);

    /// Lets its users take locks until `end`.
    void start(const std::vector<std::string>& keys, true_time end);

    // The same for a scenario, which says itself what its users do.

    operation& acquire(const spec& s, std::function<void(token_life* granted)> on_finished);
    void cancel(operation& o);
    /// Of a lease that is held.
    void release(token_life& life);
    /// Passes a fenced lease on to the next waiter of this process.
    void pass_on(token_life& life, std::function<void(bool passed)> on_passed);

    // What goes wrong.

    void pause(duration how_long);
    void crash();
    void close();
    [[nodiscard]] route& to(std::size_t instance) { return *routes_[instance]; }

    // For its routes.

    /// Everything in the process happens through these: later, while it stands still; never, once it
    /// is dead.
    void post(true_time when, world::step what);
    void run_or_defer(world::step what);
    /// Sends a command there, unless there is a reason not to: then it is false.
    bool send_on(std::size_t instance, connection& way, request r);
    /// The command is not sent.
    void refuse(std::size_t instance, const request& r, core::failure why);
    void on_answer(std::size_t instance, const request& r, const core::vote& v);
    void on_accepting(std::size_t instance);

    // For the checkers.

    [[nodiscard]] bool dead() const { return dead_; }
    [[nodiscard]] const local_clock& clock() const { return clock_; }
    [[nodiscard]] core::time_point now() const { return clock_.at(world_.now()); }
    [[nodiscard]] const std::string& who() const { return name_; }
    /// Until when it last stood still.
    [[nodiscard]] true_time paused_until() const { return paused_until_; }
    void expect_nothing_pending() const;

private:
    struct user {
        spec lock;
        operation* waiting = nullptr;
        token_life* lease = nullptr;
        bool busy = false;
    };
    struct submission {
        token_life* life;
        core::lease::action what;
        core::time_point deadline;
    };

    // The user.
    void think(user& u, duration how_long);
    void take(user& u);
    void hold(user& u, token_life& life);
    void clean_up(user& u, token_life& life);
    void let_go(user& u, token_life& life);
    void hand_over(user& u, token_life& life);
    void receive(token_life& life);
    [[nodiscard]] spec some_spec(const std::string& key);
    [[nodiscard]] core::time_point some_deadline();

    // The acquire operation.
    void drive(operation& o, core::acquire::event event);
    void begin_attempt(operation& o, core::time_point now);
    void give_back(operation& o, core::time_point now);
    void finish(operation& o, token_life* granted);
    void wait(operation& o, core::time_point until);

    // The lease.
    void drive(token_life& life, core::lease::action action, core::time_point now);
    void observe(token_life& life);
    void wait(token_life& life, core::time_point until);
    void end(token_life& life);

    // The engine.
    void submit(token_life& life, const core::lease::action& what, core::time_point now);
    void schedule_turn();
    void turn();
    void send(const submission& s, std::size_t instance);
    void deliver_later(world::step handler);
    [[nodiscard]] std::string fresh_token();
    [[nodiscard]] std::uint64_t seed() { return world_.random.next(); }

    world& world_;
    checker& checker_;
    std::vector<std::unique_ptr<voter>>& voters_;
    std::string name_;
    local_clock clock_;
    std::vector<std::uint64_t> last_sent_;
    std::vector<std::unique_ptr<route>> routes_;  // to each instance
    std::deque<user> users_;
    std::deque<operation> operations_;
    std::deque<token_life> lives_;
    std::vector<submission> batch_;
    std::vector<world::step> handlers_;
    bool turn_scheduled_ = false;
    true_time paused_until_{};
    true_time end_{};
    bool dead_ = false;
    bool closing_ = false;
    std::uint64_t tokens_ = 0;
};

}  // namespace colock::simulation

#endif
