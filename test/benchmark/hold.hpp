// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_HOLD_HPP
#define COLOCK_BENCHMARK_HOLD_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs the workload `hot_key_hold`. Tasks of one process compete for one lock and hold it for a while, or
/// several processes with one task each. Measures the gap between a release and the next grant, and how long
/// each task waits.
void run_hot_key_hold(campaign& all);

}  // namespace colock::benchmark

#endif
