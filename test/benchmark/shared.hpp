// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SHARED_HPP
#define COLOCK_BENCHMARK_SHARED_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// A shared mutex beside a mutex: each task with a lock of its own, all readers of one client on one lock, and readers and
/// writers of 16 processes on one lock.
void run_shared(campaign& all);

}  // namespace colock::benchmark

#endif
