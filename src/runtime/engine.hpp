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

/// Waits for the engine to have closed.
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

/// What a client does: owns the instances, tells its operations, leases and queues of the world, and works in *turns*. In
/// a turn, first the handlers of finished operations run, then waiters are told of the client's own writes, then the next
/// waiters begin, then everything that was submitted goes out, as one batch to all instances. It sees the world through its
/// `environment` only.
///
/// Its maker keeps it alive as long as anything refers to it (see `asio_host`).
///
/// Thread-safety: distinct objects safe, shared objects unsafe, but for what says otherwise.
class engine final : private instance::instance_observer, private timed {
public:
    engine(environment& world, engine_settings settings);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine();

    /// What its operations, leases and queues work with. Thread-safe are the settings, the counts, and the states of the
    /// instances.
    [[nodiscard]] client_context& parts() noexcept { return parts_; }
    [[nodiscard]] const client_context& parts() const noexcept { return parts_; }

    /// What the instances report to.
    [[nodiscard]] instance::instance_observer& observer() noexcept { return *this; }

    /// Starts the instances. To be called once.
    void start(instance_group::list instances);

    /// What `environment::defer` has asked for. A caller's handler may throw out of it; the rest follows in
    /// another turn.
    void turn();

    /// The time of `environment::wake_at` has come.
    void wake();

    /// Ends all operations and leases, and then the connections, once the releases are answered.
    void close();
    [[nodiscard]] bool closing() const noexcept { return parts_.closing; }
    [[nodiscard]] bool closed() const noexcept { return closed_; }

    /// As `close`, without waiting for anything.
    void close_at_once();

    /// There is no world any more: nothing will run.
    void abandon() noexcept;

private:
    friend class close_operation;

    void on_state_change(std::size_t index) override;
    void on_pending(std::size_t index) override;
    void on_accepting(std::size_t index) override;
    void on_key_changed(std::size_t index, std::string_view key) override;
    void on_all_keys_changed(std::size_t index) override;
    void on_time(core::time_point now) override;

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
