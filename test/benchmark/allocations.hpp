// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_ALLOCATIONS_HPP
#define COLOCK_BENCHMARK_ALLOCATIONS_HPP

#include <cstdint>

namespace colock::benchmark {

/// Returns how often this program has called `operator new`. The count covers one thread.
std::uint64_t allocations() noexcept;

}  // namespace colock::benchmark

#endif
