#ifndef COLOCK_RUNTIME_ENGINE_HPP
#define COLOCK_RUNTIME_ENGINE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "instance/batch.hpp"
#include "instance/clock.hpp"
#include "instance/fork.hpp"
#include "instance/instance.hpp"
#include "instance/shared_pool.hpp"
#include "runtime/acquire_operation.hpp"
#include "runtime/crowds.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/lock_queue.hpp"
#include "runtime/operation.hpp"
#include "runtime/place_in_line.hpp"
#include "runtime/presence.hpp"
#include "runtime/timer_queue.hpp"
#include "runtime/token.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
    bool thread_safe = false;
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
    counter renewed, renewals_failed, healed, released, handed_over, lost;
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

/// The Asio shell of a client: owns the instances and the one timer, drives the machines of every
/// operation and lease, and works in *turns*. In a turn, first the handlers of finished operations
/// run, then everything that they and others have submitted goes out, as one batch to all instances.
///
/// Lives as long as anybody refers to it: the client, an operation, a lease, work in the background.
/// When the execution context goes first, `abandon` makes all that is left a no-op.
///
/// Thread-safety: all on `executor()`, one thread at a time, but what says otherwise.
class engine final : public std::enable_shared_from_this<engine>,
                     private instance::instance_observer,
                     private timed {
public:
    using instance_list = std::vector<std::unique_ptr<instance::instance>>;
    /// Makes the instances, which are to report to `observer` and to work on `executor`.
    using instance_factory = std::function<instance_list(
        const boost::asio::any_io_executor& executor, instance::instance_observer& observer)>;

    static std::shared_ptr<engine> make(boost::asio::any_io_executor executor,
                                        const engine_settings& settings,
                                        const instance_factory& make_instances);
    ~engine();

    // From any thread:

    /// Where handlers run that have no executor of their own.
    [[nodiscard]] const boost::asio::any_io_executor& user_executor() const noexcept {
        return user_executor_;
    }
    [[nodiscard]] bool thread_safe() const noexcept { return settings_.thread_safe; }
    [[nodiscard]] const statistics& counts() const noexcept { return statistics_; }
    [[nodiscard]] std::vector<instance::status> instance_states() const;

    /// Whether this process is a child of the one that made the client, which is the parent's alone: nothing
    /// can be started here.
    [[nodiscard]] bool is_inherited() const noexcept { return process_.is_inherited(); }

    /// Runs `function` where the engine works: at once, or by way of its strand. Drops it if the
    /// context is gone, and in a child if another thread of the parent may have been inside at the fork.
    template <typename Function>
    void run(Function&& function) {
        if (dead_.load(std::memory_order_acquire)) {
            return;
        }
        if (is_inherited()) {
            if (settings_.thread_safe || presence_.is_of_another()) {
                return;
            }
            end_in_child();
        }
        if (settings_.thread_safe) {
            boost::asio::dispatch(executor_, std::forward<Function>(function));
        } else {
            const presence::visit inside(presence_);
            std::forward<Function>(function)();
        }
    }

    // On the executor:

    /// The client is destroyed or closed: see `colock::client::close`.
    void close();

    /// In a child of the process that made the client: ends what was under way at the fork, as `close` does, but
    /// without a word to the servers, with which the parent goes on. Idempotent.
    void end_in_child();

    /// The execution context is being destroyed: nothing will run any more.
    void abandon() noexcept;

    // For operations and leases:

    [[nodiscard]] const engine_settings& settings() const noexcept { return settings_; }
    [[nodiscard]] std::size_t instance_count() const noexcept { return instances_.size(); }
    [[nodiscard]] token_source& tokens() noexcept { return tokens_; }
    /// A random number, enough for jitter.
    [[nodiscard]] std::uint64_t next_seed() noexcept {
        std::uint64_t state = seeds_++;
        return core::next_random(state);
    }
    [[nodiscard]] statistics& count() noexcept { return statistics_; }
    [[nodiscard]] bool closing() const noexcept { return closing_; }
    [[nodiscard]] bool dead() const noexcept { return dead_.load(std::memory_order_acquire); }

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

    [[nodiscard]] lock_queues& queues() noexcept { return queues_; }

    /// Who was at the key is so no more: the next in line, if there is one, begins at the end of the
    /// turn.
    void advance(lock_queue& queue);

    void add(acquire_operation& running) { acquiring_.push_back(running); }
    void add(lease_state& lease) { leases_.push_back(lease); }
    /// Has a lease told, until its end, when an instance takes commands again: one that may have to give
    /// something back there.
    void tell_of_accepting(lease_state& lease) {
        lease.unlink();
        giving_back_.push_back(lease);
    }
    void add(place_in_line& place) { places_.push_back(place); }

    [[nodiscard]] runtime::crowds& crowds() noexcept { return crowds_; }

    /// The instance that keeps the line of those who wait for a key; nothing if none can.
    [[nodiscard]] std::optional<std::size_t> keeper_of(std::string_view key) const noexcept;
    [[nodiscard]] bool can_keep_line(std::size_t index) const noexcept;

    /// Tells the place what becomes of that ticket. The name stays where it is until `stop_watching`.
    void watch(std::string_view ticket, place_in_line& place) { watched_[ticket] = &place; }
    void stop_watching(std::string_view ticket) noexcept { watched_.erase(ticket); }
    void release_started() noexcept { ++statistics_.releasing; }
    void release_ended();

private:
    friend class close_operation;

    engine(boost::asio::any_io_executor executor, const engine_settings& settings);

    /// Whoever lets go of it last may be on any thread, while what its connections have left to do
    /// runs on the strand; so there it ends.
    static void dispose(engine* e) noexcept;

    void on_state_change(std::size_t index) override;
    void on_pending(std::size_t index) override;
    void on_accepting(std::size_t index) override;
    void on_key_changed(std::size_t index, std::string_view key) override;
    void on_all_keys_changed(std::size_t index) override;
    void on_reading() override;
    void on_read() override;
    void on_time(core::time_point now) override;

    template <typename Function>
    void for_each_lease(const Function& tell);
    static void tell_of_change(acquire_operation& waiting, place_in_line* place, std::size_t index);
    void schedule_turn();
    void post_turn();
    void turn();
    void deliver_finished();
    void prefetch_next() const noexcept;
    void begin_next();
    void send_batch();
    void arm();
    void wait_for_timer();
    std::shared_ptr<instance::batch> empty_batch();
    void look_after_leases(core::time_point now);
    [[nodiscard]] bool all_settled(core::time_point now) const;
    void finish_closing(close_operation::outcome_type outcome);

    instance::process_mark process_;
    presence presence_;  // unless there is a strand
    engine_settings settings_;
    boost::asio::any_io_executor user_executor_;
    boost::asio::any_io_executor executor_;
    boost::asio::any_io_executor work_;  // keeps the context busy until we have closed
    std::atomic<bool> dead_{false};
    instance_list instances_;
    bool has_quorum_ = false;  // of ready ones

    instance::shared_pool<instance::batch> batches_;
    std::shared_ptr<instance::batch> batch_ = empty_batch();  // of this turn
    std::size_t first_ = 0;                                   // of the instances to be sent it
    bool instances_want_to_send_ = false;

    std::unique_ptr<boost::asio::steady_timer> timer_;
    timer_queue timers_;
    core::time_point armed_for_ = core::never;
    core::time_point recent_time_ = instance::clock::now();

    token_source tokens_;
    std::uint64_t seeds_ = tokens_.next_seed();
    statistics statistics_;

    bool turn_scheduled_ = false;
    bool reading_ = false;    // replies of an instance: a turn that is scheduled now is owed
    bool turn_owed_ = false;  // scheduled, and not posted
    std::uint32_t turn_number_ = 0;
    std::vector<std::shared_ptr<operation>> finished_;
    std::vector<std::shared_ptr<operation>> delivering_;
    std::size_t next_to_deliver_ = 0;

    lock_queues queues_;
    std::vector<std::shared_ptr<acquire_operation>> next_;  // at their keys, and about to begin
    boost::intrusive::list<acquire_operation, boost::intrusive::base_hook<member_of_engine>,
                           boost::intrusive::constant_time_size<false>>
        acquiring_;
    using lease_list =
        boost::intrusive::list<lease_state, boost::intrusive::constant_time_size<false>>;
    lease_list leases_;
    lease_list giving_back_;  // some of them, where it does not go at once; not in `leases_`

    runtime::crowds crowds_;
    boost::intrusive::list<place_in_line, boost::intrusive::constant_time_size<false>> places_;
    std::unordered_map<std::string_view, place_in_line*> watched_;

    bool ended_in_child_ = false;
    bool closing_ = false;
    bool closed_ = false;
    core::time_point close_deadline_ = core::never;
    close_operation::outcome_type close_outcome_ = close_operation::outcome_type::closed;
    std::vector<std::shared_ptr<close_operation>> close_waiters_;
    std::shared_ptr<engine> self_;  // while closing in the background
};

}  // namespace colock::runtime

#endif
