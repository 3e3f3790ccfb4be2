// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_PLAIN_CLIENTS_HPP
#define COLOCK_BENCHMARK_PLAIN_CLIENTS_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// Measures the physical limit. It is a `plain_client` with a hand-written RESP loop that sends what colock
/// sends for a mutex. With a binding order, it takes each lock with the shortest possible script.
measured run_raw(const orders& work);

/// Runs a `plain_client` that sends each command as one Boost.Redis request, as a user program would. The
/// result shows the share of the underlying library in colock's cost.
measured run_boost_redis(const orders& work);

}  // namespace colock::benchmark

#endif
