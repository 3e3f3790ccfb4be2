// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OWNERSHIP_HPP
#define COLOCK_RUNTIME_OWNERSHIP_HPP

#include <cstdint>

namespace colock::runtime {

/// For whom an operation acquires a lock, or a lease is held: see `colock::lock_owner`.
struct ownership {
    std::uint64_t owner = 0;  ///< 0: nobody in particular
    bool reenters = false;    ///< by a lock that its owner may enter again while holding it

    [[nodiscard]] bool is_known() const noexcept { return owner != 0; }
    [[nodiscard]] bool is_same_owner(const ownership& other) const noexcept {
        return is_known() && owner == other.owner;
    }
};

}  // namespace colock::runtime

#endif
