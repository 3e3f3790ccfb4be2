// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SERVER_ACCOUNT_HPP
#define COLOCK_BENCHMARK_SERVER_ACCOUNT_HPP

#include "support/servers.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace colock::benchmark {

/// Returns the user and kernel time of a server so far, in seconds.
double cpu_seconds(const test::redis_server& server);

/// Measures the first `count` servers between the construction and `add_to`. The constructor deletes all
/// their keys.
class server_account {
public:
    server_account(test::servers& servers, std::size_t count);

    /// Adds `server_cpu_us_per_cycle` and `commands_per_cycle` to figures that have `cycles_with_warm_up`.
    /// Both are totals over all servers, as the servers report them. Throws `std::runtime_error` if keys are
    /// left, because a client that leaves locks behind has not done the measured work.
    void add_to(nlohmann::json& figures) const;

private:
    test::servers& servers_;
    std::size_t count_;
    double cpu_seconds_before_ = 0;
};

}  // namespace colock::benchmark

#endif
