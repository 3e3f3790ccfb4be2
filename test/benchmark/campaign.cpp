#include "benchmark/campaign.hpp"

#include <algorithm>
#include <utility>

namespace colock::benchmark {

campaign::campaign(campaign_options options)
    : options_(std::move(options)), servers_(std::ranges::max(options_.instances)) {}

void campaign::measure(const table& t, const nlohmann::json& parameters,
                       const std::vector<contestant>& contestants) {
    for (int repetition = 1; repetition <= options_.repetitions; ++repetition) {
        for (const contestant& each : contestants) {
            print_progress(t, parameters, each.name, repetition, options_.repetitions);
            rows_.push_back({t.workload, each.name, parameters, repetition, each.run()});
        }
    }
    print_group(t, rows_, parameters);
}

}  // namespace colock::benchmark
