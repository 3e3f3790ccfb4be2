// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_FIFO_HPP
#define COLOCK_BENCHMARK_FIFO_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// A mutex with a binding order beside one without, on one server: each task with a name of its own, and all on one name.
void run_fifo(campaign& all);

}  // namespace colock::benchmark

#endif
