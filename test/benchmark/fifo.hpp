// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_FIFO_HPP
#define COLOCK_BENCHMARK_FIFO_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Compares a mutex with a binding order with one without, on one server. The tasks have separate names, or
/// all share one name.
void run_fifo(campaign& all);

}  // namespace colock::benchmark

#endif
