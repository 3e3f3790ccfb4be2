// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_CLOCK_HPP
#define COLOCK_PLATFORM_CLOCK_HPP

#include "core/time.hpp"

namespace colock::platform {

/// The library's clock. It shows the time of the steady clock, but also advances while the machine is
/// suspended. A server is not suspended with the client, and the ttl of its keys continues. If the system has
/// no such clock, it is the steady clock.
///
/// Times in the public interface are those of the steady clock, and are converted. Timers also run on the
/// steady clock. Set them for a duration from now, and expect them to be late after a suspend.
///
/// Thread-safe.
struct clock {
    [[nodiscard]] static core::time_point now() noexcept;

    /// Returns the same moment on the steady clock, as far as is known now. The next suspend brings it
    /// closer. The smallest and the largest value stay as they are.
    [[nodiscard]] static core::time_point to_steady(core::time_point time) noexcept;
    [[nodiscard]] static core::time_point from_steady(core::time_point time) noexcept;
};

}  // namespace colock::platform

#endif
