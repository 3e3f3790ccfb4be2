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
#include <vector>

namespace colock::runtime {

/// The instances of a client, of which a quorum decides.
class instance_group {
public:
    using list = std::vector<std::unique_ptr<instance::instance>>;

    /// They begin to connect. To be called once.
    void start(list instances);
    /// Ends their connections for good.
    void stop();
    /// Destroys them: no vote comes any more.
    void clear() noexcept { instances_.clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return instances_.size(); }
    /// Thread-safe.
    [[nodiscard]] std::vector<instance::status> states() const;

    /// One has become ready, or is so no more. True if with it a quorum is ready again.
    [[nodiscard]] bool update() noexcept;

    /// Too few are ready, but some have not failed yet to connect for the first time: it is worth to wait for them.
    [[nodiscard]] bool starting() const;

    /// How many more commands all instances have room for. Instances that have had no room for a while do not count, if the
    /// others are a quorum.
    [[nodiscard]] std::size_t room(core::time_point now);

    /// The instance that keeps the remote queue of a key; nothing if none can.
    [[nodiscard]] std::optional<std::size_t> keeper_of(std::string_view key) const noexcept;
    [[nodiscard]] bool can_keep_queue(std::size_t index) const noexcept;

    /// Whether it tells when a key changes of which it was asked `remaining`.
    [[nodiscard]] bool tells_changes(std::size_t index) const noexcept;

    /// Gives all of them the batch, beginning with the one of that number.
    void send(const std::shared_ptr<const instance::batch>& commands, std::size_t first,
              core::time_point now);

private:
    list instances_;
    bool has_quorum_ = false;                   // of ready ones
    std::vector<core::time_point> full_since_;  // each instance: it has no room
};

}  // namespace colock::runtime

#endif
