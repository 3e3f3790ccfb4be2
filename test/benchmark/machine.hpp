// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_MACHINE_HPP
#define COLOCK_BENCHMARK_MACHINE_HPP

#include "support/redis_server.hpp"

#include <nlohmann/json.hpp>

namespace colock::benchmark {

/// Returns a description of the environment: cpu, cores, kernel, compiler, boost, redis, date.
nlohmann::json describe_machine(const test::redis_server& server);

}  // namespace colock::benchmark

#endif
