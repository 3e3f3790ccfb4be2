#ifndef COLOCK_BENCHMARK_CAMPAIGN_HPP
#define COLOCK_BENCHMARK_CAMPAIGN_HPP

#include "benchmark/measurement.hpp"
#include "support/servers.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace colock::benchmark {

/// What is measured: each of `instances` with each of `concurrency`; and a hot key on the most instances,
/// with each of `handoff_limits`.
struct campaign_options {
    bool uncontended = true;
    bool hot_key_local = true;
    std::vector<std::size_t> instances{1, 5};
    std::vector<std::size_t> concurrency{1, 64, 1000};
    std::vector<std::size_t> handoff_limits{64, 100'000};
    int repetitions = 5;
    std::chrono::milliseconds warm_up{500};
    std::chrono::milliseconds duration{2000};
};

/// One run of "raw" or "colock".
struct row {
    std::string workload;
    std::string client;
    std::size_t handoff_limit = 0;  ///< of a hot key
    std::size_t instances = 0;
    std::size_t concurrency = 0;
    int repetition = 0;
    measured figures;
    double server_cpu_us_per_cycle = 0;  ///< of all servers together
    double commands_per_cycle = 0;       ///< as the servers have counted them
};

/// Runs `name` ("raw" or "colock") in this process.
measured run_client(const std::string& name, const workload& work);

/// Runs it in a child process on the servers that the workload names, which are the first of these and
/// are emptied before.
row run_once(test::servers& servers, const std::string& client, const workload& work);

/// Runs everything, raw and colock in alternation, and prints while it goes.
std::vector<row> run_campaign(test::servers& servers, const campaign_options& options);

}  // namespace colock::benchmark

#endif
