#ifndef COLOCK_RUNTIME_ENGINE_HPP
#define COLOCK_RUNTIME_ENGINE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "instance/batch.hpp"
#include "instance/instance.hpp"
#include "instance/shared_pool.hpp"
#include "kinds/kind.hpp"
#include "runtime/acquire_operation.hpp"
#include "runtime/contention_history.hpp"
#include "runtime/environment.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/local_queue.hpp"
#include "runtime/operation.hpp"
#include "runtime/remote_queue.hpp"
#include "runtime/timer_queue.hpp"
#include "runtime/token.hpp"

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::runtime {

struct engine_settings {
    std::string key_prefix;
    core::drift_bound drift;
    core::duration instance_timeout{};
    core::duration close_timeout{};
    /// That a lock may have; 0: any. An instance that forgets in a restart is trusted again after so long.
    core::milliseconds longest_ttl{0};
};

/// A number with one writer, readable from any thread.
class counter {
public:
    void add(std::uint64_t n) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    counter& operator++() noexcept {
        add(1);
        return *this;
    }
    counter& operator--() noexcept {
        add(~std::uint64_t{0});
        return *this;
    }
    operator std::uint64_t() const noexcept {  // NOLINT(*-explicit-*)
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// What happened, for `colock::counters`. Written on the engine's executor.
struct statistics {
    counter attempts, acquired, contended, unavailable, undone, cancelled;
    counter renewed, renewals_failed, healed, released, handed_off, lost;
    counter keys_without_ttl;
    counter held, acquiring, queued, releasing;
};

/// Waits for the engine to have closed.
class close_operation : public operation {
public:
    explicit close_operation(std::shared_ptr<engine> owner) : engine_(std::move(owner)) {}
    void cancel() final;

    enum class outcome_type : std::uint8_t { closed, unanswered, cancelled };

protected:
    [[nodiscard]] outcome_type outcome() const noexcept { return outcome_; }
    [[nodiscard]] const std::shared_ptr<engine>& owner() const noexcept { return engine_; }

private:
    friend class engine;
    void on_start() final;
    void finish(outcome_type outcome);

    std::shared_ptr<engine> engine_;
    outcome_type outcome_ = outcome_type::closed;
};

/// What a client does: owns the instances, drives the machines of every operation and lease, and works in *turns*. In
/// a turn, first the handlers of finished operations run, then everything that they and others have submitted goes
/// out, as one batch to all instances. It sees the world through its `environment` only.
///
/// Its maker keeps it alive as long as anything refers to it (see `asio_host`).
///
/// Thread-safety: distinct objects safe, shared objects unsafe, but for what says otherwise.
class engine final : public instance::instance_observer, private timed {
public:
    using instance_list = std::vector<std::unique_ptr<instance::instance>>;

    engine(environment& world, const engine_settings& settings);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine();

    // Thread-safe:

    [[nodiscard]] const statistics& counts() const noexcept { return statistics_; }
    [[nodiscard]] std::vector<instance::status> instance_states() const;
    [[nodiscard]] environment& world() const noexcept { return world_; }

    // From its owner:

    /// Starts the instances, which report to the engine. To be called once.
    void start(instance_list instances);

    /// What `environment::defer` has asked for. A caller's handler may throw out of it; the rest follows in
    /// another turn.
    void turn();

    /// The time of `environment::wake_at` has come.
    void wake();

    /// Ends all operations and leases, and then the connections, once the releases are answered.
    void close();

    /// As `close`, without waiting for anything.
    void close_at_once();

    [[nodiscard]] bool closing() const noexcept { return closing_; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }

    /// There is no world any more: nothing will run.
    void abandon() noexcept;

    // From the instances:

    void on_state_change(std::size_t index) override;
    void on_pending(std::size_t index) override;
    void on_accepting(std::size_t index) override;
    void on_key_changed(std::size_t index, std::string_view key) override;
    void on_all_keys_changed(std::size_t index) override;
    void on_reading() override;
    void on_read() override;

    // For operations and leases:

    [[nodiscard]] const engine_settings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t instance_count() const noexcept { return instances_.size(); }
    [[nodiscard]] token next_token(const kinds::lock_kind& kind) {
        return token::draw(world_, kind.traits().token_prefix);
    }
    /// A random number, enough for jitter.
    [[nodiscard]] std::uint64_t next_seed() noexcept {
        std::uint64_t state = seeds_++;
        return core::next_random(state);
    }
    [[nodiscard]] statistics& count() noexcept { return statistics_; }
    [[nodiscard]] bool dead() const noexcept { return dead_; }

    [[nodiscard]] core::time_point now() const noexcept { return world_.now(); }
    /// The time as of this turn, for what need not be exact.
    [[nodiscard]] core::time_point recent_time() const noexcept { return recent_time_; }

    /// Too few instances are ready, but some have not failed yet to connect for the first time: it
    /// is worth to wait for them.
    [[nodiscard]] bool starting() const;

    /// Has `t` called at that time, or before it: what it waits for already stays if that is earlier.
    /// So what is put off time and again, and mostly over before, is not moved each time.
    void wait(timed& t, core::time_point until) {
        if (until < t.time()) {
            timers_.set(t, until);
            if (until < armed_for_) {
                arm();
            }
        }
    }
    void stop_waiting(timed& t) noexcept { timers_.clear(t); }

    /// Has a command sent at the end of the turn, which is still to be filled in, but for its
    /// deadline.
    core::command& submit(instance::vote_receiver& receiver, instance::command_tag tag,
                          core::instance_set targets, core::time_point deadline);

    /// The number of the turn in which what is submitted now goes out.
    [[nodiscard]] std::uint32_t turn_number() const noexcept { return turn_number_; }

    /// That instance gets what is submitted in this turn after the others.
    void send_last(std::size_t index) noexcept { first_ = index + 1; }

    /// Something that was submitted for that turn may not be wanted any more; too late if that is over.
    void reconsider(std::uint32_t turn) noexcept {
        if (turn == turn_number_) {
            batch_->reconsider();
        }
    }

    /// Has the operation's `deliver` called in the next turn.
    void deliver_later(std::shared_ptr<operation> finished);

    [[nodiscard]] local_queues& queues() noexcept { return queues_; }

    /// A lease or an operation has come to the key, or has left it: the next waiter begins at the end of the turn, if it
    /// may. An unused queue is gone after that.
    void advance(local_queue& queue);

    void add(acquire_operation& running) { acquiring_.push_back(running); }
    void add(lease_state& lease) { leases_.push_back(lease); }
    /// Has a lease told, until its end, when an instance takes commands again: one that may have to give
    /// something back there.
    void tell_of_accepting(lease_state& lease) {
        lease.lease_of_engine::unlink();
        giving_back_.push_back(lease);
    }
    void add(remote_queue& remote) { remote_queues_.push_back(remote); }

    [[nodiscard]] contention_history& contention() noexcept { return contention_; }

    /// The instance that keeps the remote queue of a key; nothing if none can.
    [[nodiscard]] std::optional<std::size_t> keeper_of(std::string_view key) const noexcept;
    [[nodiscard]] bool can_keep_queue(std::size_t index) const noexcept;

    /// Tells the remote queue what becomes of that ticket. The name stays where it is until `stop_watching`.
    void watch(std::string_view ticket, remote_queue& remote) { watched_[ticket] = &remote; }
    void stop_watching(std::string_view ticket) noexcept { watched_.erase(ticket); }
    void release_started() noexcept { ++statistics_.releasing; }
    void release_ended();

private:
    friend class close_operation;

    void on_time(core::time_point now) override;

    template <typename Function>
    void for_each_lease(const Function& tell);
    static void tell_of_change(acquire_operation& waiting, remote_queue* remote, std::size_t index);
    void schedule_turn();
    void deliver_finished();
    void prefetch_next() const noexcept;
    void begin_next();
    void send_batch();
    void arm();
    std::shared_ptr<instance::batch> empty_batch();
    void look_after_leases(core::time_point now);
    [[nodiscard]] bool all_settled(core::time_point now) const;
    void finish_closing(close_operation::outcome_type outcome);

    environment& world_;
    engine_settings settings_;
    bool dead_ = false;
    instance_list instances_;
    bool has_quorum_ = false;  // of ready ones

    instance::shared_pool<instance::batch> batches_;
    std::shared_ptr<instance::batch> batch_ = empty_batch();  // of this turn
    std::size_t first_ = 0;                                   // of the instances to be sent it
    bool instances_want_to_send_ = false;

    timer_queue timers_;
    core::time_point armed_for_ = core::never;
    core::time_point recent_time_ = now();

    std::uint64_t seeds_ = world_.random();
    statistics statistics_;

    bool turn_scheduled_ = false;
    bool reading_ = false;    // replies of an instance: a turn that is scheduled now is owed
    bool turn_owed_ = false;  // scheduled, and not deferred
    std::uint32_t turn_number_ = 0;
    std::vector<std::shared_ptr<operation>> finished_;
    std::vector<std::shared_ptr<operation>> delivering_;
    std::size_t next_to_deliver_ = 0;

    local_queues queues_;
    std::vector<std::shared_ptr<acquire_operation>> next_;  // at their keys, and about to begin
    boost::intrusive::list<acquire_operation, boost::intrusive::base_hook<member_of_engine>,
                           boost::intrusive::constant_time_size<false>>
        acquiring_;
    using lease_list =
        boost::intrusive::list<lease_state, boost::intrusive::constant_time_size<false>>;
    lease_list leases_;
    lease_list giving_back_;  // some of them, where it does not go at once; not in `leases_`

    contention_history contention_;
    boost::intrusive::list<remote_queue, boost::intrusive::constant_time_size<false>>
        remote_queues_;
    std::unordered_map<std::string_view, remote_queue*> watched_;

    bool closing_ = false;
    bool closed_ = false;
    core::time_point close_deadline_ = core::never;
    close_operation::outcome_type close_outcome_ = close_operation::outcome_type::closed;
    std::vector<std::shared_ptr<close_operation>> close_waiters_;
};

}  // namespace colock::runtime

#endif
