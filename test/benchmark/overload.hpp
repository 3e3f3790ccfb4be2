// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_OVERLOAD_HPP
#define COLOCK_BENCHMARK_OVERLOAD_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// More tasks than the servers can serve, beside leases that must not be lost.
void run_overload(campaign& all);

}  // namespace colock::benchmark

#endif
