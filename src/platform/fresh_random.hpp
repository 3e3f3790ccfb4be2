// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_FRESH_RANDOM_HPP
#define COLOCK_PLATFORM_FRESH_RANDOM_HPP

#include <cstdint>
#include <optional>
#include <random>

namespace colock::platform {

/// Random numbers that are unique even if the process is cloned. A clone is made by `fork`, by `clone`
/// without the handlers of `pthread_atfork`, or by several starts of a virtual machine from one snapshot. The
/// state of a generator is then the same in each clone. Every number therefore contains entropy of the
/// kernel.
///
/// To ask the kernel for each number would cost more than everything else that a client does for an acquire
/// in a large batch. It is therefore asked once between two calls of `refresh`. A clone that is made in
/// between may draw numbers that its original draws.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class fresh_random {
public:
    /// Seeds the generator by the system. Throws the exceptions of `std::random_device`.
    fresh_random();

    std::uint64_t operator()() noexcept {
        if (!entropy_) {
            entropy_ = new_entropy();
        }
        return generator_() ^ *entropy_;
    }

    /// Gives the next number its own entropy. Call it before the process may be idle.
    void refresh() noexcept { entropy_.reset(); }

private:
    static std::uint64_t new_entropy() noexcept;

    std::mt19937_64 generator_;
    std::optional<std::uint64_t> entropy_;
};

}  // namespace colock::platform

#endif
