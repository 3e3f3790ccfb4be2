// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_VERSIONED_HPP
#define COLOCK_BENCHMARK_VERSIONED_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Writes of a versioned value beside a mutex, on one server: each task with a name of its own, and all on one name.
void run_versioned(campaign& all);

}  // namespace colock::benchmark

#endif
