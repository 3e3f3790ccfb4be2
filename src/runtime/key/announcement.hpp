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

/// What a client has told the instances of a key: that it waits, so that the holders make room and newcomers stay out. It lives
/// as long as its kind says. Each attempt that announces renews it.
///
/// Kinds without announcements never make one.
class announcement {
public:
    /// Where a waiter stands that is about to attempt.
    struct position {
        bool joins_remote_queue_next = false;  ///< if this attempt is denied
        bool has_ticket = false;               ///< in the remote queue
        bool is_first = false;                 ///< there
        bool has_queued_for_long = false;      ///< there
    };

    /// Whether an attempt from there announces its waiter. Not before its turn in the remote queue, unless that takes long: those
    /// before it would be kept out, too.
    [[nodiscard]] static bool is_due(const kinds::lock_kind& kind, const position& at) noexcept {
        return kind.announces() && (at.has_ticket ? at.is_first || at.has_queued_for_long
                                                  : !at.joins_remote_queue_next);
    }

    /// An attempt that announces its waiter is being sent.
    void made(const kinds::lock_kind& kind, core::time_point now) noexcept {
        until_ = now + kind.traits().announcement_ttl;
    }

    /// When it ends at the last instance; a time that has passed if there is none.
    [[nodiscard]] core::time_point until() const noexcept { return until_; }

    void withdrawn() noexcept { until_ = core::time_point::min(); }

private:
    core::time_point until_ = core::time_point::min();
};

/// Takes the announcements of a client back, and waits for the votes on that, which tell nobody anything.
class withdrawals final : private instance::vote_receiver {
public:
    explicit withdrawals(client_context& client) : parts_(client) {}

    /// Takes back what was announced for that lock at those instances, if it still stands. A lock of a kind that does not
    /// announce has none.
    void withdraw(announcement& what, const std::shared_ptr<const lock_spec>& of,
                  core::instance_set where, core::time_point now);

    /// There is no world any more: no vote will come.
    void abandon() noexcept { const auto dying = std::exchange(pending_, {}); }

private:
    struct pending {
        std::shared_ptr<const lock_spec> of;  // has the key, to which the command refers
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
