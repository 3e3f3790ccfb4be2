// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOCK_SPEC_HPP
#define COLOCK_RUNTIME_LOCK_SPEC_HPP

#include "core/backoff.hpp"
#include "core/client_hold.hpp"
#include "core/lease.hpp"
#include "core/time.hpp"
#include "kinds/exclusive.hpp"
#include "kinds/kind.hpp"

#include <boost/container_hash/hash.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace colock::runtime {

/// By which queues are found.
inline std::size_t hash_of_key(std::string_view key) noexcept {
    return boost::hash<std::string_view>()(key);
}

struct shared_parts;

/// What the options of a lock come to. Locks with the same have one in common, mostly.
struct lock_policy {
    core::lease_settings lease;
    core::backoff retry;
    std::size_t attempts = 0;
    core::duration unavailable_timeout{};
    core::handoff_bounds handoff;
    /// See `core::acquire_settings`.
    core::duration attempt_interval{};

    [[nodiscard]] const kinds::lock_kind& kind() const noexcept { return *kind_; }
    /// Whether others may hold the key at the same time.
    [[nodiscard]] bool is_shared() const noexcept {
        return kind_->traits().admission == kinds::admission::shared;
    }
    void set_kind(const kinds::lock_kind& kind) noexcept {
        kind_ = &kind;
        lease.agreement = kind.traits().agreement;
        lease.value_per_holder = kind.traits().value_per_holder;
    }

    friend bool operator==(const lock_policy& a, const lock_policy& b) = default;

private:
    const kinds::lock_kind* kind_ = &kinds::exclusive;
};

/// The policies that a client's locks were made with last: a hundred thousand locks mostly have one in common. A shared mutex
/// makes one for readers and one for its writer.
///
/// Thread-safe: any thread may make a lock.
class latest_policies {
public:
    /// The latest, if it is the same.
    std::shared_ptr<const lock_policy> share(const lock_policy& policy) {
        const std::lock_guard lock(mutex_);
        auto& latest = policy.is_shared() ? of_readers_ : of_others_;
        if (!latest || *latest != policy) {
            latest = std::make_shared<const lock_policy>(policy);
        }
        return latest;
    }

private:
    std::mutex mutex_;
    std::shared_ptr<const lock_policy> of_readers_;
    std::shared_ptr<const lock_policy> of_others_;
};

/// What a lock object, its operations and its leases have in common: the client, and the lock's name
/// and options, checked.
struct lock_spec {
    std::shared_ptr<shared_parts> owner;
    std::shared_ptr<const lock_policy> policy;
    std::string key;  ///< prefix and resource, the name at the instances
    std::size_t key_hash = 0;
    std::size_t prefix_size = 0;

    [[nodiscard]] bool is_shared() const noexcept { return policy->is_shared(); }
    [[nodiscard]] std::string_view resource() const noexcept {
        return std::string_view(key).substr(prefix_size);
    }
};

}  // namespace colock::runtime

#endif
