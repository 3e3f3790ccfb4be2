// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_COLOCK_CLIENT_HPP
#define COLOCK_BENCHMARK_COLOCK_CLIENT_HPP

#include "benchmark/measurement.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>

#include <string>
#include <vector>

namespace colock::benchmark {

/// Returns a configuration without quarantine, because the servers have just been started.
config configuration_for(const std::vector<std::string>& instances);

bool all_ready(const client& locks);

/// Runs colock as a typical program would: one coroutine per task, `acquire` and `release`, and default
/// options.
measured run_colock(const orders& work);

}  // namespace colock::benchmark

#endif
