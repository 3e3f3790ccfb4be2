#ifndef COLOCK_RUNTIME_ACQUIRE_OPERATION_HPP
#define COLOCK_RUNTIME_ACQUIRE_OPERATION_HPP

#include "core/acquire.hpp"
#include "core/instance_set.hpp"
#include "core/queue_ticket.hpp"
#include "core/quorum.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/local_queue.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operation.hpp"
#include "runtime/recycling_allocator.hpp"
#include "runtime/timer_queue.hpp"

#include <boost/intrusive/list_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::runtime {

class engine;
class lease_state;

using member_of_engine =
    boost::intrusive::list_base_hook<boost::intrusive::tag<engine>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Waits in the local queue, if others of the client are at its key; then drives `core::acquire`: sends its
/// attempts, each with a `lease_state` of its own, and feeds it the votes. Or is handed a lease.
class acquire_operation : public operation, public member_of_engine, public queued, private timed {
public:
    /// `deadline` as in `core::acquire_settings`.
    acquire_operation(std::shared_ptr<const lock_spec> spec, core::time_point deadline);
    ~acquire_operation() override;

    void cancel() final;
    void prefetch() const noexcept override;

    // From the engine:

    /// Starts, if the instances are what it was waiting for; tries again, if they are back.
    void on_instances_changed(bool quorum_is_back);
    /// Something has happened to its key at instance number `index`.
    void on_key_changed(std::size_t index);
    void on_close();
    void on_abandon() noexcept;

    /// Nobody is before it any more.
    void begin();

    /// What the remote queue advises.
    void on_advice(core::queue_ticket::advice advice);

    // From the one who is at the key:

    [[nodiscard]] const lock_spec& spec() const noexcept { return *spec_; }
    [[nodiscard]] const std::shared_ptr<const lock_spec>& shared_spec() const noexcept {
        return spec_;
    }

    /// It has the lease now.
    void receive(std::shared_ptr<lease_state> lease);

    /// It has a share in a lease of other readers now.
    void share(lease_state& lease);

    /// Fails with the one who was at the key, if it has waited as long as it may for a quorum that is
    /// not there since `no_quorum_since`.
    [[nodiscard]] bool fails_with(const acquire_operation& first, core::time_point now);

    // From the attempt's lease_state:

    /// Of a vote that the machine did not `note`.
    void on_deciding_vote(std::size_t index, const core::vote& vote);
    void on_raised(std::size_t index, const core::vote& vote);
    void on_remaining(std::size_t index, const core::vote& vote);

    /// What an instance tells of the key that is in the way, for the story of an error.
    void note_remaining(std::size_t index, const core::vote& vote);

protected:
    [[nodiscard]] core::acquire_outcome result() const noexcept { return outcome_; }
    /// Of the attempt under way, or the one that was granted; null if there is none.
    [[nodiscard]] const std::shared_ptr<lease_state>& current_lease() const noexcept {
        return lease_;
    }
    [[nodiscard]] std::shared_ptr<lease_state> take_lease() noexcept { return std::move(lease_); }
    /// Which of the lease's holders it has become.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holder_; }
    [[nodiscard]] std::uint64_t fence() const noexcept { return fence_; }
    [[nodiscard]] std::string& details() noexcept { return details_; }

private:
    enum class stage : std::uint8_t {
        in_local_queue,
        stepping_aside,     ///< first, but it is too early for an attempt
        waiting_for_turn,   ///< first, but other clients were here before: see `core::queue_ticket`
        waiting_for_start,  ///< first, but the instances are still connecting for the first time
        attempting,
    };

    void on_start() final;
    void on_time(core::time_point now) override;
    void wait_in_local_queue();
    void leave_queue(core::acquire_outcome outcome);
    [[nodiscard]] bool may_join_remote_queue() const noexcept;
    [[nodiscard]] bool join_remote_queue();
    void wait_for_start();
    void wait_for_turn();
    void start_attempts();
    void drive(const core::acquire::event& event);
    void begin_attempt(core::time_point now);
    void give_back();
    void ask_remaining();
    void wait(core::time_point until);
    void count_failed_attempt();
    void explain(core::acquire_outcome outcome);
    [[nodiscard]] std::string why_without_attempt() const;
    void finish(core::acquire_outcome outcome);

    std::shared_ptr<const lock_spec> spec_;
    engine& engine_;
    core::time_point deadline_;
    recycled<core::acquire> machine_;     // once it attempts
    std::shared_ptr<lease_state> lease_;  // of the current attempt, or the one that was granted
    local_queue* queue_ = nullptr;        // while running
    core::time_point arrived_{};
    std::uint32_t holder_ = 0;
    std::uint64_t fence_ = 0;
    stage stage_ = stage::in_local_queue;
    bool closing_ = false;
    core::acquire_outcome outcome_ = core::acquire_outcome::cancelled;
    std::string details_;
    core::instance_set without_ttl_;                 // which have told so of the key
    std::unique_ptr<const core::round> last_votes_;  // of the last attempt that failed
};

}  // namespace colock::runtime

#endif
