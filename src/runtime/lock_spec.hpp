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

/// By which queues are found.
inline std::size_t hash_of_key(std::string_view key) noexcept {
    return boost::hash<std::string_view>()(key);
}

struct client_context;

/// What the options of a lock come to. Locks with the same have one in common, mostly.
struct lock_policy {
    explicit lock_policy(const kinds::lock_kind& kind) noexcept { set_kind(kind); }

    core::lease_settings lease;
    core::backoff retry;
    std::size_t attempts = 0;
    core::duration unavailable_timeout{};
    core::handoff_bounds handoff;
    /// Of a lock whose order binds: see `core::queue_place_settings`.
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
        attempt_interval = kind.traits().announcement_ttl / 2;  // so that a waiter stays announced
    }

    friend bool operator==(const lock_policy& a, const lock_policy& b) = default;

private:
    const kinds::lock_kind* kind_;
};

/// The policies that a client's locks were made with last: a hundred thousand locks mostly have a few in common.
///
/// Thread-safe: any thread may make a lock.
class latest_policies {
public:
    /// One of them, if it is the same. Otherwise a new one in place of the oldest.
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

/// What a lock object, its operations and its leases have in common: the client, and the lock's name
/// and options, checked.
struct lock_spec {
    std::shared_ptr<client_context> owner;
    std::shared_ptr<const lock_policy> policy;
    std::string key;  ///< prefix and resource, the name at the instances
    std::size_t key_hash = 0;
    std::size_t prefix_size = 0;
    /// Of a lock with several names: the other ones. The client's queues know it by the first.
    std::vector<std::string> more_names;
    std::vector<std::string_view> more_keys;  ///< the same, as commands have them
    std::string all_resources;                ///< of such a lock: what people read
    bool is_reentrant = false;                ///< its owner may enter again while holding it
    /// Not empty for a lock that was asked for with an impossible argument: the field, the value, the limit and the cure.
    /// Every operation on it fails.
    std::string problem;

    [[nodiscard]] kinds::admission admission() const noexcept { return policy->admission(); }
    [[nodiscard]] std::string_view resource() const noexcept {
        return more_keys.empty() ? std::string_view(key).substr(prefix_size)
                                 : std::string_view(all_resources);
    }
};

}  // namespace colock::runtime

#endif
