#ifndef COLOCK_RUNTIME_LOCK_SPEC_HPP
#define COLOCK_RUNTIME_LOCK_SPEC_HPP

#include "core/backoff.hpp"
#include "core/lease.hpp"
#include "core/tenure.hpp"
#include "core/time.hpp"

#include <cstddef>
#include <string>

namespace colock::runtime {

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
