#ifndef COLOCK_RUNTIME_LOCK_SPEC_HPP
#define COLOCK_RUNTIME_LOCK_SPEC_HPP

#include "core/backoff.hpp"
#include "core/lease.hpp"
#include "core/tenure.hpp"
#include "core/time.hpp"

#include <boost/container_hash/hash.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace colock::runtime {

/// By which queues are found.
inline std::size_t hash_of_key(std::string_view key) noexcept {
    return boost::hash<std::string_view>()(key);
}

/// What a lock object and its leases have in common: its name and its options, checked.
struct lock_spec {
    std::string key;  ///< prefix and resource, the name at the instances
    std::size_t key_hash = 0;
    core::lease_settings lease;
    core::backoff retry;
    std::size_t attempts = 0;
    core::duration unavailable_timeout{};
    core::handoff_bounds handoff;
    std::string resource;  ///< without the prefix
};

}  // namespace colock::runtime

#endif
