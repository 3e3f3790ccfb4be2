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

/// What is measured: each of `instances` with each of `concurrency`.
struct campaign_options {
    std::vector<std::size_t> instances{1, 5};
    std::vector<std::size_t> concurrency{1, 64, 1000};
    int repetitions = 5;
    std::chrono::milliseconds warm_up{500};
    std::chrono::milliseconds duration{2000};
};

/// One run of "raw" or "colock".
struct row {
    std::string client;
    std::size_t instances = 0;
    std::size_t concurrency = 0;
    int repetition = 0;
    measured figures;
    double server_cpu_us_per_cycle = 0;  ///< of all servers together
    double commands_per_cycle = 0;       ///< as the servers have counted them
};

/// Runs `name` ("raw" or "colock") in this process.
measured run_client(const std::string& name, const workload& work);

/// Runs it in a child process on the first `instances` of the servers, which are emptied before.
row run_once(test::servers& servers, const std::string& client, std::size_t instances,
             std::size_t concurrency, const campaign_options& options);

/// Runs everything, raw and colock in alternation, and prints while it goes.
std::vector<row> run_campaign(test::servers& servers, const campaign_options& options);

}  // namespace colock::benchmark

#endif
