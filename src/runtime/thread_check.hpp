// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_THREAD_CHECK_HPP
#define COLOCK_RUNTIME_THREAD_CHECK_HPP

#include <atomic>

namespace colock::runtime {

/// Detects two threads inside a client at once, and ends the program with a message. Otherwise they would
/// corrupt the client. The same thread may enter again.
///
/// It is cheap rather than exact: no thread waits for another thread's write. If two enter at the same
/// moment, at least one sees the other's mark when it leaves.
class thread_check {
public:
    class visit {
    public:
        explicit visit(thread_check& place) noexcept : place_(place), outermost_(place.enter()) {}
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() {
            if (outermost_) {
                place_.leave();
            }
        }

    private:
        thread_check& place_;
        bool outermost_;
    };

    /// Returns whether the latest visitor was another thread, which may still be inside.
    [[nodiscard]] bool is_of_another() const noexcept {
        const void* const latest = latest_.load(std::memory_order_relaxed);
        return latest != nullptr && latest != this_thread();
    }

private:
    [[nodiscard]] static const void* this_thread() noexcept {
        static thread_local char mark;
        return &mark;
    }

    bool enter() noexcept {
        const void* const me = this_thread();
        const void* const inside = inside_.load(std::memory_order_relaxed);
        if (inside == me) {
            return false;
        }
        if (inside != nullptr) {
            end_program();
        }
        inside_.store(me, std::memory_order_relaxed);
        latest_.store(me, std::memory_order_relaxed);
        return true;
    }

    void leave() noexcept {
        if (inside_.load(std::memory_order_relaxed) != this_thread()) {
            end_program();
        }
        inside_.store(nullptr, std::memory_order_relaxed);
    }

    [[noreturn]] static void end_program() noexcept;

    std::atomic<const void*> inside_{nullptr};
    std::atomic<const void*> latest_{nullptr};
};

}  // namespace colock::runtime

#endif
