// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_ENGINE_HPP
#define COLOCK_RUNTIME_ENGINE_HPP

#include "core/time.hpp"
#include "instance/instance.hpp"
#include "runtime/client_context.hpp"
#include "runtime/environment.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/timer_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::runtime {

class engine;

/// Waits until the engine is closed.
class close_operation : public operation {
public:
    explicit close_operation(std::shared_ptr<engine> owner) : engine_(std::move(owner)) {}
    void cancel() final;

    enum class outcome_type : std::uint8_t { closed, unanswered, cancelled };

protected:
    [[nodiscard]] outcome_type outcome() const noexcept { return outcome_; }
    void on_start() override;

private:
    friend class engine;
    void finish(outcome_type outcome);

    std::shared_ptr<engine> engine_;
    outcome_type outcome_ = outcome_type::closed;
};

/// The engine of a client. It owns the instances, notifies its operations, leases and queues of events, and
/// works in *turns*. In a turn, it first runs the handlers of finished operations. Then it notifies waiters
/// of the client's own writes, and starts the next waiters. Finally it sends all submitted commands as one
/// batch to all instances. Its only access to the outside is `environment`.
///
/// Its owner keeps it alive as long as it is referenced (see `asio_host`).
///
/// Thread-safety: distinct objects safe, shared objects unsafe, unless stated otherwise.
class engine final : private instance::instance_observer, private timed {
public:
    engine(environment& world, engine_settings settings);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine();

    /// Returns the parts that its operations, leases and queues use. The settings, the counts and the states
    /// of the instances are thread-safe.
    [[nodiscard]] client_context& parts() noexcept { return parts_; }
    [[nodiscard]] const client_context& parts() const noexcept { return parts_; }

    /// Returns the observer for the instances.
    [[nodiscard]] instance::instance_observer& observer() noexcept { return *this; }

    /// Takes the instances. Called once, before all other functions, by the thread that creates the engine.
    void take(instance_group::list instances);

    /// Connects the instances. Called once.
    void start();

    /// Runs a turn, after `environment::defer`. A caller's handler may throw out of it. The rest follows in
    /// another turn.
    void turn();

    /// Runs the expired timers, after `environment::wake_at`.
    void wake();

    /// Ends all operations and leases. Closes the connections when the releases are answered.
    void close();
    [[nodiscard]] bool closing() const noexcept { return parts_.closing; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }

    /// Closes without waiting.
    void close_at_once();

    /// Drops everything, because the execution context is being destroyed.
    void abandon() noexcept;

private:
    friend class close_operation;

    void on_state_change(std::size_t index) override;
    void on_pending(std::size_t index) override;
    void on_accepting(std::size_t index) override;
    void on_key_changed(std::size_t index, std::string_view key) override;
    void on_all_keys_changed(std::size_t index) override;
    void on_time(core::time_point now) override;

    void run_turn();
    void restore_keys(std::size_t index);
    template <typename Function>
    void for_each_lease(const Function& tell);
    template <typename Predicate>
    [[nodiscard]] bool any_lease(const Predicate& is_so) const;
    void tell_own_writes();
    void tell_those_with_more_keys(std::size_t index, std::string_view key);
    void look_after_leases(core::time_point now);
    void admit();
    void finish_closing(close_operation::outcome_type outcome);

    client_context parts_;
    bool closed_ = false;
    core::time_point close_deadline_ = core::never;
    close_operation::outcome_type close_outcome_ = close_operation::outcome_type::closed;
    std::vector<std::shared_ptr<close_operation>> close_waiters_;
};

}  // namespace colock::runtime

#endif
