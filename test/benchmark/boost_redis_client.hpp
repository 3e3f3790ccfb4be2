// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_BOOST_REDIS_CLIENT_HPP
#define COLOCK_BENCHMARK_BOOST_REDIS_CLIENT_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// What one would write by oneself: Boost.Redis with a request for each command, as a `plain_client`. It tells
/// what of colock's cost is that of the library below it.
measured run_boost_redis(const orders& work);

}  // namespace colock::benchmark

#endif
