// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_REENTRANT_HPP
#define COLOCK_BENCHMARK_REENTRANT_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// A reentrant mutex beside a mutex, each task with a lock of its own; and how often an owner enters again.
void run_reentrant(campaign& all);

}  // namespace colock::benchmark

#endif
