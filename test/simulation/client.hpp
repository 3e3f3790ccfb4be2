// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CLIENT_HPP
#define COLOCK_TEST_SIMULATION_CLIENT_HPP

#include "simulation/checker.hpp"
#include "simulation/connection.hpp"
#include "simulation/life.hpp"
#include "simulation/once_work.hpp"
#include "simulation/record_work.hpp"
#include "simulation/route.hpp"
#include "simulation/spec.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "instance/batch.hpp"
#include "instance/send_window.hpp"
#include "runtime/engine.hpp"
#include "runtime/environment.hpp"
#include "runtime/handover.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/ownership.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace colock::simulation {

class client;

/// An acquire, and its caller.
class acquiring final : public runtime::acquire_operation {
public:
    /// Called when its caller hears how it ended; with an empty one if it was not granted.
    using handler = std::function<void(const holding& granted)>;

    acquiring(client& by, std::shared_ptr<const runtime::lock_spec> spec, true_time now,
              core::time_point until, std::uint64_t owner, handler on_finished);

    void deliver() override;

    [[nodiscard]] const runtime::lock_spec& spec() const noexcept {
        return *acquire_operation::spec();
    }
    [[nodiscard]] bool granted() const noexcept {
        return !running() && result() == core::acquire_outcome::granted;
    }
    /// Of its latest attempt, or of the lease that it got.
    [[nodiscard]] const std::string& token();
    [[nodiscard]] const std::shared_ptr<runtime::lease_driver>& current() const noexcept {
        return current_lease();
    }
    [[nodiscard]] std::uint64_t fence_number() const noexcept { return fence(); }
    [[nodiscard]] std::uint32_t holder_number() const noexcept { return holder(); }

    using acquire_operation::has_met_record;
    using acquire_operation::result;
    /// Whether its client has heard a denial of one of its attempts.
    [[nodiscard]] bool was_denied() const {
        return std::ranges::any_of(attempts, &token_life::denied);
    }

    const true_time started;
    const core::time_point deadline;
    /// Since then it has nobody of its client in front, by the client's clock.
    core::time_point first_since;
    std::size_t fences_before = 0;            ///< how many were handed out before it began
    bool ended = false;                       ///< and that was seen
    std::vector<const token_life*> attempts;  ///< that were sent

private:
    client& client_;
    handler on_finished_;
    std::string token_;
};

/// An acquire that goes on with a lease which was detached, and its caller.
class adopting final : public runtime::acquire_operation {
public:
    /// Called when its caller hears how it ended. If the lease is neither granted nor lost, it may be adopted again.
    using handler = std::function<void(const holding& granted, bool is_lost)>;

    adopting(client& by, std::shared_ptr<const runtime::lock_spec> spec,
             std::shared_ptr<const runtime::handover> lease, handler on_finished)
        : acquire_operation(std::move(spec), std::move(lease)),
          tell(std::move(on_finished)),
          client_(by) {}

    void deliver() override;

    using acquire_operation::result;
    [[nodiscard]] bool granted() const noexcept {
        return !running() && result() == core::acquire_outcome::granted;
    }
    [[nodiscard]] const std::shared_ptr<runtime::lease_driver>& current() const noexcept {
        return current_lease();
    }
    [[nodiscard]] std::uint64_t fence_number() const noexcept { return fence(); }
    [[nodiscard]] std::uint32_t holder_number() const noexcept { return holder(); }
    [[nodiscard]] const std::shared_ptr<const runtime::lock_spec>& lock() const noexcept {
        return acquire_operation::spec();
    }

    token_life* life = nullptr;  ///< once something was sent
    bool ended = false;          ///< and that was seen
    const handler tell;

private:
    client& client_;
};

/// A downgrade, and its caller.
class downgrading final : public runtime::downgrade_operation {
public:
    downgrading(const holding& h, std::shared_ptr<const runtime::lock_spec> readers, true_time now)
        : downgrade_operation(h.state, h.holder, std::move(readers)), lease(h), started(now) {}

    void deliver() override { told = true; }
    using downgrade_operation::result;
    [[nodiscard]] bool done() const {
        return !running() && result() == runtime::lease_result::done;
    }

    const holding lease;
    const true_time started;
    bool ended = false;  ///< and that was seen
    bool told = false;   ///< its caller was
};

/// A share that somebody has asked for, and its caller.
class sharing final : public runtime::share_operation {
public:
    sharing(const holding& h, std::shared_ptr<const runtime::lock_spec> readers, true_time now,
            std::size_t fences, std::function<void(const holding&)> on_finished)
        : share_operation(h.state, h.holder, std::move(readers)),
          from(h),
          started(now),
          fences_before(fences),
          tell(std::move(on_finished)) {}

    void deliver() override {}
    using share_operation::fence;
    using share_operation::new_holder;
    using share_operation::result;

    const holding from;
    const true_time started;
    const std::size_t fences_before;  ///< how many were handed out before it was asked for
    const std::function<void(const holding&)> tell;
};

/// A process that uses the library: the engine, as it is in a program, in a world of virtual time, and its users.
///
/// Between two things that happen in the process anything may happen elsewhere.
class client final : private runtime::environment {
public:
    /// Of those that wait, as their policies say.
    static constexpr duration longest_backoff{60'000'000};

    client(world& w, checker& c, std::vector<std::unique_ptr<voter>>& voters, std::size_t index);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client();

    /// Lets its users take locks until `end`. If `takes_several`, some take several of them at once.
    void start(const std::vector<resource>& resources, bool takes_several, true_time end);
    /// Lets so many more users take a lock each, of their own: see `fault_model::crowd`.
    void start_crowd(std::size_t size);

    /// Lets more users work on records until `end`.
    void start_records(const std::vector<std::string>& records,
                       const std::vector<std::string>& locks, true_time end) {
        records_.start(records, locks, end);
    }

    // The same for a scenario, which says itself what its users do.

    std::shared_ptr<acquiring> acquire(const spec& s, core::time_point deadline,
                                       acquiring::handler on_finished);
    std::shared_ptr<acquiring> acquire(const spec& s, acquiring::handler on_finished) {
        return acquire(s, core::never, std::move(on_finished));
    }
    void cancel(acquiring& o);
    /// An owner enters its lease at once; an empty one, if it holds none.
    holding reenter(const spec& s);
    /// Of a lease that is held, or was lost: to release it, or to hand it off to the next waiter of this process.
    void let_go(const holding& h);
    /// Of a lease that is held: the same, but its keys are left to their ttl.
    void abandon(const holding& h);
    /// The same, and another client may go on with it. Gives what that needs; nothing if it has other holders.
    std::optional<std::string> detach(const holding& h);
    /// Goes on with a lease that was detached, as a lease of that lock. Without one, with some options.
    std::shared_ptr<adopting> adopt(const std::string& text, const std::optional<spec>& as,
                                    adopting::handler on_finished);
    /// The same, and a user holds it for a while. `tell` is called if another client may adopt it.
    void take_over(const std::string& text, const std::function<void()>& tell);
    /// Told of what a lease needs that was detached.
    std::function<void(const std::string& text)> on_detached;
    void when_sent(const holding& released, std::function<void()> then);
    void on_loss(const holding& h, std::function<void()> tell);
    void extend(const holding& h, duration ttl);
    /// A writer's lease is to become a reader's.
    std::shared_ptr<downgrading> downgrade(const holding& h, const spec& readers);
    /// Another holder for a reader's lease; an empty one, if that cannot be. `tell` is called at once without fencing.
    void share(const holding& h, const spec& readers, std::function<void(const holding&)> tell);

    // What goes wrong.

    void pause(duration how_long);
    void crash();
    void close();
    [[nodiscard]] route& to(std::size_t instance) { return *routes_[instance]; }

    // For its work on records.

    [[nodiscard]] record_work& records() { return records_; }
    [[nodiscard]] record_checker& record_rules() { return checker_.records(); }
    [[nodiscard]] std::shared_ptr<runtime::client_context> owner() {
        return {engine_, &engine_->parts()};
    }
    // For its calls of `once`.

    /// Lets more users call `once` until `end`.
    void start_once(const std::vector<std::string>& names, true_time end) {
        once_.start(names, end);
    }
    [[nodiscard]] once_work& once_calls() { return once_; }
    [[nodiscard]] once_checker& once_rules() { return checker_.once(); }
    [[nodiscard]] std::size_t instances() const { return voters_.size(); }
    [[nodiscard]] std::shared_ptr<const runtime::lock_spec> lock_of(const spec& s);
    /// A quorum has a record in place of the token of that lease.
    void on_completed(const holding& h);
    /// That lease is released, as no quorum has the record.
    void on_ended(const holding& h);

    /// Does something in the engine.
    void act(const world::step& what);

    // For its routes.

    /// Everything in the process happens through these: later, while it stands still; never, once it
    /// is dead.
    void post(true_time when, world::step what);
    void run_or_defer(world::step what);
    /// Sends a command there, unless there is a reason not to: then it is false.
    bool send_on(std::size_t instance, connection& way, request r,
                 std::optional<script_form> form = std::nullopt, bool again = false);
    /// The command was not executed there: it counts as not sent.
    request unsent(std::size_t instance, request r);
    /// The command is not sent.
    void refuse(std::size_t instance, const request& r, const core::vote& v);
    void on_answer(std::size_t instance, const request& r, const core::vote& v);
    void on_accepting(std::size_t instance);
    void on_broken(std::size_t instance);
    void on_key_changed(std::size_t instance, const std::string& key);

    // For the checkers.

    [[nodiscard]] bool dead() const { return dead_; }
    [[nodiscard]] const local_clock& clock() const { return clock_; }
    [[nodiscard]] core::time_point now() const noexcept override { return clock_.at(world_.now()); }
    [[nodiscard]] const std::string& who() const { return name_; }
    /// Until when it last stood still.
    [[nodiscard]] true_time paused_until() const { return paused_until_; }
    [[nodiscard]] const runtime::engine& engine() const { return *engine_; }
    /// For how long the oldest of those has waited that want the key; not while the client stood still.
    [[nodiscard]] duration longest_wait(const std::string& key) const;
    /// What the first of those wants; null if nobody does.
    [[nodiscard]] const runtime::lock_spec* first_wish(const std::string& key) const;
    /// Those of its waiters for a key that may have a place in the order of all.
    [[nodiscard]] client_waiters waiters_for(const std::string& key) const;
    /// By which the instances know it.
    [[nodiscard]] std::uint64_t number() const { return engine_->parts().client_number; }
    void expect_nothing_pending() const;

    // For its operations.

    void on_delivered(acquiring& o, const acquiring::handler& tell, const holding& granted);
    void on_delivered(adopting& o);

private:
    static constexpr duration instance_timeout = 50ms;

    class door;
    /// The commands that an instance has not answered.
    class flow {
    public:
        [[nodiscard]] std::size_t room() const noexcept {
            return window_.size() - std::min(window_.size(), in_flight_);
        }
        void on_sent(core::time_point now);
        void on_answer(core::time_point sent, bool is_lost, core::time_point now);

    private:
        struct batch {
            std::size_t unanswered = 0;
            bool is_answered = false;  // one of its commands
        };
        instance::send_window window_{std::size_t{1} << 16U, instance_timeout / 2};
        std::size_t in_flight_ = 0;
        std::map<core::time_point, batch> batches_;  // by when they were sent
    };
    struct user {
        spec lock;
        std::shared_ptr<acquiring> waiting;
        holding lease;
    };
    /// A lease that was handed out.
    struct tracked {
        std::shared_ptr<runtime::lease_driver> state;
        token_life* life;
        std::set<std::uint32_t> holders;  // that have not let go
        runtime::ownership who;           // of the latest
        std::size_t handoffs = 0;
    };
    /// What an owner has of a lease, until it lets go of that.
    struct entry {
        holding lease;
        std::string key;
        runtime::ownership who;
        bool has_fence;
    };
    /// What an acquire of an owner comes to at once.
    enum class entering { waits, enters, would_deadlock, has_lost };

    // The world of its engine.
    void defer() override;
    void wake_at(core::time_point when) override;
    std::uint64_t random() noexcept override { return world_.random.next(); }

    // The users.
    void be_served(const spec& s, bool holds);
    void think(user& u, duration how_long);
    void take(user& u);
    void hold(user& u, const holding& granted);
    void read_on(user& u, const holding& h);
    void hold_share(const holding& h, duration how_long);
    void nest(const spec& outer);
    void clean_up(user& u, const holding& h);
    void finish(user& u);
    [[nodiscard]] spec some_spec(const resource& of);
    void choose_names(spec& s);
    void choose_permits(runtime::lock_policy& p, std::uint32_t limit);
    static void choose_order(runtime::lock_policy& p);
    [[nodiscard]] core::time_point some_deadline();

    // What the engine does, and what comes of it.
    template <typename Function>
    void enter(const Function& what);
    void look();
    void look_at(acquiring& o);
    void look_at(adopting& o);
    [[nodiscard]] spec spec_for(const runtime::handover& lease);
    void expect_in_time(acquiring& o);
    void expect_contention(const acquiring& o);
    void expect_mismatch(const acquiring& o) const;
    void expect_no_mismatch(const acquiring& o) const;
    [[nodiscard]] bool has_others_in_front(const acquiring& o) const;
    void look_at(tracked& lease);
    void look_at_downgrades();
    void look_at(downgrading& one);
    void look_at_shares();
    holding look_at(const sharing& one);
    void expect_result(const std::string& what, runtime::lease_result result, const holding& h,
                       runtime::lease_result if_held);
    void expect_side(const holding& h);
    void expect_holders(const tracked& lease);
    void expect_counted();
    [[nodiscard]] bool is_read(const std::string& key) const;
    void expect_readers_begin();
    void expect_order(const acquiring& granted) const;
    void expect_attempts(acquiring& waiting);
    void expect_in_order(const acquiring& sent);
    bool leaves_others(const holding& h);
    void add_entry(const holding& h, const spec& of);
    void take_over(tracked& lease, const acquiring& o);
    void enter_again(tracked& lease, const holding& h, const spec& by);
    [[nodiscard]] static spec spec_of(const acquiring& o);
    [[nodiscard]] entering expected_of(const spec& s) const;
    void expect_entering(const acquiring& o, entering expected);
    void expect_owners_entered();
    [[nodiscard]] token_life& life_of(const holding& h) const;
    [[nodiscard]] tracked* find_tracked(const holding& h);
    void count_renewals();
    void send(std::size_t instance, const instance::batch& commands);
    void note(const instance::submission& one);
    void note_record(request& r);
    void note_once(request& r);

    world& world_;
    checker& checker_;
    std::vector<std::unique_ptr<voter>>& voters_;
    std::string name_;
    local_clock clock_;
    std::vector<std::uint64_t> last_sent_;
    true_time last_started_{};  // of the acquires that were sent, where there is a crowd
    std::vector<flow> flows_;   // by instance
    std::shared_ptr<runtime::engine> engine_;
    std::vector<std::unique_ptr<route>> routes_;  // to each instance
    std::deque<user> users_;
    std::vector<std::string> several_;  // names of which locks may have more than one; mostly none
    std::vector<std::shared_ptr<acquiring>> operations_;  // in the order in which they began
    std::vector<std::shared_ptr<adopting>> adoptions_;
    std::vector<std::shared_ptr<downgrading>>
        downgrades_;                                // whose callers have not heard of the end
    std::vector<std::shared_ptr<sharing>> shares_;  // which are being counted
    std::vector<tracked> leases_;
    std::vector<entry> entries_;  // of owners
    record_work records_;
    once_work once_;
    std::map<std::string, core::time_point> ended_at_;  // by key: when the last of them ended
    /// By key: its tickets in the remote queue that have another client in front.
    std::map<std::string, std::set<std::uint64_t>> behind_;
    std::vector<request> requests_;  // of the batch that is being sent
    bool batch_is_new_ = true;
    unsigned depth_ = 0;  // of what happens in the engine now
    std::uint64_t wake_number_ = 0;
    core::time_point submitted_since_{};  // what the next batch has
    std::uint64_t renewals_ = 0;
    true_time paused_until_{};
    true_time end_{};
    core::time_point closing_since_{};
    bool closed_ = false;  // and that was seen
    bool dead_ = false;
    bool stopped_ = false;
};

/// Whether that waiter for that key waits in one of these clients.
[[nodiscard]] bool waits_in(const std::vector<std::unique_ptr<client>>& clients,
                            const std::string& key, const stored_waiter& one);

}  // namespace colock::simulation

#endif
