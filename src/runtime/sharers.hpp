// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_SHARERS_HPP
#define COLOCK_RUNTIME_SHARERS_HPP

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace colock::runtime {

/// The holders of a lease that a client's readers share, by their numbers.
///
/// Thread-safe.
class sharers {
public:
    void add(std::uint32_t holder) {
        const std::lock_guard lock(mutex_);
        holds_.emplace(holder, true);
        ++count_;
    }

    /// How many hold the lease, or have lost it and not let go since.
    [[nodiscard]] std::size_t count() const noexcept {
        const std::lock_guard lock(mutex_);
        return count_;
    }

    /// Whether that holder is one of these.
    [[nodiscard]] bool contains(std::uint32_t holder) const {
        const std::lock_guard lock(mutex_);
        const auto found = holds_.find(holder);
        return found != holds_.end() && found->second;
    }

    /// Whether it is, or was when the lease was lost.
    [[nodiscard]] bool remembers(std::uint32_t holder) const {
        const std::lock_guard lock(mutex_);
        return holds_.contains(holder);
    }

    /// The holder lets go. `lost`: of a lease that it has lost, which it is to remember. False if it is none of them.
    bool remove(std::uint32_t holder, bool lost) {
        const std::lock_guard lock(mutex_);
        const auto found = holds_.find(holder);
        if (found == holds_.end() || !found->second) {
            return false;
        }
        --count_;
        if (lost) {
            found->second = false;
        } else {
            holds_.erase(found);
        }
        return true;
    }

private:
    mutable std::mutex mutex_;
    boost::unordered_flat_map<std::uint32_t, bool> holds_;
    std::size_t count_ = 0;
};

}  // namespace colock::runtime

#endif
