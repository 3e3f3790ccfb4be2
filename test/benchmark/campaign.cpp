// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/campaign.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

namespace colock::benchmark {
namespace {

/// Runs the client once. An error says where it occurred.
nlohmann::json run(const table& t, const nlohmann::json& parameters, const contestant& client) {
    try {
        return client.run();
    } catch (const std::exception& failure) {
        throw std::runtime_error(t.workload + " " + parameters.dump() + ", client " + client.name +
                                 ": " + failure.what());
    }
}

}  // namespace

orders make_orders(const campaign_options& options, const test::servers& servers,
                   std::size_t instances, std::size_t tasks) {
    orders work;
    work.instances = servers.uris();
    work.instances.resize(instances);
    work.concurrency = tasks;
    work.warm_up = options.warm_up;
    work.duration = options.duration;
    return work;
}

campaign::campaign(campaign_options options)
    : options_(std::move(options)), servers_(std::ranges::max(options_.instances)) {}

void campaign::measure(const table& t, const nlohmann::json& parameters,
                       const std::vector<contestant>& contestants, int repetitions) {
    for (int repetition = 1; repetition <= repetitions; ++repetition) {
        for (const contestant& each : contestants) {
            print_progress(t, parameters, each.name, repetition, repetitions);
            rows_.push_back(
                {t.workload, each.name, parameters, repetition, run(t, parameters, each)});
        }
    }
    print_group(t, rows_, parameters);
}

}  // namespace colock::benchmark
