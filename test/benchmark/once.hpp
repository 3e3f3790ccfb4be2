// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_ONCE_HPP
#define COLOCK_BENCHMARK_ONCE_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Calls of `once` beside a mutex, each task with a name of its own: the result is there, or has to be made.
void run_once(campaign& all);

}  // namespace colock::benchmark

#endif
