// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_HOLDERS_HPP
#define COLOCK_RUNTIME_KEY_HOLDERS_HPP

#include "core/time.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace colock::runtime {

/// The holders of a client's lease, one after the other or at the same time. They are numbered from 0 in the
/// order in which they got the lease. Each number is used once.
///
/// Thread-safety: const members are safe from any thread. The others are called on the engine's executor.
class holders {
public:
    /// Returns the number of the latest holder. After the last of several has released, returns its number.
    [[nodiscard]] std::uint32_t latest() const noexcept {
        return latest_.load(std::memory_order_acquire);
    }

    /// Returns how often the lease was handed off.
    [[nodiscard]] std::uint32_t handoffs() const noexcept { return handoffs_; }

    /// Returns how many hold the lease, or have lost it without a release.
    [[nodiscard]] std::size_t count() const noexcept { return several_ ? several_->count() : 1; }

    /// Returns whether several have held it at the same time.
    [[nodiscard]] bool were_several() const noexcept { return several_ != nullptr; }

    /// Returns whether that holder is one of them.
    [[nodiscard]] bool contains(std::uint32_t holder) const {
        // Read first: it shows whether there are several.
        const std::uint32_t latest = this->latest();
        const set* const all = shown_.load(std::memory_order_acquire);
        return all != nullptr ? all->contains(holder) : holder == latest;
    }

    /// Returns whether that holder holds the lease, or held it when the lease was lost.
    [[nodiscard]] bool remembers(std::uint32_t holder) const {
        const std::uint32_t latest = this->latest();
        const set* const all = shown_.load(std::memory_order_acquire);
        return all != nullptr ? all->remembers(holder) : holder == latest;
    }

    /// Returns how many have not released the lease. A release that waits to be sent counts.
    [[nodiscard]] std::size_t staying() const noexcept {
        return several_ ? several_->count() : since_ != core::never ? 1 : 0;
    }

    /// Returns when that holder got the lease. Returns `never` if it has released the lease.
    [[nodiscard]] core::time_point since(std::uint32_t holder) const {
        return several_ ? several_->since(holder) : holder == latest() ? since_ : core::never;
    }

    /// Calls the function with the time at which each of the holders got the lease.
    template <typename Function>
    void for_each_since(const Function& call) const {
        if (several_) {
            several_->for_each_since(call);
        } else if (since_ != core::never) {
            call(since_);
        }
    }

    /// Begins the time of the first holder.
    void begin(core::time_point now) noexcept { since_ = now; }

    /// Ends the time of the last holder, unless there were several: see `leaves_others`.
    void end() noexcept { since_ = core::never; }

    /// Adds a holder that shares the lease.
    void add(core::time_point now) {
        if (!several_) {
            several_ = std::make_unique<set>();
            several_->add(latest(), since_);
            shown_.store(several_.get(), std::memory_order_release);
        }
        give_number(now);
    }

    /// Passes the lease from the last holder to the next one.
    void hand_off(core::time_point now) {
        ++handoffs_;
        give_number(now);
    }

    /// Handles the release of a holder. Returns whether others stay, or stayed at its earlier release. If
    /// not, the lease must be released or handed off. `lost` if it has lost the lease, which is recorded.
    [[nodiscard]] bool leaves_others(std::uint32_t holder, bool lost) {
        if (!several_) {
            // mutant: former_holder_releases
            return holder != latest();
        }
        if (several_->count() == 1 && several_->contains(holder)) {
            several_->remove(holder, lost);
            latest_.store(holder, std::memory_order_release);
        }
        // mutant: released_with_the_first
        return several_->count() != 0 || holder != latest();
    }

    /// Removes one of several holders. Returns false if it has already released.
    bool remove(std::uint32_t holder, bool lost) {
        return several_ && several_->remove(holder, lost);
    }

private:
    /// The holders by number. Thread-safe.
    class set {
    public:
        void add(std::uint32_t holder, core::time_point since) {
            const std::lock_guard lock(mutex_);
            holds_.emplace(holder, since);
            ++count_;
        }
        [[nodiscard]] std::size_t count() const noexcept {
            const std::lock_guard lock(mutex_);
            return count_;
        }
        [[nodiscard]] bool contains(std::uint32_t holder) const {
            const std::lock_guard lock(mutex_);
            const auto found = holds_.find(holder);
            return found != holds_.end() && found->second != core::never;
        }
        [[nodiscard]] core::time_point since(std::uint32_t holder) const {
            const std::lock_guard lock(mutex_);
            const auto found = holds_.find(holder);
            return found != holds_.end() ? found->second : core::never;
        }
        template <typename Function>
        void for_each_since(const Function& call) const {
            const std::lock_guard lock(mutex_);
            for (const auto& [holder, since] : holds_) {
                if (since != core::never) {
                    call(since);
                }
            }
        }
        [[nodiscard]] bool remembers(std::uint32_t holder) const {
            const std::lock_guard lock(mutex_);
            return holds_.contains(holder);
        }
        bool remove(std::uint32_t holder, bool lost) {
            const std::lock_guard lock(mutex_);
            const auto found = holds_.find(holder);
            if (found == holds_.end() || found->second == core::never) {
                return false;
            }
            --count_;
            if (lost) {
                found->second = core::never;
            } else {
                holds_.erase(found);
            }
            return true;
        }

    private:
        mutable std::mutex mutex_;
        // When each one got the lease. `never` if it has lost and then released it.
        boost::unordered_flat_map<std::uint32_t, core::time_point> holds_;
        std::size_t count_ = 0;
    };

    void give_number(core::time_point now) {
        const std::uint32_t next = last_given_ + 1;
        if (several_) {
            several_->add(next, now);
        }
        since_ = now;
        last_given_ = next;
        latest_.store(next, std::memory_order_release);
    }

    std::atomic<std::uint32_t> latest_{0};
    std::uint32_t last_given_ = 0;
    std::uint32_t handoffs_ = 0;
    core::time_point since_ =
        core::never;                    // When the latest holder got it, unless there were several.
    std::unique_ptr<set> several_;      // Null until two have held it at the same time.
    std::atomic<set*> shown_{nullptr};  // Equal to `several_`, for other threads.
};

}  // namespace colock::runtime

#endif
