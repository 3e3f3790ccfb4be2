// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SEMAPHORE_HPP
#define COLOCK_BENCHMARK_SEMAPHORE_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares a semaphore with a mutex. In the first part each task has a semaphore of its own, free or half
/// full. In the second part waiters of many clients wait for one semaphore of 1,024 permits.
void run_semaphore(campaign& all);

}  // namespace colock::benchmark

#endif
