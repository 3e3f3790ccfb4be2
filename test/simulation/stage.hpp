// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_STAGE_HPP
#define COLOCK_TEST_SIMULATION_STAGE_HPP

#include "simulation/checker.hpp"
#include "simulation/client.hpp"
#include "simulation/options.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

/// Who takes part in a scenario, and what cannot be changed later.
struct cast {
    std::size_t instances = 3;
    std::size_t clients = 1;
    core::drift_bound drift{};
    duration quarantine{};
    simulation::deployment deployment{};
};

/// An acquire, and what became of it. Times count from the beginning of the world.
struct taking {
    std::shared_ptr<acquiring> op{};
    client* by = nullptr;
    holding lease{};                 ///< once it was granted
    std::optional<duration> told{};  ///< when its caller heard how it ended
    std::optional<duration> lost{};  ///< when its holder heard of the loss
    std::string former{};            ///< the token that is to be handed off to it

    [[nodiscard]] bool ended() const { return !op->running(); }
    [[nodiscard]] bool granted() const { return lease.state != nullptr; }
    [[nodiscard]] bool held() const { return lease.held(); }
    /// Whether it is to be released.
    [[nodiscard]] bool owned() const { return lease.held() || lease.lost(); }
    /// Of its latest attempt.
    [[nodiscard]] const std::string& token() const { return op->token(); }
    /// Whether it got the lease that was to be handed off to it.
    [[nodiscard]] bool handed_off() const { return granted() && token() == former; }
};

/// A command that gave a token its key, or another ttl.
struct grant {
    duration when;
    std::size_t instance;
    std::string token;
};

/// A world in which only what a script says happens, and when it says so: each message takes a
/// millisecond, all clocks are right, and a turn of a client begins 10 us after it was asked for. The
/// checkers look on. All locks are on one key, with a ttl of 300 ms, and renewed after 100 ms.
class stage {
public:
    stage(const cast& who, bool trace);

    [[nodiscard]] server& instance(std::size_t i) { return voters_[i]->node(0); }
    /// The same, if it is more than a server.
    [[nodiscard]] voter& servers_of(std::size_t i) { return *voters_[i]; }
    [[nodiscard]] client& user(std::size_t i) { return *clients_[i]; }
    [[nodiscard]] duration now() const { return world_.now().time_since_epoch(); }
    [[nodiscard]] std::uint64_t count(fault f) const {
        return world_.tally.faults[static_cast<std::size_t>(f)];
    }

    /// A lock that makes one attempt; to be changed before it is taken.
    spec& lock();
    /// A writer's, which waits.
    spec& writers_lock();
    taking& acquire(std::size_t user) { return acquire(user, lock()); }
    taking& acquire(std::size_t user, const spec& lock) { return acquire(user, lock, core::never); }
    /// Waits until then at most, by the client's clock.
    taking& acquire(std::size_t user, const spec& lock, core::time_point deadline);
    void cancel(taking& t) { t.by->cancel(*t.op); }
    /// Whether a client has done with all tokens that it has let go.
    [[nodiscard]] bool has_done(std::size_t user) const {
        return clients_[user]->engine().parts().counts.releasing == 0;
    }
    void release(taking& t);
    /// Another holder of a reader's lease.
    taking& share(taking& t, const spec& readers);
    /// Lets go of the lease when another acquire of the same client waits for it, and gives that one.
    taking& hand_off(taking& t, const spec& lock);
    /// The instance and the client do not hear each other before `until`.
    void cut_off(std::size_t user, std::size_t instance, duration until);
    /// The client does not hear the instance before `until`.
    void deafen(std::size_t user, std::size_t instance, duration until);
    /// The instance does not hear the client before `until`.
    void mute(std::size_t user, std::size_t instance, duration until);

    /// What happens until then.
    void run_to(duration when);

    /// How many commands the instances have executed so far.
    [[nodiscard]] std::uint64_t commands() const { return world_.tally.commands; }
    /// Ends the connection of the client to the instance.
    void disconnect(std::size_t user, std::size_t instance) {
        clients_[user]->to(instance).reset();
    }

    [[nodiscard]] bool has_key(std::size_t instance) {
        return voters_[instance]->holds_anything(key);
    }
    [[nodiscard]] bool has_key(std::size_t instance, const taking& t) {
        return voters_[instance]->holds(key, t.token());
    }
    /// How many instances have the key, whosever it is.
    [[nodiscard]] std::size_t keys();
    /// So far.
    [[nodiscard]] const std::vector<grant>& grants() const { return grants_; }
    [[nodiscard]] std::size_t grants_after(duration when) const;

    /// After the first that does not hold the world stands still, and the others do not count.
    void expect(bool holds, const std::string& what);

    /// Everything ends, nothing remains. Gives all that was violated.
    std::vector<std::string> finish();

    inline static const std::string key = "key";

private:
    world world_;
    std::vector<std::unique_ptr<voter>> voters_;
    checker checker_;
    std::vector<std::unique_ptr<client>> clients_;
    std::deque<spec> locks_;
    std::deque<taking> takings_;
    std::vector<grant> grants_;
};

}  // namespace colock::simulation

#endif
