// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "platform/fork.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <optional>

namespace colock::platform {

std::atomic<std::uint32_t> process_mark::generation{0};

namespace {

std::optional<std::uint64_t> file_of(int native_handle) noexcept {
    struct stat file {};
    return ::fstat(native_handle, &file) == 0 && S_ISSOCK(file.st_mode)
               ? std::optional<std::uint64_t>(file.st_ino)
               : std::nullopt;
}

}  // namespace

/// The functions that the system calls around a `fork`. In the child, they may do little more than a signal
/// handler.
struct fork_handlers {
    static void register_once() noexcept {
        [[maybe_unused]] static const int registered = ::pthread_atfork(&prepare, &resume, &begin);
    }

    static std::mutex& mutex() noexcept {
        static std::mutex result;
        return result;
    }
    static inline unshared_socket* first = nullptr;  // Guarded by the mutex.

private:
    static void prepare() { mutex().lock(); }
    static void resume() { mutex().unlock(); }
    static void begin() {
        process_mark::generation.fetch_add(1, std::memory_order_relaxed);
        for (const unshared_socket* one = first; one != nullptr; one = one->next_) {
            if (file_of(one->native_handle_) == one->file_) {
                replace(one->native_handle_);
            }
        }
        mutex().unlock();
    }

    /// Replaces a socket by one to which nothing can be sent, and from which nothing can be received.
    static void replace(int native_handle) noexcept {
        const int unconnected = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (unconnected < 0) {
            ::close(native_handle);
            return;
        }
        ::dup3(unconnected, native_handle, O_CLOEXEC);
        ::close(unconnected);
    }
};

process_mark::process_mark() noexcept
    : made_in_((fork_handlers::register_once(), generation.load(std::memory_order_relaxed))) {}

void unshared_socket::set(int native_handle) {
    reset();
    const auto file = file_of(native_handle);
    if (!file) {
        return;
    }
    fork_handlers::register_once();
    const std::lock_guard lock(fork_handlers::mutex());
    native_handle_ = native_handle;
    file_ = *file;
    next_ = fork_handlers::first;
    link_ = &fork_handlers::first;
    if (next_ != nullptr) {
        next_->link_ = &next_;
    }
    fork_handlers::first = this;
}

void unshared_socket::reset() noexcept {
    if (link_ == nullptr) {
        return;
    }
    const std::lock_guard lock(fork_handlers::mutex());
    *link_ = next_;
    if (next_ != nullptr) {
        next_->link_ = link_;
    }
    link_ = nullptr;
}

}  // namespace colock::platform
