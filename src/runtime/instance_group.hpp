// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_INSTANCE_GROUP_HPP
#define COLOCK_RUNTIME_INSTANCE_GROUP_HPP

#include "core/time.hpp"
#include "instance/batch.hpp"
#include "instance/instance.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::runtime {

/// The instances of a client. A quorum of them decides.
class instance_group {
public:
    using list = std::vector<std::unique_ptr<instance::instance>>;

    /// Takes the instances. Called once, before `start`.
    void take(list instances) { instances_ = std::move(instances); }
    /// Connects the instances.
    void start();
    /// Closes their connections permanently.
    void stop();
    /// Destroys the instances. No further votes arrive.
    void clear() noexcept { instances_.clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return instances_.size(); }
    /// Thread-safe.
    [[nodiscard]] std::vector<instance::status> states() const;
    /// Thread-safe.
    [[nodiscard]] instance::status state(std::size_t index) const {
        return instances_[index]->snapshot();
    }

    struct change {
        bool is_ready;   ///< The instance has become ready.
        bool is_quorum;  ///< A quorum has become ready again.
    };
    /// Handles a change of an instance's readiness.
    change update(std::size_t index) noexcept;

    /// Returns whether it is worth waiting: too few are ready, but some are still in their first attempt to
    /// connect.
    [[nodiscard]] bool starting() const;

    /// Returns whether the first attempt to connect to an instance is in progress.
    [[nodiscard]] bool starting(std::size_t index) const noexcept;

    /// Returns whether a quorum takes commands.
    [[nodiscard]] bool take_commands(core::time_point now) const;
    [[nodiscard]] bool takes_commands(std::size_t index, core::time_point now) const {
        return instances_[index]->takes_commands(now);
    }

    /// Returns whether a quorum has answered since then, or has nothing older to answer.
    [[nodiscard]] bool answer_since(core::time_point then) const;

    /// Returns how many more commands all instances have room for. Ignores instances without room for some
    /// time, if the others are a quorum.
    [[nodiscard]] std::size_t room(core::time_point now);

    /// Returns the instance that keeps the remote queue of a key. None if no instance can.
    [[nodiscard]] std::optional<std::size_t> keeper_of(std::string_view key) const noexcept;
    [[nodiscard]] bool can_keep_queue(std::size_t index) const noexcept;

    /// Returns whether it reports changes of a key after `remaining` was requested for it.
    [[nodiscard]] bool tells_changes(std::size_t index) const noexcept;

    /// Sends the batch to all instances, starting with number `first`.
    void send(const std::shared_ptr<const instance::batch>& commands, std::size_t first,
              core::time_point now);

private:
    /// Returns whether this is so for a quorum.
    template <typename Predicate>
    [[nodiscard]] bool is_quorum(const Predicate& is_so) const;

    list instances_;
    bool has_quorum_ = false;                   // A quorum is ready.
    core::instance_set ready_;                  // At the latest change of each.
    std::vector<core::time_point> full_since_;  // Since when each instance has had no room.
};

}  // namespace colock::runtime

#endif
