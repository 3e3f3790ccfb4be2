// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_REENTRANT_HPP
#define COLOCK_BENCHMARK_REENTRANT_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares a reentrant mutex with a mutex, each task with a lock of its own. Also measures how often per
/// second an owner can enter again.
void run_reentrant(campaign& all);

}  // namespace colock::benchmark

#endif
