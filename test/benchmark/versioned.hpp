// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_VERSIONED_HPP
#define COLOCK_BENCHMARK_VERSIONED_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares writes of a versioned value with a mutex, on one server. The tasks have separate names, or all
/// share one name.
void run_versioned(campaign& all);

}  // namespace colock::benchmark

#endif
