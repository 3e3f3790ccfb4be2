// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_RAW_CLIENT_HPP
#define COLOCK_BENCHMARK_RAW_CLIENT_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// Measures the physical limit. It is a `plain_client` with a hand-written RESP loop that sends what colock
/// sends for a mutex. With a binding order, it takes each lock with the shortest possible script.
measured run_raw(const orders& work);

}  // namespace colock::benchmark

#endif
