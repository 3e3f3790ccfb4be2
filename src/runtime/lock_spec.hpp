// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOCK_SPEC_HPP
#define COLOCK_RUNTIME_LOCK_SPEC_HPP

#include "core/backoff.hpp"
#include "core/client_hold.hpp"
#include "core/lease.hpp"
#include "core/queue_place.hpp"
#include "core/time.hpp"
#include "kinds/kind.hpp"

#include <boost/container_hash/hash.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

/// Returns the hash with which queues are found.
inline std::size_t hash_of_key(std::string_view key) noexcept {
    return boost::hash<std::string_view>()(key);
}

struct client_context;

/// The checked options of a lock. Locks with the same options usually share one.
struct lock_policy {
    explicit lock_policy(const kinds::lock_kind& kind) noexcept { set_kind(kind); }

    core::lease_settings lease;
    core::backoff retry;
    std::size_t attempts = 0;
    core::duration unavailable_timeout{};
    core::handoff_bounds handoff;
    /// For a lock whose order binds: see `core::queue_place_settings`.
    core::duration place_refresh{};
    /// See `core::acquire_settings`.
    core::duration attempt_interval{};

    /// See `core::command`.
    [[nodiscard]] std::uint16_t place_ttl() const noexcept {
        const core::duration ttl = core::queue_place_settings{place_refresh}.ttl();
        return static_cast<std::uint16_t>(
            std::chrono::duration_cast<core::milliseconds>(ttl).count());
    }
    [[nodiscard]] const kinds::lock_kind& kind() const noexcept { return *kind_; }
    [[nodiscard]] kinds::admission admission() const noexcept { return kind_->traits().admission; }
    void set_kind(const kinds::lock_kind& kind) noexcept {
        kind_ = &kind;
        lease.agreement = kind.traits().agreement;
        lease.value_per_holder = kind.traits().value_per_holder;
        attempt_interval = kind.traits().announcement_ttl / 2;  // So that a waiter stays announced.
    }

    friend bool operator==(const lock_policy& a, const lock_policy& b) = default;

private:
    const kinds::lock_kind* kind_;
};

/// The policies of a client's most recent locks. Even a hundred thousand locks usually share a few policies.
///
/// Thread-safe: any thread may create a lock.
class latest_policies {
public:
    /// Returns an equal policy if there is one. Otherwise replaces the oldest by a new one.
    std::shared_ptr<const lock_policy> share(const lock_policy& policy) {
        const std::lock_guard lock(mutex_);
        for (const auto& one : latest_) {
            if (one && *one == policy) {
                return one;
            }
        }
        oldest_ = (oldest_ + 1) % latest_.size();
        return latest_[oldest_] = std::make_shared<const lock_policy>(policy);
    }

private:
    std::mutex mutex_;
    std::array<std::shared_ptr<const lock_policy>, 4> latest_;
    std::size_t oldest_ = 0;
};

/// The common part of a lock object, its operations and its leases: the client, and the lock's checked name
/// and options.
struct lock_spec {
    std::shared_ptr<client_context> owner;
    std::shared_ptr<const lock_policy> policy;
    std::string key;  ///< Prefix and resource: the name on the instances.
    std::size_t key_hash = 0;
    std::size_t prefix_size = 0;
    /// The other names of a lock with several names. The client's queues use the first one.
    std::vector<std::string> more_names;
    /// The keys of `more_names`, in the form that commands use.
    std::vector<std::string_view> more_keys;
    std::string all_resources;  ///< All names of such a lock, for display.
    bool is_reentrant = false;  ///< Its owner may enter again while holding it.
    /// Not empty if the lock was asked for with an impossible argument. Then every operation on it fails with
    /// this text, which has the field, the value, the limit and the cure.
    std::string problem;

    [[nodiscard]] kinds::admission admission() const noexcept { return policy->admission(); }
    [[nodiscard]] std::string_view resource() const noexcept {
        return more_keys.empty() ? std::string_view(key).substr(prefix_size)
                                 : std::string_view(all_resources);
    }
};

}  // namespace colock::runtime

#endif
