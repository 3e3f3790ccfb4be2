// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_ONCE_WORK_HPP
#define COLOCK_TEST_SIMULATION_ONCE_WORK_HPP

#include "simulation/once_checker.hpp"
#include "simulation/spec.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "core/settlement.hpp"
#include "runtime/operations/settlement_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulation {

class acquiring;
class client;
class once_work;

/// Finds the record of a name, or has one stored, for a call of `once`.
class settling final : public runtime::settlement_operation {
public:
    using handler = std::function<void(settling& ended)>;

    settling(once_work& by, std::shared_ptr<const runtime::lock_spec> spec,
             const runtime::settlement_request& request, std::shared_ptr<once_life> life,
             handler on_finished)
        : settlement_operation(std::move(spec), request),
          lease{request.lease, request.holder},
          task(request.task),
          tell(std::move(on_finished)),
          by_(by),
          life_(std::move(life)) {}

    void deliver() override;

    [[nodiscard]] const std::shared_ptr<once_life>& life() const { return life_; }
    using settlement_operation::has_met_record;
    using settlement_operation::has_sent;
    using settlement_operation::record;
    using settlement_operation::result;
    /// Whether it has had a quorum store a record in place of the token of its lease, or has ended that lease without.
    [[nodiscard]] bool has_completed_lease() const {
        return lease.state != nullptr && result() == core::settlement_outcome::settled;
    }
    [[nodiscard]] bool has_ended_lease() const {
        return lease.state != nullptr && has_sent() &&
               result() != core::settlement_outcome::settled &&
               result() != core::settlement_outcome::lost &&
               result() != core::settlement_outcome::closed;
    }

    const holding lease;
    const core::settlement::task_type task;
    const handler tell;
    bool ended = false;  ///< and that was seen

private:
    once_work& by_;
    std::shared_ptr<once_life> life_;
};

/// What a call of `once` comes to.
enum class once_end : std::uint8_t {
    ran,      ///< its own result is recorded
    found,    ///< it is told the result of another
    differs,  ///< that is for another request
    unknown,  ///< its body has returned, and nobody knows whether the result is recorded
    threw,    ///< its body has thrown
    lost,     ///< its lease was lost before
    failed,   ///< it was cancelled, or no quorum answered, or the like
};

/// A call of `once`.
struct once_call {
    std::shared_ptr<once_life> life{};
    spec lock{};
    duration body_time{};
    bool throws = false;
    std::function<void(once_end how, const std::string& record)> tell{};

    std::shared_ptr<acquiring> waiting{};
    std::shared_ptr<settling> settlement{};
    holding held{};
    bool has_met_record = false;
    bool is_running_body = false;
    bool is_over = false;
};

/// What the users of a client do with `once`. Each call does what `detail::run_once` of include/colock/once.hpp does.
class once_work {
public:
    using call = std::shared_ptr<once_call>;

    once_work(world& w, client& by) : world_(w), client_(by) {}

    /// Lets users call `once` for these names until `end`.
    void start(const std::vector<std::string>& names, true_time end);

    void begin(const call& one);
    /// Its caller gives it up. When its body has returned, that comes too late.
    void cancel(const call& one);

    /// An operation has ended, and its caller hears of it.
    void on_delivered(settling& one);
    /// What could be seen by now.
    void look();
    /// Its client is no more.
    void stop();
    /// Calls that have not ended.
    [[nodiscard]] std::size_t running() const { return calls_.size(); }

private:
    struct user {
        spec lock{};
        std::string fingerprint{};
        core::milliseconds keep{};
    };

    [[nodiscard]] spec some_lock(const std::string& name);
    void think(user& u);
    void work(user& u);

    void settle(const call& one, runtime::settlement_request request, settling::handler then);
    void find(const call& one);
    void acquire(const call& one);
    void on_acquired(const call& one, const holding& granted);
    void heal(const call& one);
    void go_on(const call& one);
    void read(const call& one, const std::string& record);
    void run(const call& one);
    void on_returned(const call& one);
    void on_recorded(const call& one, const settling& ended);
    void end(const call& one, once_end how, const std::string& record = {});

    world& world_;
    client& client_;
    std::deque<user> users_;
    true_time end_{};
    std::uint64_t results_ = 0;
    std::vector<call> calls_;
    std::vector<std::shared_ptr<settling>> running_;
};

}  // namespace colock::simulation

#endif
