// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_FORK_HPP
#define COLOCK_PLATFORM_FORK_HPP

#include <atomic>
#include <cstdint>

// What a child of the process must not do: speak to the servers over the connections of its parent.

namespace colock::platform {

/// Remembers in which process it was made.
///
/// Thread-safe.
class process_mark {
public:
    process_mark() noexcept;

    /// Whether this process is a child, made by `fork`, of the one that made the mark.
    [[nodiscard]] bool is_inherited() const noexcept {
        return made_in_ != generation.load(std::memory_order_relaxed);
    }

private:
    friend struct fork_handlers;
    static std::atomic<std::uint32_t>
        generation;  // how often the ancestors of this process have forked

    std::uint32_t made_in_;
};

/// A socket that no child shares: in a child there is another, unconnected one in its place. So whatever is
/// still under way on it there neither takes a reply from the parent nor sends a command in its name.
///
/// Thread-safety: distinct objects safe.
class unshared_socket {
public:
    unshared_socket() noexcept = default;
    unshared_socket(const unshared_socket&) = delete;
    unshared_socket& operator=(const unshared_socket&) = delete;
    ~unshared_socket() { reset(); }

    /// From now on, of a socket that is open.
    void set(int native_handle);

    /// It may be closed before, or later: then it is another file, and that is noticed.
    void reset() noexcept;

private:
    friend struct fork_handlers;

    int native_handle_ = -1;
    std::uint64_t file_ = 0;  // by its inode number
    unshared_socket* next_ = nullptr;
    unshared_socket** link_ = nullptr;  // what points to us; null if we are in no list
};

}  // namespace colock::platform

#endif
