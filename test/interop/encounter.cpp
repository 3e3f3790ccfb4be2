// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "interop/encounter.hpp"

#include "interop/scenarios.hpp"
#include "interop/worker.hpp"
#include "support/redis_server.hpp"
#include "support/sections.hpp"
#include "support/servers.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <set>
#include <sstream>

namespace colock::interop {
namespace {

using namespace std::chrono_literals;

// No lease may expire within a critical section, because overlaps would then be legitimate.
constexpr auto ttl = 20s;
constexpr auto longest_section_allowed = ttl / 2;
constexpr auto hold = 2ms;
const std::string names = "interop:a interop:b interop:c interop:d";
const std::string names_of_sets = names + " interop:e interop:f interop:g interop:h";

constexpr std::size_t most_overlaps_told = 10;

// How often each library must acquire the lock, per second of one round. This is a small part of the measured
// rate.
constexpr double least_per_second = 1;

// Other libraries poll, and node-redlock can block itself for seconds with keys on a minority of the servers.
// The number of acquisitions in one round therefore varies by chance. If a library acquires too few, another
// round follows.
constexpr std::size_t most_rounds = 12;

double ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

std::vector<worker> start_workers(const encounter& encounter, const programs& programs,
                                  const test::servers& servers) {
    const auto start = [&](const std::string& kind, std::vector<std::string> command) {
        std::ranges::copy(servers.uris(), std::back_inserter(command));
        return worker(kind, std::move(command));
    };
    std::vector<worker> workers;
    for (std::size_t i = 0; i < encounter.colock_workers; ++i) {
        workers.push_back(start("colock", programs.colock));
    }
    for (std::size_t i = 0; i < encounter.peer_workers; ++i) {
        workers.push_back(start(encounter.peer, programs.peer));
    }
    return workers;
}

nlohmann::json play(test::servers& servers, worker& colock, worker& peer, findings& findings) {
    scenarios from_colock(servers, colock, peer, findings);
    scenarios from_peer(servers, peer, colock, findings);
    for (auto* scenario : {&from_colock, &from_peer}) {
        scenario->extended();
        scenario->stale();
    }
    if (servers.size() == 5) {
        from_colock.minorities();
        from_colock.leftovers();
    }
    nlohmann::json times;
    // The library that released first also waits first.
    times["hand_over_ms"] = {{colock.kind(), ms(from_colock.hand_off())},
                             {peer.kind(), ms(from_peer.hand_off())}};
    times["take_over_ms"] = {{peer.kind(), ms(from_colock.expired())},
                             {colock.kind(), ms(from_peer.expired())}};
    return times;
}

using sections_of_workers = std::vector<std::vector<test::section>>;

// Runs one round, in which all workers contend for `seconds`.
void contend(const encounter& encounter, std::vector<worker>& workers, double seconds,
             sections_of_workers& sections) {
    const test::temporary_folder folder;
    const auto file = [&](std::size_t i) { return folder.path() / std::to_string(i); };
    for (std::size_t i = 0; i < workers.size(); ++i) {
        std::ostringstream command;
        command << "contend " << file(i).string() << ' ' << seconds << ' '
                << std::chrono::milliseconds(ttl).count() << ' ' << hold.count() << ' '
                << encounter.most_names << ' '
                << (encounter.most_names == 1 ? names : names_of_sets);
        workers[i].tell(command.str());
    }
    // The last wait may be long, but not longer than the ttl of an abandoned lock.
    const auto patience = std::chrono::milliseconds(static_cast<long>(seconds * 1000)) + ttl;
    for (std::size_t i = 0; i < workers.size(); ++i) {
        workers[i].answer(patience);
        std::ranges::move(test::read_sections(file(i), workers[i].kind()),
                          std::back_inserter(sections[i]));
    }
}

// Several names that are acquired together count as one acquisition.
std::size_t acquisitions(const std::vector<test::section>& sections, const std::string& kind) {
    std::set<std::chrono::nanoseconds> entered;
    for (const auto& s : sections) {
        if (s.kind == kind) {
            entered.insert(s.entered);
        }
    }
    return entered.size();
}

std::vector<test::section> all_of(const sections_of_workers& workers) {
    std::vector<test::section> sections;
    for (const auto& its : workers) {
        std::ranges::copy(its, std::back_inserter(sections));
    }
    return sections;
}

nlohmann::json tell_of(const std::string& kind, const std::vector<test::section>& sections) {
    std::chrono::nanoseconds longest_wait{};
    for (const auto& s : sections) {
        if (s.kind == kind) {
            longest_wait = std::max(longest_wait, s.entered - s.asked);
        }
    }
    return {{"acquisitions", acquisitions(sections, kind)}, {"longest_wait_ms", ms(longest_wait)}};
}

}  // namespace

const std::vector<encounter>& encounters() {
    // Several node-redlock processes on five servers block each other, because node-redlock releases nothing
    // between its attempts.
    static const std::vector<encounter> all{
        {"redlock_n5", "redlock", 5, 1},
        {"redlock_n1", "redlock", 1, 1},
        {"redis_py_n1", "redis-py", 1, 2},
        {"redlock_sets_n5", "redlock", 5, 1, 2, 3},
        {"redlock_sets_n1", "redlock", 1, 1, 2, 3},
        {"sets_n3", "", 3, 0, 16, 3},
    };
    return all;
}

nlohmann::json run(const encounter& encounter, const programs& programs, double seconds) {
    test::servers servers(encounter.instances);
    auto workers = start_workers(encounter, programs, servers);
    servers.flush();
    findings findings;
    nlohmann::json result;
    std::vector<std::string> kinds{"colock"};
    if (!encounter.peer.empty()) {
        result = play(servers, workers.front(), workers.back(), findings);
        kinds.push_back(encounter.peer);
    }
    findings.expect_soon([&] { return servers.keys() == 0; }, "after the scenarios keys are left");

    sections_of_workers of_workers(workers.size());
    const auto least = static_cast<std::size_t>(std::ceil(least_per_second * seconds));
    const auto peers_want_more = [&] {
        const auto of_peers = of_workers | std::views::drop(encounter.colock_workers);
        return std::ranges::any_of(of_peers, &std::vector<test::section>::empty) ||
               acquisitions(all_of(of_workers), encounter.peer) < least;
    };
    std::size_t rounds = 0;
    do {
        contend(encounter, workers, seconds, of_workers);
        ++rounds;
    } while (rounds < most_rounds && !encounter.peer.empty() && peers_want_more());
    // Only colock has to make progress. How often another library gets the lock is a matter of its polling.
    const auto expect_progress = [&](const std::string& kind, bool met, std::string what) {
        kind == "colock" ? findings.expect(met, std::move(what))
                         : findings.remark(met, std::move(what));
    };
    for (std::size_t i = 0; i < workers.size(); ++i) {
        expect_progress(workers[i].kind(), !of_workers[i].empty(),
                        "a process of " + workers[i].kind() + " got no lock");
    }
    const auto sections = all_of(of_workers);
    findings.expect_soon([&] { return servers.keys() == 0; }, "after the contention keys are left");
    const auto overlaps = test::find_overlaps(sections);
    for (const auto& overlap : overlaps | std::views::take(most_overlaps_told)) {
        findings.expect(false, "overlap: " + overlap);
    }
    std::chrono::nanoseconds longest_section{};
    for (const auto& s : sections) {
        longest_section = std::max(longest_section, s.left - s.entered);
    }
    findings.expect(longest_section <= longest_section_allowed, "a section took too long to judge");
    for (const auto& kind : kinds) {
        const auto& figures = result["contention"][kind] = tell_of(kind, sections);
        const auto wanted = kind == encounter.peer ? least : least * rounds;
        expect_progress(kind, acquisitions(sections, kind) >= wanted,
                        kind + " acquired the lock only " + figures["acquisitions"].dump() +
                            " times in " + std::to_string(rounds) + " rounds");
    }
    result["encounter"] = encounter.name;
    result["instances"] = encounter.instances;
    result["seconds"] = seconds;
    result["rounds"] = rounds;
    result["overlaps"] = overlaps.size();
    result["changes_of_hands"] = test::count_changes(sections);
    result["longest_section_ms"] = ms(longest_section);
    result["failures"] = findings.all();
    result["remarks"] = findings.remarks();
    return result;
}

}  // namespace colock::interop
