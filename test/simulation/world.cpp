// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/world.hpp"

#include <cstdio>
#include <iostream>

namespace colock::simulation {

void tally::add(const tally& other) {
    steps += other.steps;
    commands += other.commands;
    attempts += other.attempts;
    acquisitions += other.acquisitions;
    served += other.served;
    renewals += other.renewals;
    heals += other.heals;
    raises += other.raises;
    several += other.several;
    ordered += other.ordered;
    permits += other.permits;
    retakes += other.retakes;
    handoffs += other.handoffs;
    losses += other.losses;
    downgrades += other.downgrades;
    downgrades_without_quorum += other.downgrades_without_quorum;
    shares += other.shares;
    entries += other.entries;
    adopted += other.adopted;
    not_adopted += other.not_adopted;
    detached += other.detached;
    releases_told += other.releases_told;
    records_read += other.records_read;
    writes_applied += other.writes_applied;
    writes_refused += other.writes_refused;
    writes_unknown += other.writes_unknown;
    bodies += other.bodies;
    results_new += other.results_new;
    results_found += other.results_found;
    results_unknown += other.results_unknown;
    excused += other.excused;
    for (std::size_t i = 0; i != fault_count; ++i) {
        faults[i] += other.faults[i];
    }
}

void world::run(true_time end, std::uint64_t most_steps) {
    while (events_.has_until(end) && violations_.empty()) {
        if (++tally.steps > most_steps) {
            violation("bounded work", "more than " + std::to_string(most_steps) + " steps");
            events_.clear();
            return;
        }
        events_.run_next();
    }
    events_.pass_to(end);
}

duration world::delay() {
    const fault_model& f = faults();
    if (goes_wrong(f.slow_messages)) {
        count(fault::slow_message);
        return random.up_to(f.slow_delay);
    }
    const duration least = f.least_delay;
    // Many delays are short, some are usual, and few take twice as long.
    const duration spread = random.up_to(f.usual_delay);
    return least + (random.below(4) == 0 ? spread : spread / 8);
}

void world::tell(const std::string& who, const std::string& what) {
    char time[32];
    std::snprintf(time, sizeof time, "%12.3f ms  ",
                  std::chrono::duration<double, std::milli>(now().time_since_epoch()).count());
    std::cout << time << who << std::string(who.size() < 12 ? 12 - who.size() : 1, ' ') << what
              << '\n';
}

void world::violation(const std::string& rule, const std::string& what) {
    if (!only_rule.empty() && rule != only_rule) {
        return;
    }
    violations_.push_back(rule + ": " + what);
    if (trace_) {
        tell("VIOLATION", violations_.back());
    }
}

std::string in_ms(duration d) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f ms",
                  std::chrono::duration<double, std::milli>(d).count());
    return text;
}

}  // namespace colock::simulation
