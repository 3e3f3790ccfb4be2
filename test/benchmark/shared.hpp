// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SHARED_HPP
#define COLOCK_BENCHMARK_SHARED_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares a shared mutex with a mutex. In the first part each task has a lock of its own. In the second,
/// all readers of one client share one lock. In the third, readers and writers of 16 processes use one lock.
void run_shared(campaign& all);

}  // namespace colock::benchmark

#endif
