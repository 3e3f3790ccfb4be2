// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_THREAD_END_HPP
#define COLOCK_PLATFORM_THREAD_END_HPP

#include <pthread.h>

#include <atomic>

namespace colock::platform {

/// Calls a function at the end of each thread that has asked for it. It must have static storage, together
/// with a `registration`. A `thread_local` with a destructor would be destroyed before static objects, whose
/// destructors may still use locks. This class has no destructor, and may be used at any time.
///
/// Thread-safe.
class thread_end {
public:
    constexpr thread_end() noexcept = default;

    /// Requests a call of the function with this argument at the end of the calling thread. Returns false if
    /// that is impossible. The main thread has no such end, except by `pthread_exit`.
    bool expect(void* argument) noexcept {
        return registered_ && ::pthread_setspecific(key_, argument) == 0;
    }

    /// Enables the calls while it exists. When it is destroyed, the process ends or the library is unloaded.
    class registration {
    public:
        registration(thread_end& end, void (*function)(void*)) noexcept : end_(end) {
            end_.registered_ = ::pthread_key_create(&end_.key_, function) == 0;
        }
        ~registration() {
            if (end_.registered_.exchange(false)) {
                ::pthread_key_delete(end_.key_);
            }
        }
        registration(const registration&) = delete;
        registration& operator=(const registration&) = delete;

    private:
        thread_end& end_;
    };

private:
    pthread_key_t key_{};
    std::atomic<bool> registered_{false};
};

}  // namespace colock::platform

#endif
