// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/verdict.hpp"

#include "integration/chaos/outages.hpp"

#include <algorithm>

namespace colock::chaos {
namespace {

// Lower limits per second, a small part of the measured values.
constexpr double least_sections = 20;
constexpr double least_faults = 0.5;

// A run of at least this length must contain all kinds of faults.
constexpr double long_run = 60;

constexpr std::size_t most_overlaps_told = 10;

double ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

std::chrono::nanoseconds longest_wait(const std::vector<test::section>& sections) {
    std::chrono::nanoseconds longest{};
    for (const auto& s : sections) {
        longest = std::max(longest, s.entered - s.asked);
    }
    return longest;
}

outages outages_of(const observations& seen) {
    std::vector<std::chrono::nanoseconds> successes;
    for (const auto& probe : seen.probes) {
        successes.push_back(probe.entered);
    }
    return find_outages(std::move(successes), seen.began, seen.ended, longest_probe);
}

std::size_t count_faults(const observations& seen) {
    std::size_t total = 0;
    for (const auto& [kind, count] : seen.faults) {
        total += count;
    }
    return total;
}

/// Reports a run in which too little happened, because such a run cannot find errors.
void find_what_is_missing(const observations& seen, std::vector<std::string>& failures) {
    const auto expect = [&](bool met, std::string what) {
        if (!met) {
            failures.push_back(std::move(what));
        }
    };
    const auto faults = count_faults(seen);
    expect(static_cast<double>(seen.sections.size()) >= least_sections * seen.seconds,
           std::to_string(seen.sections.size()) + " critical sections only");
    expect(static_cast<double>(faults) >= least_faults * seen.seconds,
           std::to_string(faults) + " faults only");
    expect(seen.clients.cancelled != 0, "nothing was cancelled");
    if (seen.seconds >= long_run) {
        for (const auto& [kind, count] : seen.faults) {
            expect(count != 0, "no fault of the kind " + kind);
        }
        expect(seen.clients.renewed != 0, "no lease was renewed");
        expect(seen.clients.lost != 0 || !seen.faults.contains("client_stop"),
               "no lease was lost, although clients were stopped");
    }
}

}  // namespace

nlohmann::json judge(const observations& seen) {
    std::vector<std::string> failures;
    const auto overlaps = test::find_overlaps(seen.sections);
    for (std::size_t i = 0; i != std::min(overlaps.size(), most_overlaps_told); ++i) {
        failures.push_back("overlap: " + overlaps[i]);
    }
    const auto down = outages_of(seen);
    const double unavailable = ms(down.total) / ms(seen.ended - seen.began);
    if (unavailable > most_unavailable) {
        failures.push_back("nobody could acquire for too long: " + std::to_string(ms(down.total)) +
                           " ms");
    }
    if (seen.leftover_keys != 0) {
        failures.push_back("keys are left: " + std::to_string(seen.leftover_keys));
    }
    find_what_is_missing(seen, failures);

    std::chrono::nanoseconds longest_section{};
    for (const auto& s : seen.sections) {
        longest_section = std::max(longest_section, s.left - s.entered);
    }
    nlohmann::json faults = seen.faults;
    faults["total"] = count_faults(seen);
    return {
        {"seconds", seen.seconds},
        {"seed", seen.seed},
        {"tasks", seen.tasks},
        {"acquisitions", seen.sections.size()},
        {"violations", overlaps.size()},
        {"changes_of_hands", test::count_changes(seen.sections)},
        {"longest_wait_ms", ms(longest_wait(seen.sections))},
        {"longest_section_ms", ms(longest_section)},
        {"faults", faults},
        {"cancelled", seen.clients.cancelled},
        {"renewed", seen.clients.renewed},
        {"lost", seen.clients.lost},
        {"gave_up_unavailable", seen.clients.unavailable},
        {"probes", seen.probes.size()},
        {"longest_probe_ms", ms(longest_wait(seen.probes))},
        {"unavailable_share", unavailable},
        {"longest_outage_ms", ms(down.longest)},
        {"keys_at_close", seen.keys_at_close},
        {"leftover_keys", seen.leftover_keys},
        {"failures", failures},
    };
}

}  // namespace colock::chaos
