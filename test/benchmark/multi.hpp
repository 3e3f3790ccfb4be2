// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_MULTI_HPP
#define COLOCK_BENCHMARK_MULTI_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Workload `multi`: a lock with several names beside a mutex, each task with names of its own.
void run_multi(campaign& all);

}  // namespace colock::benchmark

#endif
