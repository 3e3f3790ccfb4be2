// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_STAGE_HPP
#define COLOCK_TEST_SIMULATION_STAGE_HPP

#include "simulation/checker.hpp"
#include "simulation/client.hpp"
#include "simulation/options.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include <concepts>
#include <cstddef>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

/// The participants of a scenario, and the settings that are fixed.
struct cast {
    std::size_t instances = 3;
    std::size_t clients = 1;
    core::drift_bound drift{};
    duration quarantine{};
    simulation::deployment deployment{};
};

/// An acquire and its result. Times count from the beginning of the world.
struct taking {
    std::shared_ptr<acquiring> op{};
    client* by = nullptr;
    holding lease{};                 ///< Set once it was granted.
    std::optional<duration> told{};  ///< When its caller got the result.
    std::optional<duration> lost{};  ///< When its holder learned of the loss.
    std::string former{};            ///< The token to be handed off to it.

    [[nodiscard]] bool ended() const { return !op->running(); }
    [[nodiscard]] bool granted() const { return lease.state != nullptr; }
    [[nodiscard]] bool held() const { return lease.held(); }
    /// Returns whether the holding must be released.
    [[nodiscard]] bool owned() const { return lease.held() || lease.lost(); }
    /// Returns the token of its latest attempt.
    [[nodiscard]] const std::string& token() const { return op->token(); }
    /// Returns whether it got the expected lease by a hand-off.
    [[nodiscard]] bool handed_off() const { return granted() && token() == former; }
};

/// A command that gave a token its key, or another ttl.
struct grant {
    duration when;
    std::size_t instance;
    std::string token;
};

/// Both sides of a lock for readers and writers.
struct shared_lock {
    const spec& writers;
    const spec readers;
};

/// A world with only the events of a script, at the times that it sets. Each message takes a millisecond, and
/// all clocks are exact. A turn of a client begins 10 us after its request. The checkers are active. All
/// locks are on one key, with a ttl of 300 ms and a renewal after 100 ms.
class stage {
public:
    stage(const cast& who, bool trace);

    [[nodiscard]] server& instance(std::size_t i) { return voters_[i]->node(0); }
    /// The whole instance, which may have several servers.
    [[nodiscard]] voter& servers_of(std::size_t i) { return *voters_[i]; }
    [[nodiscard]] client& user(std::size_t i) { return *clients_[i]; }
    [[nodiscard]] duration now() const { return world_.now().time_since_epoch(); }
    [[nodiscard]] std::uint64_t count(fault f) const {
        return world_.tally.faults[static_cast<std::size_t>(f)];
    }

    /// Returns a lock that makes one attempt. Change it before it is acquired.
    spec& lock();
    /// Returns a lock that waits.
    spec& patient_lock();
    /// Returns a lock whose lease is not renewed.
    spec& unrenewed_lock();
    /// Returns a writers' lock that waits.
    spec& writers_lock();
    /// Returns both sides of a writers' lock that waits.
    shared_lock both_sides();
    taking& acquire(std::size_t user) { return acquire(user, lock()); }
    taking& acquire(std::size_t user, const spec& lock) { return acquire(user, lock, core::never); }
    /// Waits until `deadline` at most, by the client's clock.
    taking& acquire(std::size_t user, const spec& lock, core::time_point deadline);
    /// Acquires a lock, and runs all events until `until`. Checks that the user then holds it.
    taking& hold(std::size_t user, const spec& lock, duration until,
                 const std::string& what = "the lease is held");
    /// Like `hold`, but checks that the user then still waits.
    taking& wait(std::size_t user, const spec& lock, duration until,
                 const std::string& what = "the acquire waits");
    /// Like `hold`, but checks that the user has been refused by then.
    taking& fail(std::size_t user, const spec& lock, duration until, const std::string& what);
    void cancel(taking& t) { t.by->cancel(*t.op); }
    /// Returns whether a client has finished with all tokens that it has released.
    [[nodiscard]] bool has_done(std::size_t user) const {
        return clients_[user]->engine().parts().counts.releasing == 0;
    }
    void release(taking& t);
    void release(taking& first, std::same_as<taking> auto&... others) {
        release(first);
        (release(others), ...);
    }
    /// Adds a holder to a reader's lease.
    taking& share(taking& t, const spec& readers);
    /// Releases the lease while another acquire of the same client waits for it, and returns that acquire.
    taking& hand_off(taking& t, const spec& lock);
    using instances = std::initializer_list<std::size_t>;
    /// Drops all messages between the client and the instances until `until`.
    void cut_off(std::size_t user, instances which, duration until);
    /// Drops messages from the instances to the client until `until`.
    void deafen(std::size_t user, instances which, duration until);
    /// Drops messages from the client to the instances until `until`.
    void mute(std::size_t user, instances which, duration until);
    /// Breaks the client's connections to all instances. The messages in flight arrive `deliver_after` later.
    void break_all(std::size_t user, duration deliver_after);
    /// Does something to the server of each instance.
    template <typename What, typename... Args>
    void on_all(What what, const Args&... args) {
        for (const auto& one : voters_) {
            std::invoke(what, one->node(0), args...);
        }
    }

    /// Runs all events until then.
    void run_to(duration when);
    void run_for(duration how_long) { run_to(now() + how_long); }

    /// Returns how many commands the instances have executed so far.
    [[nodiscard]] std::uint64_t commands() const { return world_.tally.commands; }
    /// Breaks the client's connection to the instance.
    void disconnect(std::size_t user, std::size_t instance) {
        clients_[user]->to(instance).reset();
    }

    [[nodiscard]] bool has_key(std::size_t instance) {
        return voters_[instance]->holds_anything(key);
    }
    [[nodiscard]] bool has_key(std::size_t instance, const taking& t) {
        return voters_[instance]->holds(key, t.token());
    }
    /// Returns how many instances have the key, for any token.
    [[nodiscard]] std::size_t keys();
    /// Returns how many instances have the key for this token.
    [[nodiscard]] std::size_t keys(const taking& t);
    /// Returns the grants so far.
    [[nodiscard]] const std::vector<grant>& grants() const { return grants_; }
    [[nodiscard]] std::size_t grants_after(duration when) const;

    /// Checks a condition. After the first failure the world stops, and later conditions are ignored.
    void expect(bool holds, const std::string& what);

    /// Ends the world and checks that nothing remains. Returns all violations.
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
