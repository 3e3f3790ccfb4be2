#ifndef COLOCK_BENCHMARK_RAW_CLIENT_HPP
#define COLOCK_BENCHMARK_RAW_CLIENT_HPP

#include "benchmark/measurement.hpp"

namespace colock::benchmark {

/// The physical limit: a hand-written RESP loop that sends what colock sends and does nothing else.
/// No timeouts, no renewal, no reconnection, no cancellation, no error but the end of the program.
measured run_raw(const orders& work);

}  // namespace colock::benchmark

#endif
