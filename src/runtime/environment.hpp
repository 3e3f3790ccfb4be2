// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_ENVIRONMENT_HPP
#define COLOCK_RUNTIME_ENVIRONMENT_HPP

#include "core/time.hpp"

#include <cstdint>

namespace colock::runtime {

/// The environment of an engine: time, event loop and random numbers. Implemented with Asio in a program (see
/// `asio_host`), and with virtual time in tests and in the simulation. No other part of this layer reads a
/// clock.
class environment {
public:
    environment() = default;
    environment(const environment&) = delete;
    environment& operator=(const environment&) = delete;

    /// Returns the time on the library's clock: see `core::time_point`.
    [[nodiscard]] virtual core::time_point now() const noexcept = 0;

    /// Schedules one call of `engine::turn`, which never runs before this function returns.
    virtual void defer() = 0;

    /// Schedules a call of `engine::wake` for that time, or slightly earlier. Replaces any earlier schedule.
    /// `core::never` clears it.
    virtual void wake_at(core::time_point when) = 0;

    /// Returns 64 random bits. Tokens consist of them.
    virtual std::uint64_t random() noexcept = 0;

protected:
    ~environment() = default;
};

}  // namespace colock::runtime

#endif
