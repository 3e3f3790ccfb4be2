// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OWNERSHIP_HPP
#define COLOCK_RUNTIME_OWNERSHIP_HPP

#include <cstdint>

namespace colock::runtime {

/// The owner of an acquire or a lease: see `colock::lock_owner`.
struct ownership {
    std::uint64_t owner = 0;  ///< 0 = no owner.
    bool reenters = false;    ///< The lock is reentrant for this owner.

    [[nodiscard]] bool is_known() const noexcept { return owner != 0; }
    [[nodiscard]] bool is_same_owner(const ownership& other) const noexcept {
        return is_known() && owner == other.owner;
    }
};

}  // namespace colock::runtime

#endif
