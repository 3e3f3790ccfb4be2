// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_BOOST_REDIS_CLIENT_HPP
#define COLOCK_BENCHMARK_BOOST_REDIS_CLIENT_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// Runs a `plain_client` that sends each command as one Boost.Redis request, as a user program would. The
/// result shows the share of the underlying library in colock's cost.
measured run_boost_redis(const orders& work);

}  // namespace colock::benchmark

#endif
