// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_ONCE_HPP
#define COLOCK_BENCHMARK_ONCE_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares calls of `once` with a mutex. Each task has a name of its own. The result exists, or each call
/// makes it.
void run_once(campaign& all);

}  // namespace colock::benchmark

#endif
