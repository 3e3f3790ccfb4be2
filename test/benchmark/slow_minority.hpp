// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SLOW_MINORITY_HPP
#define COLOCK_BENCHMARK_SLOW_MINORITY_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Workload `slow_minority`: as `uncontended`, with two of five servers stopped once all are connected, or reached
/// with a delay.
void run_slow_minority(campaign& all);

/// Passes connections on to a server on this port so much later, on a port that it prints, until its standard input
/// ends. For a process of its own.
void run_delay(std::uint16_t port, std::chrono::milliseconds by);

}  // namespace colock::benchmark

#endif
