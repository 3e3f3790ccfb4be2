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

/// Finds the record of a name or stores one, for a call of `once`.
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
    /// Returns whether a quorum has stored a record in place of the lease's token. The second function
    /// returns whether the lease has ended without a record.
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
    bool ended = false;  ///< It has ended, and the checker has seen this.

private:
    once_work& by_;
    std::shared_ptr<once_life> life_;
};

/// The result of a call of `once`.
enum class once_end : std::uint8_t {
    ran,      ///< Its own result is recorded.
    found,    ///< It got the result of another call.
    differs,  ///< The found result is for another request.
    unknown,  ///< Its body has returned, but the record may be missing.
    threw,    ///< Its body has thrown.
    lost,     ///< Its lease was lost first.
    failed,   ///< It was cancelled, there was no quorum, or a similar failure.
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

/// The users of a client that call `once`. Each call follows `detail::run_once` of include/colock/once.hpp.
class once_work {
public:
    using call = std::shared_ptr<once_call>;

    once_work(world& w, client& by) : world_(w), client_(by) {}

    /// Lets users call `once` for these names until `end`.
    void start(const std::vector<std::string>& names, true_time end);

    void begin(const call& one);
    /// Cancels a call. It has no effect if the body has returned.
    void cancel(const call& one);

    /// Called when an operation has ended and its caller gets the result.
    void on_delivered(settling& one);
    /// Checks everything that could be observed by now.
    void look();
    /// Called when the client has ended.
    void stop();
    /// Returns the number of calls that have not ended.
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
