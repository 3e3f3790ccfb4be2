// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_ANNOUNCEMENT_HPP
#define COLOCK_RUNTIME_KEY_ANNOUNCEMENT_HPP

#include "core/instance_set.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "kinds/kind.hpp"
#include "runtime/lock_spec.hpp"

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace colock::runtime {

/// The announcement to the instances that this client waits for a key. It makes holders yield and keeps
/// newcomers out. Its lifetime depends on the kind. Each attempt that announces renews it.
///
/// Kinds without announcements never create one.
class announcement {
public:
    /// The position of a waiter before its attempt.
    struct position {
        bool joins_remote_queue_next = false;  ///< If this attempt is denied.
        bool has_ticket = false;               ///< In the remote queue.
        bool is_first = false;                 ///< First in the remote queue.
        bool has_queued_for_long = false;      ///< In the remote queue.
    };

    /// Returns whether an attempt from that position announces its waiter. A waiter in the remote queue
    /// announces only when it is first, or has queued for long. An earlier announcement would also keep out
    /// the waiters before it.
    [[nodiscard]] static bool is_due(const kinds::lock_kind& kind, const position& at) noexcept {
        return kind.announces() && (at.has_ticket ? at.is_first || at.has_queued_for_long
                                                  : !at.joins_remote_queue_next);
    }

    /// Records an attempt that announces its waiter.
    void made(const kinds::lock_kind& kind, core::time_point now) noexcept {
        until_ = now + kind.traits().announcement_ttl;
    }

    /// Returns when it ends on the last instance. In the past if there is none.
    [[nodiscard]] core::time_point until() const noexcept { return until_; }

    void withdrawn() noexcept { until_ = core::time_point::min(); }

private:
    core::time_point until_ = core::time_point::min();
};

/// Withdraws the announcements of a client and waits for the votes, which have no effect.
class withdrawals final : private instance::vote_receiver {
public:
    explicit withdrawals(client_context& client) : parts_(client) {}

    /// Withdraws the announcement for that lock on those instances, if it still stands. Does nothing for a
    /// kind that does not announce.
    void withdraw(announcement& what, const std::shared_ptr<const lock_spec>& of,
                  core::instance_set where, core::time_point now);

    /// Drops all withdrawals, because no votes will arrive.
    void abandon() noexcept { const auto dying = std::exchange(pending_, {}); }

private:
    struct pending {
        std::shared_ptr<const lock_spec> of;  // Keeps the key alive, to which the command refers.
        std::size_t votes;
    };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t /*index*/, instance::command_tag /*tag*/) const override {
        return true;
    }

    client_context& parts_;
    instance::command_tag next_ = 0;
    std::unordered_map<instance::command_tag, pending> pending_;
};

}  // namespace colock::runtime

#endif
