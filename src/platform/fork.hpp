// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_FORK_HPP
#define COLOCK_PLATFORM_FORK_HPP

#include <atomic>
#include <cstdint>

// Prevents a child process from using the connections of its parent.

namespace colock::platform {

/// Records the process in which it was created.
///
/// Thread-safe.
class process_mark {
public:
    process_mark() noexcept;

    /// Returns whether this process is a child, created by `fork`, of the recorded process.
    [[nodiscard]] bool is_inherited() const noexcept {
        return made_in_ != generation.load(std::memory_order_relaxed);
    }

private:
    friend struct fork_handlers;
    static std::atomic<std::uint32_t>
        generation;  // How often the ancestors of this process have forked.

    std::uint32_t made_in_;
};

/// A socket that no child process shares. In a child, an unconnected socket takes its place. An operation
/// that is still in progress there neither takes a reply from the parent nor sends a command in its name.
///
/// Thread-safety: distinct objects safe.
class unshared_socket {
public:
    unshared_socket() noexcept = default;
    unshared_socket(const unshared_socket&) = delete;
    unshared_socket& operator=(const unshared_socket&) = delete;
    ~unshared_socket() { reset(); }

    /// Applies to this open socket from now on.
    void set(int native_handle);

    /// Ends this. The socket may be closed before or after: its handle is then another file, which is
    /// detected.
    void reset() noexcept;

private:
    friend struct fork_handlers;

    int native_handle_ = -1;
    std::uint64_t file_ = 0;  // By its inode number.
    unshared_socket* next_ = nullptr;
    unshared_socket** link_ = nullptr;  // The pointer to this object. Null if it is in no list.
};

}  // namespace colock::platform

#endif
