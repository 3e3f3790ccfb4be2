// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_HOLDERS_HPP
#define COLOCK_RUNTIME_KEY_HOLDERS_HPP

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

    /// Adds a holder that shares the lease.
    void add() {
        if (!several_) {
            several_ = std::make_unique<set>();
            several_->add(latest());
            shown_.store(several_.get(), std::memory_order_release);
        }
        give_number();
    }

    /// Passes the lease from the last holder to the next one.
    void hand_off() {
        ++handoffs_;
        give_number();
    }

    /// Handles the release of a holder. Returns whether others stay, or stayed at its earlier release. If
    /// not, the lease must be released or handed off. `lost` if it has lost the lease, which is recorded.
    [[nodiscard]] bool leaves_others(std::uint32_t holder, bool lost) {
        if (!several_) {
            return holder != latest();
        }
        if (several_->count() == 1 && several_->contains(holder)) {
            several_->remove(holder, lost);
            latest_.store(holder, std::memory_order_release);
        }
        return several_->count() != 0 || holder != latest();
    }

    /// Removes one of several holders. Returns false if it has already released.
    bool remove(std::uint32_t holder, bool lost) {
        return several_ && several_->remove(holder, lost);
    }

private:
    /// The holders by number, with a flag for those without a release. Thread-safe.
    class set {
    public:
        void add(std::uint32_t holder) {
            const std::lock_guard lock(mutex_);
            holds_.emplace(holder, true);
            ++count_;
        }
        [[nodiscard]] std::size_t count() const noexcept {
            const std::lock_guard lock(mutex_);
            return count_;
        }
        [[nodiscard]] bool contains(std::uint32_t holder) const {
            const std::lock_guard lock(mutex_);
            const auto found = holds_.find(holder);
            return found != holds_.end() && found->second;
        }
        [[nodiscard]] bool remembers(std::uint32_t holder) const {
            const std::lock_guard lock(mutex_);
            return holds_.contains(holder);
        }
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

    void give_number() {
        const std::uint32_t next = last_given_ + 1;
        if (several_) {
            several_->add(next);
        }
        last_given_ = next;
        latest_.store(next, std::memory_order_release);
    }

    std::atomic<std::uint32_t> latest_{0};
    std::uint32_t last_given_ = 0;
    std::uint32_t handoffs_ = 0;
    std::unique_ptr<set> several_;      // Null until two have held it at the same time.
    std::atomic<set*> shown_{nullptr};  // Equal to `several_`, for other threads.
};

}  // namespace colock::runtime

#endif
