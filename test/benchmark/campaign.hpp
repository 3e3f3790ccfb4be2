// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CAMPAIGN_HPP
#define COLOCK_BENCHMARK_CAMPAIGN_HPP

#include "benchmark/measurement.hpp"
#include "benchmark/peers.hpp"
#include "benchmark/report.hpp"
#include "benchmark/row.hpp"
#include "support/servers.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace colock::benchmark {

struct campaign_options {
    std::vector<std::size_t> instances{1, 5};
    std::vector<std::size_t> tasks{1, 64, 1000};
    int repetitions = 5;
    std::chrono::milliseconds warm_up{500};
    std::chrono::milliseconds duration{2000};
    std::chrono::milliseconds hold_duration{10'000};  ///< Of `hot_key_hold`.
    std::chrono::milliseconds watchdog_duration{
        60'000};                   ///< Of `watchdog`, which has no repetitions.
    std::size_t leases = 100'000;  ///< Of `watchdog`.
    std::vector<peer> peers;       ///< Other libraries to measure too.
};

/// Returns the orders for a client that uses the first `instances` servers.
orders make_orders(const campaign_options& options, const test::servers& servers,
                   std::size_t instances, std::size_t tasks);

/// A client to measure. `run` performs one run and returns its figures.
struct contestant {
    std::string name;
    std::function<nlohmann::json()> run;
};

/// The options, the servers and the results of all measurements.
class campaign {
public:
    explicit campaign(campaign_options options);

    [[nodiscard]] const campaign_options& options() const noexcept { return options_; }

    /// The running servers, as many as the largest configuration needs.
    [[nodiscard]] test::servers& servers() noexcept { return servers_; }

    /// Runs the contestants in alternation, as often as the options say, and prints their lines of the table.
    void measure(const table& t, const nlohmann::json& parameters,
                 const std::vector<contestant>& contestants) {
        measure(t, parameters, contestants, options_.repetitions);
    }
    void measure(const table& t, const nlohmann::json& parameters,
                 const std::vector<contestant>& contestants, int repetitions);

    [[nodiscard]] const std::vector<row>& rows() const noexcept { return rows_; }

private:
    campaign_options options_;
    test::servers servers_;
    std::vector<row> rows_;
};

}  // namespace colock::benchmark

#endif
