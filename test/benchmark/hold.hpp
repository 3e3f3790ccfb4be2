// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_HOLD_HPP
#define COLOCK_BENCHMARK_HOLD_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Workload `hot_key_hold`: tasks of one process, or processes with a task each, want one lock all the time, and
/// hold it for a while. Who gets it how long after it was let go, and after waiting for how long?
void run_hot_key_hold(campaign& all);

}  // namespace colock::benchmark

#endif
