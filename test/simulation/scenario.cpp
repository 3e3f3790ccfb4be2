// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/scenario.hpp"

#include "simulation/scenario_themes.hpp"
#include "simulation/schedule.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

const std::vector<scenario>& scenarios() {
    static const std::vector<scenario> all = [] {
        std::vector<scenario> result;
        for (const auto theme :
             {&cancellation_scenarios, &renewal_scenarios, &clock_scenarios, &outage_scenarios,
              &fence_scenarios, &reader_scenarios, &writer_scenarios, &downgrade_scenarios,
              &queue_scenarios, &failover_scenarios, &overload_scenarios, &permit_scenarios,
              &refusal_scenarios, &record_scenarios, &several_scenarios, &order_scenarios,
              &result_scenarios}) {
            result.insert(result.end(), theme->begin(), theme->end());
        }
        return result;
    }();
    return all;
}

const scenario* find_scenario(std::string_view name) {
    const auto found = std::find_if(scenarios().begin(), scenarios().end(),
                                    [name](const scenario& s) { return s.name == name; });
    return found == scenarios().end() ? nullptr : &*found;
}

std::vector<std::string> play(const scenario& s, bool trace) {
    const auto play_one = [&s](int take, bool told) {
        if (told) {
            std::cout << "take " << take + 1 << " of " << s.script.takes << '\n';
        }
        if (!s.profile.empty()) {
            return run_schedule(*find_profile(s.profile), static_cast<std::uint64_t>(take), told)
                .violations;
        }
        stage on(s.cast, told);
        s.script.play(on, take);
        return on.finish();
    };
    for (int take = 0; take != s.script.takes; ++take) {
        std::vector<std::string> violations = play_one(take, false);
        if (!violations.empty()) {
            return trace ? play_one(take, true) : violations;
        }
    }
    return trace ? play_one(0, true) : std::vector<std::string>();
}

}  // namespace colock::simulation
