// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_OVERLOAD_HPP
#define COLOCK_BENCHMARK_OVERLOAD_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs more tasks than the servers can serve. The client also holds leases that it must not lose.
void run_overload(campaign& all);

}  // namespace colock::benchmark

#endif
