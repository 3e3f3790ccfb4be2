// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_WATCHDOG_HPP
#define COLOCK_BENCHMARK_WATCHDOG_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs the workload `watchdog`: one client holds many leases and only renews them.
void run_watchdog(campaign& all);

}  // namespace colock::benchmark

#endif
