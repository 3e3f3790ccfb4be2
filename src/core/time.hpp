// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_TIME_HPP
#define COLOCK_CORE_TIME_HPP

#include <chrono>

namespace colock::core {

/// A time on the library's clock, which is like the steady clock, but runs on while the machine is suspended:
/// see `platform::clock`. Nothing in core reads it; `now` is an argument.
using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;
using milliseconds = std::chrono::milliseconds;

/// "Never", as a point in time to wait for.
inline constexpr time_point never = time_point::max();

}  // namespace colock::core

#endif
