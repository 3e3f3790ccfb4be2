// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_SERVER_ACCOUNT_HPP
#define COLOCK_BENCHMARK_SERVER_ACCOUNT_HPP

#include "support/servers.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>

namespace colock::benchmark {

/// User and kernel time of a server so far, in seconds.
double cpu_seconds(const test::redis_server& server);

/// What the first `count` of some servers do between its making, which empties them, and `add_to`.
class server_account {
public:
    server_account(test::servers& servers, std::size_t count);

    /// Adds `server_cpu_us_per_cycle`, of all servers together, and `commands_per_cycle`, as the servers have
    /// counted them, to figures that have `cycles_with_warm_up`. Throws `std::runtime_error` if there are keys
    /// left: a client that leaves locks behind has not done the work that is measured.
    void add_to(nlohmann::json& figures) const;

private:
    test::servers& servers_;
    std::size_t count_;
    double cpu_seconds_before_ = 0;
};

}  // namespace colock::benchmark

#endif
