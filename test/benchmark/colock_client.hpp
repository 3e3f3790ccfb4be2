// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_COLOCK_CLIENT_HPP
#define COLOCK_BENCHMARK_COLOCK_CLIENT_HPP

#include "benchmark/measurement.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>

#include <string>
#include <vector>

namespace colock::benchmark {

/// Its servers have only just been started: without quarantine.
config configuration_for(const std::vector<std::string>& instances);

bool all_ready(const client& locks);

/// colock as a program uses it: a coroutine per task, `acquire` and `release`, all defaults.
measured run_colock(const orders& work);

}  // namespace colock::benchmark

#endif
