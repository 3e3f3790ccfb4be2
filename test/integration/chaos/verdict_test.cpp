// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/verdict.hpp"
#include "integration/chaos/outages.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::chaos {
namespace {

using namespace std::chrono_literals;

/// Returns a run of a minute without failures: two clients take turns and probe every 50 ms.
observations good_run() {
    observations seen;
    seen.seconds = 60;
    seen.began = 1h;
    seen.ended = 1h + 1min;
    seen.faults = {{"stop", 20}, {"cut", 30}};
    seen.clients.cancelled = seen.clients.renewed = seen.clients.lost = 1;
    for (auto time = seen.began; time < seen.ended; time += 50ms) {
        seen.probes.push_back({"probe", "client 0", time, time, time});
        for (const auto* name : {"a", "b"}) {
            seen.sections.push_back({name, "client 0", time, time + 1ms, time + 20ms});
            seen.sections.push_back({name, "client 1", time, time + 20ms, time + 50ms});
        }
    }
    return seen;
}

/// Returns the only failure of a run.
std::string failure_of(const observations& seen) {
    const auto failures = judge(seen)["failures"];
    BOOST_TEST(failures.size() == 1U, failures.dump());
    return failures.empty() ? "" : failures[0].get<std::string>();
}

BOOST_AUTO_TEST_SUITE(verdict_test)

BOOST_AUTO_TEST_CASE(a_good_run_has_no_failures) {
    const auto result = judge(good_run());
    BOOST_TEST(result["failures"].empty(), result["failures"].dump());
    BOOST_TEST(result["acquisitions"] == 4800);
    BOOST_TEST(result["violations"] == 0);
    BOOST_TEST(result["faults"]["total"] == 50);
    BOOST_TEST(result["faults"]["cut"] == 30);
    BOOST_TEST(result["longest_wait_ms"] == 20.0);
    BOOST_TEST(result["longest_section_ms"] == 30.0);
    BOOST_TEST(result["unavailable_share"] == 0.0);
}

BOOST_AUTO_TEST_CASE(an_overlap_is_a_violation) {
    auto seen = good_run();
    seen.sections[10].left += 1ns;
    BOOST_TEST(failure_of(seen).starts_with("overlap: b: client 0 from "));
    BOOST_TEST(judge(seen)["violations"] == 1);
}

BOOST_AUTO_TEST_CASE(a_leftover_key_is_a_failure) {
    auto seen = good_run();
    seen.leftover_keys = 1;
    BOOST_TEST(failure_of(seen) == "keys are left: 1");
}

BOOST_AUTO_TEST_CASE(unavailability_above_one_percent_is_a_failure) {
    auto seen = good_run();
    seen.probes.erase(seen.probes.begin() + 100, seen.probes.begin() + 111);
    BOOST_TEST(judge(seen)["failures"].empty());
    BOOST_TEST(judge(seen)["unavailable_share"] == 0.01);
    BOOST_TEST(judge(seen)["longest_outage_ms"] == 600.0);
    seen.probes.erase(seen.probes.begin() + 100);
    BOOST_TEST(failure_of(seen).starts_with("nobody could acquire"));
}

BOOST_AUTO_TEST_CASE(a_run_with_too_little_activity_is_a_failure) {
    auto seen = good_run();
    seen.sections.resize(1000);
    BOOST_TEST(failure_of(seen) == "1000 critical sections only");
    seen = good_run();
    seen.faults = {{"stop", 29}};
    BOOST_TEST(failure_of(seen) == "29 faults only");
    seen = good_run();
    seen.faults["hold"] = 0;
    BOOST_TEST(failure_of(seen) == "no fault of the kind hold");
    seen.seconds = 59;
    BOOST_TEST(judge(seen)["failures"].empty());
    seen = good_run();
    seen.clients.cancelled = 0;
    BOOST_TEST(failure_of(seen) == "nothing was cancelled");
    seen = good_run();
    seen.clients.lost = 0;
    BOOST_TEST(judge(seen)["failures"].empty());
    seen.faults["client_stop"] = 1;
    BOOST_TEST(failure_of(seen) == "no lease was lost, although clients were stopped");
    seen = good_run();
    seen.clients.renewed = 0;
    BOOST_TEST(failure_of(seen) == "no lease was renewed");
}

BOOST_AUTO_TEST_CASE(outages_are_counted_from_success_to_success) {
    BOOST_TEST((find_outages({}, 0ms, 50ms, 100ms).total == 0ns));
    BOOST_TEST((find_outages({}, 0ms, 500ms, 100ms).total == 500ms));
    // The order does not matter, and successes before or after the period do not count.
    const auto found = find_outages({900ms, 350ms, 100ms, 450ms, -10ms, 2s}, 0ms, 1s, 100ms);
    BOOST_TEST((found.total == 250ms + 450ms));
    BOOST_TEST((found.longest == 450ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::chaos
