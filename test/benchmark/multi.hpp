// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_MULTI_HPP
#define COLOCK_BENCHMARK_MULTI_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs the workload `multi`: compares a lock with several names with a mutex. Each task has names of its
/// own.
void run_multi(campaign& all);

}  // namespace colock::benchmark

#endif
