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

/// The holders that a client's lease has, one after the other or together. They are numbered from 0, in the order in which they
/// got it. Each number is given once.
///
/// Thread-safety: const members are safe from any thread. The others are called on the engine's executor.
class holders {
public:
    /// The number of the latest one. After the last of several has let go, that of the last one.
    [[nodiscard]] std::uint32_t latest() const noexcept {
        return latest_.load(std::memory_order_acquire);
    }

    /// How often the lease was handed off.
    [[nodiscard]] std::uint32_t handoffs() const noexcept { return handoffs_; }

    /// How many hold the lease, or have lost it and not let go since.
    [[nodiscard]] std::size_t count() const noexcept { return several_ ? several_->count() : 1; }

    /// Whether several have held it at the same time.
    [[nodiscard]] bool were_several() const noexcept { return several_ != nullptr; }

    /// Whether that holder is one of these.
    [[nodiscard]] bool contains(std::uint32_t holder) const {
        const std::uint32_t latest = this->latest();  // first: it tells whether there are several
        const set* const all = shown_.load(std::memory_order_acquire);
        return all != nullptr ? all->contains(holder) : holder == latest;
    }

    /// Whether it is, or was when the lease was lost.
    [[nodiscard]] bool remembers(std::uint32_t holder) const {
        const std::uint32_t latest = this->latest();
        const set* const all = shown_.load(std::memory_order_acquire);
        return all != nullptr ? all->remembers(holder) : holder == latest;
    }

    /// Another one shares the lease.
    void add() {
        if (!several_) {
            several_ = std::make_unique<set>();
            several_->add(latest());
            shown_.store(several_.get(), std::memory_order_release);
        }
        give_number();
    }

    /// The last one has let go, and the next one has the lease.
    void hand_off() {
        ++handoffs_;
        give_number();
    }

    /// A holder lets go. Returns whether others stay, or stayed when it did so before. Otherwise the lease is to be released with
    /// it, or handed off. `lost`: it has lost the lease, which is remembered.
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

    /// One of several lets go. False if it has done so before.
    bool remove(std::uint32_t holder, bool lost) {
        return several_ && several_->remove(holder, lost);
    }

private:
    /// By their numbers, and whether they have not let go. Thread-safe.
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
    std::unique_ptr<set> several_;      // null until there is a second one at the same time
    std::atomic<set*> shown_{nullptr};  // the same, for other threads
};

}  // namespace colock::runtime

#endif
