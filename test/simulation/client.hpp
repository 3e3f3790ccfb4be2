// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CLIENT_HPP
#define COLOCK_TEST_SIMULATION_CLIENT_HPP

#include "simulation/checker.hpp"
#include "simulation/connection.hpp"
#include "simulation/life.hpp"
#include "simulation/listener.hpp"
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

/// An acquire and its caller.
class acquiring final : public runtime::acquire_operation {
public:
    /// Called when the caller learns the result. The holding is empty if the lock was not granted.
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
    /// Returns the token of the latest attempt, or of the acquired lease.
    [[nodiscard]] const std::string& token();
    [[nodiscard]] const std::shared_ptr<runtime::lease_driver>& current() const noexcept {
        return current_lease();
    }
    [[nodiscard]] std::uint64_t fence_number() const noexcept { return fence(); }
    [[nodiscard]] std::uint32_t holder_number() const noexcept { return holder(); }

    using acquire_operation::has_met_record;
    using acquire_operation::result;
    /// Returns whether the client has received a denial of one of its attempts.
    [[nodiscard]] bool was_denied() const {
        return std::ranges::any_of(attempts, &token_life::denied);
    }

    const true_time started;
    const core::time_point deadline;
    /// Since this time, by the client's clock, no other user of the client is ahead.
    core::time_point first_since;
    std::size_t fences_before = 0;            ///< Number of fences issued before it began.
    bool ended = false;                       ///< It has ended, and the checker has seen this.
    std::vector<const token_life*> attempts;  ///< The attempts that were sent.

private:
    client& client_;
    handler on_finished_;
    std::string token_;
};

/// The adoption of a detached lease, and its caller.
class adopting final : public runtime::acquire_operation {
public:
    /// Called when the caller learns the result. If the lease is neither granted nor lost, it may be adopted
    /// again.
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

    token_life* life = nullptr;  ///< Set once a command was sent.
    bool ended = false;          ///< It has ended, and the checker has seen this.
    const handler tell;

private:
    client& client_;
};

/// A downgrade and its caller.
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
    bool ended = false;  ///< It has ended, and the checker has seen this.
    bool told = false;   ///< The caller has received the result.
};

/// A requested share and its caller.
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
    const std::size_t fences_before;  ///< Number of fences issued before the request.
    const std::function<void(const holding&)> tell;
};

/// A release whose caller waits for its outcome.
class releasing final : public runtime::release_operation {
public:
    explicit releasing(const holding& h) : release_operation(h.state, h.holder), lease(h) {}

    void deliver() override {}
    using release_operation::outcome;
    using release_operation::result;

    const holding lease;
};

/// A process that uses the library. It consists of the real engine in a world of virtual time, and of its
/// users.
///
/// Between two events of the process, anything may happen elsewhere.
class client final : private runtime::environment {
public:
    /// The maximum backoff of a waiter, as set by the policies.
    static constexpr duration longest_backoff{60'000'000};

    client(world& w, checker& c, std::vector<std::unique_ptr<voter>>& voters, std::size_t index);
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client();

    /// Lets the users acquire locks until `end`. If `takes_several` is set, some users lock several names
    /// together.
    void start(const std::vector<resource>& resources, bool takes_several, true_time end);
    /// Adds `size` users, each with a lock of its own. See `fault_model::crowd`.
    void start_crowd(std::size_t size);

    /// Adds users that work on records until `end`.
    void start_records(const std::vector<std::string>& records,
                       const std::vector<std::string>& locks, true_time end) {
        records_.start(records, locks, end);
    }

    // The interface for scenarios, which control the users themselves.

    std::shared_ptr<acquiring> acquire(const spec& s, core::time_point deadline,
                                       acquiring::handler on_finished);
    std::shared_ptr<acquiring> acquire(const spec& s, acquiring::handler on_finished) {
        return acquire(s, core::never, std::move(on_finished));
    }
    void cancel(acquiring& o);
    /// Lets an owner enter its lease immediately. Returns an empty holding if it holds none.
    holding reenter(const spec& s);
    /// Releases a lease, or hands it off to the next waiter of this process. The lease may be held or lost.
    void let_go(const holding& h);
    /// Abandons a held lease. Its keys expire with their ttl.
    void abandon(const holding& h);
    /// Detaches a held lease, so another client can adopt it. Returns the text for that, or nothing if the
    /// lease has other holders.
    std::optional<std::string> detach(const holding& h);
    /// Adopts a detached lease as a lease of that lock. Without `as`, the options are random.
    std::shared_ptr<adopting> adopt(const std::string& text, const std::optional<spec>& as,
                                    adopting::handler on_finished);
    /// Adopts a lease that a user then holds for a while. `tell` is called if another client may adopt it.
    void take_over(const std::string& text, const std::function<void()>& tell);
    /// Called with the text of each detached lease.
    std::function<void(const std::string& text)> on_detached;
    void when_sent(const holding& released, std::function<void()> then);
    void on_loss(const holding& h, std::function<void()> tell);
    void extend(const holding& h, duration ttl);
    /// Downgrades a writer's lease to a reader's.
    std::shared_ptr<downgrading> downgrade(const holding& h, const spec& readers);
    /// Adds a holder to a reader's lease. The holding is empty if this is impossible. Without fencing, `tell`
    /// is called immediately.
    void share(const holding& h, const spec& readers, std::function<void(const holding&)> tell);

    // Faults.

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

    /// Adds users that call `once` until `end`.
    void start_once(const std::vector<std::string>& names, true_time end) {
        once_.start(names, end);
    }
    [[nodiscard]] once_work& once_calls() { return once_; }
    [[nodiscard]] once_checker& once_rules() { return checker_.once(); }
    [[nodiscard]] std::size_t instances() const { return voters_.size(); }
    [[nodiscard]] std::shared_ptr<const runtime::lock_spec> lock_of(const spec& s);
    /// Called when a quorum has a record in place of the lease's token.
    void on_completed(const holding& h);
    /// Called when the lease is released because no quorum has the record.
    void on_ended(const holding& h);

    /// Runs `what` inside the engine.
    void act(const world::step& what);

    // For its routes.

    /// Schedules an event of the process. It is delayed while the process is paused, and dropped once it is
    /// dead.
    void post(true_time when, world::step what);
    void run_or_defer(world::step what);
    /// Sends a command to this instance. Returns false if there is a reason not to send it.
    bool send_on(std::size_t instance, connection& way, request r,
                 std::optional<script_form> form = std::nullopt, bool again = false);
    /// Records that the command was not executed there. It then counts as unsent.
    request unsent(std::size_t instance, request r);
    /// Reports a command that is not sent.
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
    /// The end of the last pause.
    [[nodiscard]] true_time paused_until() const { return paused_until_; }
    [[nodiscard]] const runtime::engine& engine() const { return *engine_; }
    /// Returns the longest wait of any waiter for the key. Pauses of the client do not count.
    [[nodiscard]] duration longest_wait(const std::string& key) const;
    /// Returns the lock of the first waiter for the key, or null if there is none.
    [[nodiscard]] const runtime::lock_spec* first_wish(const std::string& key) const;
    /// Returns the waiters for a key that may have a place in the order across clients.
    [[nodiscard]] client_waiters waiters_for(const std::string& key) const;
    /// The number by which the instances identify the client.
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
            bool is_answered = false;  // Whether one of its commands is.
        };
        instance::send_window window_{std::size_t{1} << 16U, instance_timeout / 2};
        std::size_t in_flight_ = 0;
        std::map<core::time_point, batch> batches_;  // By the time of sending.
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
        std::set<std::uint32_t> holders;  // Holders that have not released.
        runtime::ownership who;           // Of the latest holder.
        std::size_t handoffs = 0;
    };
    /// An owner's entry into a lease, until it is released.
    struct entry {
        holding lease;
        std::string key;
        runtime::ownership who;
        bool has_fence;
    };
    /// The immediate result of an acquire by an owner.
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

    // The activity of the engine and its consequences.
    template <typename Function>
    void enter(const Function& what);
    void run_turn();
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
    void look_at_releases();
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
    true_time last_started_{};            // Of the sent acquires of a crowd.
    std::vector<flow> flows_;             // By instance.
    std::shared_ptr<listener> listener_;  // Null for some clients.
    std::shared_ptr<runtime::engine> engine_;
    std::vector<std::unique_ptr<route>> routes_;  // To each instance.
    std::deque<user> users_;
    std::vector<std::string> several_;  // Names for locks with several names. Usually empty.
    std::vector<std::shared_ptr<acquiring>> operations_;  // In the order in which they began.
    std::vector<std::shared_ptr<adopting>> adoptions_;
    std::vector<std::shared_ptr<downgrading>> downgrades_;  // Not yet reported.
    std::vector<std::shared_ptr<sharing>> shares_;          // Shares that are being counted.
    std::vector<std::shared_ptr<releasing>> releases_;      // Not yet checked.
    std::vector<tracked> leases_;
    std::vector<entry> entries_;  // Of owners.
    record_work records_;
    once_work once_;
    std::map<std::string, core::time_point> ended_at_;  // By key: when its last lease ended.
    /// By key: the tickets in the remote queue that have another client ahead.
    std::map<std::string, std::set<std::uint64_t>> behind_;
    std::vector<request> requests_;  // Of the batch that is being sent.
    bool batch_is_new_ = true;
    unsigned depth_ = 0;  // Nesting depth of the engine calls.
    std::uint64_t wake_number_ = 0;
    core::time_point submitted_since_{};  // The start time of the next batch.
    std::uint64_t renewals_ = 0;
    true_time paused_until_{};
    core::time_point without_quorum_ = core::time_point::min();  // The last time without one.
    true_time end_{};
    core::time_point closing_since_{};
    bool closed_ = false;  // Closed, and the checker has seen this.
    bool dead_ = false;
    bool stopped_ = false;
};

/// Lets the clients learn when a server of the instance stops, and of its failovers.
void report_outages(voter& one, std::size_t index,
                    const std::vector<std::unique_ptr<client>>& clients);

/// Returns whether this waiter for the key still waits in one of these clients.
[[nodiscard]] bool waits_in(const std::vector<std::unique_ptr<client>>& clients,
                            const std::string& key, const stored_waiter& one);

}  // namespace colock::simulation

#endif
