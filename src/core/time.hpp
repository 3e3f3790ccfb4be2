// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_TIME_HPP
#define COLOCK_CORE_TIME_HPP

#include <chrono>

namespace colock::core {

/// A time on the library's clock: the steady clock, except that it also advances while the machine is
/// suspended. See `platform::clock`. Nothing in core reads the clock: `now` is always an argument.
using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;
using milliseconds = std::chrono::milliseconds;

/// A point in time that is never reached.
inline constexpr time_point never = time_point::max();

}  // namespace colock::core

#endif
