#ifndef COLOCK_BENCHMARK_COLOCK_CLIENT_HPP
#define COLOCK_BENCHMARK_COLOCK_CLIENT_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// colock as a program uses it: a coroutine per task, `acquire` and `release`, all defaults.
measured run_colock(const workload& work);

}  // namespace colock::benchmark

#endif
