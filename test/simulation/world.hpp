// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_WORLD_HPP
#define COLOCK_TEST_SIMULATION_WORLD_HPP

#include "simulation/dice.hpp"
#include "simulation/options.hpp"
#include "simulation/time.hpp"
#include "support/event_queue.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {

/// The totals of one schedule.
struct tally {
    std::uint64_t steps = 0;
    std::uint64_t commands = 0;  ///< Executed by servers.
    std::uint64_t attempts = 0;
    std::uint64_t acquisitions = 0;
    std::uint64_t served = 0;  ///< The acquisitions of the crowd.
    std::uint64_t renewals = 0;
    std::uint64_t heals = 0;
    std::uint64_t raises = 0;    ///< Second rounds of an acquire, for its fence.
    std::uint64_t several = 0;   ///< Leases with several names.
    std::uint64_t ordered = 0;   ///< Acquisitions of locks with a binding order.
    std::uint64_t permits = 0;   ///< Leases of semaphores.
    std::uint64_t retakes = 0;   ///< Further rounds of an acquire, for equal permits everywhere.
    std::uint64_t handoffs = 0;  ///< Leases handed off inside a process.
    std::uint64_t losses = 0;
    std::uint64_t downgrades = 0;
    std::uint64_t downgrades_without_quorum = 0;
    std::uint64_t shares = 0;       ///< Requested by a holder.
    std::uint64_t entries = 0;      ///< Of owners that held the lock.
    std::uint64_t adopted = 0;      ///< Leases of other processes.
    std::uint64_t not_adopted = 0;  ///< Leases whose keys were lost.
    std::uint64_t detached = 0;
    std::uint64_t releases_told = 0;  ///< Of which the caller waited for the outcome.
    std::uint64_t records_read = 0;
    std::uint64_t writes_applied = 0;  ///< Of records.
    std::uint64_t writes_refused = 0;
    std::uint64_t writes_unknown = 0;
    std::uint64_t bodies = 0;       ///< Of names that are run once.
    std::uint64_t results_new = 0;  ///< That their callers got.
    std::uint64_t results_found = 0;
    std::uint64_t results_unknown = 0;
    std::uint64_t excused = 0;  ///< Two leases that were valid together, outside of all promises.
    std::array<std::uint64_t, fault_count> faults{};

    void add(const tally& other);
};

/// A world: its time, its random generator, its scheduled events, and its timeline.
class world {
public:
    using step = std::function<void()>;

    world(const simulation::profile& profile, std::uint64_t seed, bool trace)
        : random(seed), profile_(profile), trace_(trace) {}

    dice random;
    simulation::tally tally;

    [[nodiscard]] true_time now() const { return events_.now(); }
    [[nodiscard]] const simulation::profile& profile() const { return profile_; }
    [[nodiscard]] const fault_model& faults() const { return profile_.faults; }

    void at(true_time when, step what) { events_.at(when, std::move(what)); }
    void after(duration delay, step what) { at(now() + delay, std::move(what)); }

    /// Runs the events until `end`, or for at most `most_steps` steps.
    void run(true_time end, std::uint64_t most_steps);

    /// Disables all further faults.
    void calm_down() { calm_ = true; }
    [[nodiscard]] bool calm() const { return calm_; }

    /// Returns whether a fault with this probability happens now.
    bool goes_wrong(double probability) {
        return probability > 0 && !calm_ && random.chance(probability);
    }
    void count(fault f, std::uint64_t n = 1) { tally.faults[static_cast<std::size_t>(f)] += n; }

    /// Returns the delay of a message.
    duration delay();

    [[nodiscard]] bool tracing() const { return trace_; }
    /// Adds a line to the timeline. Call it only when `tracing`.
    void tell(const std::string& who, const std::string& what);

    /// Reports a violation of a rule.
    void violation(const std::string& rule, const std::string& what);
    [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

private:
    simulation::profile profile_;
    bool trace_;
    bool calm_ = false;
    test::event_queue<true_time> events_{true_time()};
    std::vector<std::string> violations_;
};

/// If set, only violations of this rule count. This shows what a single checker detects.
inline std::string only_rule;

/// Returns a text such as "12.345 ms".
std::string in_ms(duration d);

}  // namespace colock::simulation

#endif
