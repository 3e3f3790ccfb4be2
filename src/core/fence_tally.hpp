// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_FENCE_TALLY_HPP
#define COLOCK_CORE_FENCE_TALLY_HPP

#include <algorithm>
#include <cstdint>

namespace colock::core {

/// The fences that the grants of a round have brought: the largest, and whether all of them are the same.
class fence_tally {
public:
    void add(std::uint64_t fence) noexcept {
        if (fence != largest_) {
            agreed_ = agreed_ && largest_ == 0;
            largest_ = std::max(largest_, fence);
        }
    }

    /// 0 before the first grant.
    [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }
    [[nodiscard]] bool agreed() const noexcept { return agreed_; }

private:
    std::uint64_t largest_ = 0;
    bool agreed_ = true;
};

}  // namespace colock::core

#endif
