// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_COLOCK_CLIENT_HPP
#define COLOCK_BENCHMARK_COLOCK_CLIENT_HPP

#include "benchmark/measurement.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace colock::benchmark {

/// Returns a configuration without quarantine, because the servers have just been started.
config configuration_for(const std::vector<std::string>& instances);

/// Waits until all instances of the client are ready.
boost::asio::awaitable<void> wait_until_ready(const client& locks);

/// Runs `count` coroutines that `task` makes, and closes the client behind the last one. Throws the first
/// failure.
void run_tasks(boost::asio::io_context& context, client& locks, std::size_t count,
               const std::function<boost::asio::awaitable<void>()>& task);

/// Runs colock as a typical program would: one coroutine per task, `acquire` and `release`, and default
/// options.
measured run_colock(const orders& work);

}  // namespace colock::benchmark

#endif
