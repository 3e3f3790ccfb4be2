// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_WATCHDOG_HPP
#define COLOCK_BENCHMARK_WATCHDOG_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Workload `watchdog`: one client holds many leases, and does nothing else than to renew them.
void run_watchdog(campaign& all);

}  // namespace colock::benchmark

#endif
