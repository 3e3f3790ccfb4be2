// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SEMAPHORE_HPP
#define COLOCK_BENCHMARK_SEMAPHORE_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// A semaphore beside a mutex: each task with one of its own, which is free or half full, and one of 1,024 permits for which
/// waiters of many clients wait.
void run_semaphore(campaign& all);

}  // namespace colock::benchmark

#endif
