// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SLOW_MINORITY_HPP
#define COLOCK_BENCHMARK_SLOW_MINORITY_HPP

#include "benchmark/campaign.hpp"

namespace colock::benchmark {

/// Runs the workload `slow_minority`: the workload `uncontended` with two slow servers out of five. They are
/// stopped once all are connected, or a proxy delays them.
void run_slow_minority(campaign& all);

/// Forwards connections to the server on this port, delayed by `by`. Prints the port on which it listens.
/// Runs until its standard input ends, so it needs a process of its own.
void run_delay(std::uint16_t port, std::chrono::milliseconds by);

}  // namespace colock::benchmark

#endif
