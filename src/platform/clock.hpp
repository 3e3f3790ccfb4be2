// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_PLATFORM_CLOCK_HPP
#define COLOCK_PLATFORM_CLOCK_HPP

#include "core/time.hpp"

namespace colock::platform {

/// The library's clock. It shows what the steady clock shows, but runs on while the machine is suspended: a
/// server does not sleep with us, and the ttl of a key there goes on. (Where the system has no such clock, it is
/// the steady clock.)
///
/// Times that users see or give are those of the steady clock, and are converted. Timers run on the steady
/// clock, too: so set them for a duration from now, and expect them to be late after a suspend.
///
/// Thread-safe.
struct clock {
    [[nodiscard]] static core::time_point now() noexcept;

    /// The same moment on the steady clock, as far as is known now: the next suspend will bring it closer.
    /// The smallest and the largest value stay as they are.
    [[nodiscard]] static core::time_point to_steady(core::time_point time) noexcept;
    [[nodiscard]] static core::time_point from_steady(core::time_point time) noexcept;
};

}  // namespace colock::platform

#endif
