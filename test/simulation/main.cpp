// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/campaign.hpp"
#include "simulation/mutants.hpp"
#include "simulation/options.hpp"
#include "simulation/scenario.hpp"
#include "simulation/schedule.hpp"
#include "support/writable_file.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {
namespace {

struct arguments {
    std::string seeds;
    std::optional<std::uint64_t> seed;
    std::optional<double> seconds;
    std::string profile;
    std::string json;
    std::string summary;
    std::string failed_seeds;
    std::string mutant_seeds;
    bool update_seeds = false;
    std::string scenario;
    bool list_scenarios = false;
    bool trace = false;
    bool mutants = false;
    std::string mutant;  // With --mutants: a part of the names. Otherwise the active mutant.
    bool list_profiles = false;
};

/// Parses "7" or "1..1000".
seed_range parse_seeds(const std::string& text) {
    seed_range range;
    std::istringstream in(text);
    char dot = ' ';
    char dot_2 = ' ';
    if (in >> range.first) {
        range.last = range.first;
        if (in.eof()) {
            return range;
        }
        if (in >> dot >> dot_2 >> range.last && dot == '.' && dot_2 == '.' && in.eof() &&
            range.first <= range.last) {
            return range;
        }
    }
    throw CLI::ValidationError("--seeds", "'" + text + "' is no range A..B");
}

/// Calls a function with the words of each line that is not only a comment.
template <class Function>
void for_each_line(const std::string& option, const std::string& file, Function function) {
    std::ifstream in(file);
    if (!in) {
        throw CLI::ValidationError(option, "cannot read " + file);
    }
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        if (words >> std::ws; !words.eof()) {
            function(words);
        }
    }
}

/// Reads "SEED PROFILE".
known_seed read_seed(const std::string& option, std::istringstream& words) {
    known_seed result;
    std::string name;
    words >> result.seed >> name;
    result.profile = find_profile(name);
    if (result.profile == nullptr) {
        throw CLI::ValidationError(option, "\"" + words.str() + "\" has no seed and profile");
    }
    return result;
}

void print(std::ostream& out, const campaign_result& r) {
    out << "profile " << r.profile << ", seeds " << r.seeds.first << ".." << r.seeds.last << '\n'
        << "run again     " << r.known_seeds << " that failed once\n"
        << std::fixed << std::setprecision(0) << "schedules     " << r.schedules << " in "
        << std::setprecision(1) << r.seconds << " s, " << std::setprecision(0) << r.rate()
        << " a minute\n"
        << "steps         " << r.sum.steps << '\n'
        << "attempts      " << r.sum.attempts << '\n'
        << "acquisitions  " << r.sum.acquisitions << ", renewed " << r.sum.renewals
        << " times, healed " << r.sum.heals << ", lost " << r.sum.losses << ", handed off "
        << r.sum.handoffs << "; second rounds for a fence " << r.sum.raises << '\n'
        << "several names " << r.sum.several << " leases\n"
        << "binding order " << r.sum.ordered << " leases\n"
        << "once          " << r.sum.bodies << " bodies, " << r.sum.results_new
        << " results, found " << r.sum.results_found << " times, unknown " << r.sum.results_unknown
        << '\n'
        << "semaphores    " << r.sum.permits << " leases, further rounds for one number "
        << r.sum.retakes << '\n'
        << "downgrades    " << r.sum.downgrades << ", " << r.sum.downgrades_without_quorum
        << " found no quorum; shared by a holder " << r.sum.shares << "; entered again by an owner "
        << r.sum.entries << '\n'
        << "adopted       " << r.sum.adopted << " leases, and of " << r.sum.not_adopted
        << " the keys were gone\n"
        << "records       " << r.sum.records_read << " reads; writes applied "
        << r.sum.writes_applied << ", refused " << r.sum.writes_refused << ", unknown "
        << r.sum.writes_unknown << '\n'
        << "faults injected\n";
    for (std::size_t i = 0; i != fault_count; ++i) {
        if (r.sum.faults[i] != 0) {
            out << "  " << std::left << std::setw(22) << name(static_cast<fault>(i)) << std::right
                << std::setw(10) << r.sum.faults[i] << '\n';
        }
    }
    for (const std::string& missing : r.missing) {
        out << "NOT INJECTED  " << missing << '\n';
    }
    out << "excused       " << r.sum.excused
        << " double leases that nobody promised not to happen\n"
        << "violations    " << r.failures.size() << '\n';
    constexpr std::size_t most_shown = 100;
    const std::size_t shown = std::min(r.failures.size(), most_shown);
    for (std::size_t i = 0; i != shown; ++i) {
        const auto& [seed, profile, what] = r.failures[i];
        out << "  seed " << seed << " " << profile << ": " << what << '\n'
            << "    test/simulation/run.sh --seed " << seed << " --profile " << profile
            << " --trace\n";
    }
    if (shown != r.failures.size()) {
        out << "  and " << r.failures.size() - shown << " more: see --json\n";
    }
}

nlohmann::json to_json(const campaign_result& r) {
    nlohmann::json faults = nlohmann::json::object();
    for (std::size_t i = 0; i != fault_count; ++i) {
        faults[std::string(name(static_cast<fault>(i)))] = r.sum.faults[i];
    }
    nlohmann::json failures = nlohmann::json::array();
    for (const auto& f : r.failures) {
        failures.push_back({{"seed", f.seed}, {"profile", f.profile}, {"what", f.what}});
    }
    return {{"profile", r.profile},
            {"seeds", {r.seeds.first, r.seeds.last}},
            {"known_seeds", r.known_seeds},
            {"schedules", r.schedules},
            {"seconds", r.seconds},
            {"schedules_per_minute", r.rate()},
            {"steps", r.sum.steps},
            {"attempts", r.sum.attempts},
            {"acquisitions", r.sum.acquisitions},
            {"renewals", r.sum.renewals},
            {"heals", r.sum.heals},
            {"raises", r.sum.raises},
            {"several_names", r.sum.several},
            {"binding_order", r.sum.ordered},
            {"once_bodies", r.sum.bodies},
            {"once_results", r.sum.results_new},
            {"once_results_found", r.sum.results_found},
            {"once_results_unknown", r.sum.results_unknown},
            {"permits", r.sum.permits},
            {"retakes", r.sum.retakes},
            {"handoffs", r.sum.handoffs},
            {"losses", r.sum.losses},
            {"downgrades", r.sum.downgrades},
            {"downgrades_without_quorum", r.sum.downgrades_without_quorum},
            {"shares", r.sum.shares},
            {"entries", r.sum.entries},
            {"adopted", r.sum.adopted},
            {"not_adopted", r.sum.not_adopted},
            {"detached", r.sum.detached},
            {"releases_told", r.sum.releases_told},
            {"records_read", r.sum.records_read},
            {"writes_applied", r.sum.writes_applied},
            {"writes_refused", r.sum.writes_refused},
            {"writes_unknown", r.sum.writes_unknown},
            {"excused", r.sum.excused},
            {"faults", faults},
            {"not_injected", r.missing},
            {"violations", failures.size()},
            {"failures", failures}};
}

void write(const std::string& file, const std::string& what) {
    if (file.empty()) {
        return;
    }
    std::ofstream out(file);
    out << what;
    if (!out.flush()) {
        throw std::runtime_error("cannot write " + file);
    }
}

int run_one(const arguments& a, const profile* named) {
    const profile& p = named != nullptr ? *named : profile_of(*a.seed);
    std::cout << "seed " << *a.seed << ", profile " << p.name << ": " << p.what << '\n';
    const result r = run_schedule(p, *a.seed, a.trace);
    for (const std::string& what : r.violations) {
        std::cout << "VIOLATION  " << what << '\n';
    }
    std::cout << r.tally.steps << " steps, " << r.tally.acquisitions << " acquisitions, "
              << r.violations.size() << " violations\n";
    return r.violations.empty() ? 0 : 1;
}

int run_many(const arguments& a, const profile* named) {
    campaign c;
    c.profile = named;
    if (!a.failed_seeds.empty()) {
        for_each_line("--failed-seeds", a.failed_seeds, [&](std::istringstream& words) {
            c.known_seeds.push_back(read_seed("--failed-seeds", words));
        });
    }
    if (a.seconds) {
        c.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double>(*a.seconds));
        c.seeds.first = a.seeds.empty() ? std::uint64_t{std::random_device{}()} << 20U
                                        : parse_seeds(a.seeds).first;
        c.seeds.last = c.seeds.first + (std::uint64_t{1} << 40U);
    } else {
        c.seeds = parse_seeds(a.seeds.empty() ? "1..10000" : a.seeds);
    }
    const campaign_result r = run_campaign(c);
    std::ostringstream text;
    print(text, r);
    std::cout << text.str();
    write(a.summary, text.str());
    write(a.json, to_json(r).dump(2) + "\n");
    return r.failures.empty() && r.missing.empty() ? 0 : 1;
}

int run_scenario(const scenario& s, bool trace) {
    std::cout << s.name << ": " << s.what << '\n';
    const std::vector<std::string> violations = play(s, trace);
    for (const std::string& what : violations) {
        std::cout << "VIOLATION  " << what << '\n';
    }
    if (!violations.empty() && !trace) {
        std::cout << "replay it with test/simulation/run.sh --scenario " << s.name << " --trace\n";
    }
    return violations.empty() ? 0 : 1;
}

/// Activates the mutant of this name.
void activate(const std::string& name) {
    const auto* const end = mutants + mutant_count;
    const auto* const found =
        std::find_if(mutants, end, [&](const mutant& one) { return one.name == name; });
    if (found == end) {
        throw CLI::ValidationError(
            "--mutant", "there is no '" + name + "'; test/simulation/mutants.cmake has the names");
    }
    active_mutant = static_cast<int>(found - mutants);
}

/// The scenarios that must fail with a mutant.
struct scenario_sight {
    std::size_t seeing = 0;
    std::vector<std::string_view> blind;  ///< Scenarios that do not fail.
};

/// Runs the scenarios with the mutant active.
scenario_sight look_at(std::string_view mutant) {
    scenario_sight result;
    for (const scenario& s : scenarios()) {
        const bool concerned =
            std::find(s.catches.begin(), s.catches.end(), mutant) != s.catches.end();
        if (concerned && play(s, false).empty()) {
            result.blind.push_back(s.name);
        } else if (concerned) {
            ++result.seeing;
        }
    }
    return result;
}

/// Checks that each scenario lists mutants that exist. A scenario that no mutant makes fail proves nothing.
void check_scenarios() {
    for (const scenario& s : scenarios()) {
        const bool known = std::all_of(s.catches.begin(), s.catches.end(), [](std::string_view m) {
            return std::any_of(mutants, mutants + mutant_count,
                               [m](const mutant& one) { return one.name == m; });
        });
        if (s.catches.empty() || !known) {
            throw std::runtime_error(std::string(s.name) +
                                     " does not name mutants that it catches");
        }
    }
}

/// Names of mutants with the seeds that catch them.
using seeds_by_mutant = std::map<std::string, known_seed, std::less<>>;

/// Reads lines of "MUTANT SEED PROFILE".
seeds_by_mutant read_mutant_seeds(const std::string& file) {
    seeds_by_mutant result;
    for_each_line("--mutant-seeds", file, [&](std::istringstream& words) {
        std::string mutant;
        words >> mutant;
        result[mutant] = read_seed("--mutant-seeds", words);
    });
    return result;
}

bool is_caught_by_scenario(std::string_view mutant) {
    return std::ranges::any_of(scenarios(), [mutant](const scenario& s) {
        return std::ranges::find(s.catches, mutant) != s.catches.end();
    });
}

/// Removes the seeds of mutants that do not need one. Without `--update-seeds`, such a seed is an error.
void check_mutant_seeds(seeds_by_mutant& seeds, bool is_updated) {
    std::erase_if(seeds, [is_updated](const seeds_by_mutant::value_type& one) {
        const std::string& mutant = one.first;
        const bool exists = std::any_of(mutants, mutants + mutant_count,
                                        [&](const auto& other) { return other.name == mutant; });
        const bool is_useless = !exists || is_caught_by_scenario(mutant);
        if (is_useless && !is_updated) {
            throw std::runtime_error("mutant_seeds.txt: \"" + mutant + "\" " +
                                     (exists ? "is caught by a scenario" : "is no mutant") +
                                     ", so remove its line or use --update-seeds");
        }
        return is_useless;
    });
}

std::string to_text(const seeds_by_mutant& seeds) {
    std::ostringstream out;
    out << "# The seed and the profile that catch each mutant that no scenario names. Written by\n"
           "# test/simulation/run.sh --mutants --update-seeds\n";
    for (const auto& [mutant, known] : seeds) {
        out << mutant << ' ' << known.seed << ' ' << known.profile->name << '\n';
    }
    return out.str();
}

/// Runs each mutant until it is caught: first in the scenarios that name it. If there are none, in the schedule of its
/// known seed, and then in random schedules.
int run_mutants(const arguments& a, const profile* named) {
    check_scenarios();
    seeds_by_mutant seeds;
    if (!a.mutant_seeds.empty()) {
        seeds = read_mutant_seeds(a.mutant_seeds);
        check_mutant_seeds(seeds, a.update_seeds);
    }
    std::vector<std::string> searched;
    nlohmann::json report = nlohmann::json::array();
    std::size_t tried = 0;
    std::size_t survivors = 0;
    for (std::size_t i = 0; i != mutant_count; ++i) {
        if (std::string_view(mutants[i].name).find(a.mutant) == std::string::npos) {
            continue;
        }
        ++tried;
        active_mutant = static_cast<int>(i);
        const scenario_sight sight = look_at(mutants[i].name);
        std::ostringstream sign;  // What has caught it.
        std::uint64_t schedules = 0;
        if (sight.seeing != 0) {
            sign << "by scenarios: " << sight.seeing;
        } else {
            campaign c;
            c.profile = named;
            c.seeds = parse_seeds(a.seeds.empty() ? "1..10000" : a.seeds);
            c.most_failures = 1;
            const auto known = seeds.find(mutants[i].name);
            if (known != seeds.end()) {
                c.known_seeds = {known->second};
            }
            const campaign_result r = run_campaign(c);
            schedules = r.schedules;
            if (!r.failures.empty()) {
                const auto& [seed, profile, what] = r.failures.front();
                sign << "by seed " << seed << ": " << what.substr(0, what.find(':'));
                if (known == seeds.end() || schedules != 1) {
                    searched.emplace_back(mutants[i].name);
                    seeds[mutants[i].name] = {seed, find_profile(profile)};
                }
            }
        }
        const bool is_caught = !sign.view().empty();
        survivors += !is_caught || !sight.blind.empty() ? 1U : 0U;
        std::cout << (is_caught ? "caught   " : "SURVIVED ") << std::left << std::setw(34)
                  << mutants[i].name << std::right << ' ' << sign.view();
        for (const std::string_view name : sight.blind) {
            std::cout << "; NOT SEEN by " << name;
        }
        std::cout << '\n' << std::flush;
        report.push_back({{"mutant", mutants[i].name},
                          {"what", mutants[i].what},
                          {"caught", is_caught},
                          {"schedules", schedules},
                          {"seen_by_scenarios", sight.seeing},
                          {"not_seen_by", sight.blind}});
    }
    if (tried == 0) {
        throw std::runtime_error(
            "--mutant: \"" + a.mutant +
            "\" is in no mutant's name; test/simulation/mutants.cmake has them");
    }
    std::cout << tried - survivors << " of " << tried << " mutants caught\n";
    if (a.update_seeds) {
        write(a.mutant_seeds, to_text(seeds));
    } else if (!a.mutant_seeds.empty() && !searched.empty()) {
        std::cout << a.mutant_seeds << " IS OUT OF DATE: its seeds do not catch these mutants. "
                  << "Run with --update-seeds.\n";
        for (const std::string& name : searched) {
            std::cout << "  " << name << '\n';
        }
    }
    write(a.json, report.dump(2) + "\n");
    return survivors == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
    arguments a;
    CLI::App app("Runs the deterministic simulation of colock. See test/simulation/run.sh --help.");
    app.add_option("--seeds", a.seeds, "run the seeds A..B");
    app.add_option("--seed", a.seed, "run one schedule");
    app.add_option("--seconds", a.seconds, "run new seeds for so many seconds")
        ->check(CLI::PositiveNumber);
    app.add_option("--profile", a.profile, "use this profile for all seeds");
    app.add_option("--json", a.json, "write all figures to this file")->check(test::writable_file);
    app.add_option("--summary", a.summary, "write a copy of the output to this file")
        ->check(test::writable_file);
    app.add_option("--rule", only_rule, "count only violations of this rule");
    app.add_option("--failed-seeds", a.failed_seeds, "file with the seeds that have ever failed");
    app.add_option("--scenario", a.scenario, "run this scenario");
    app.add_flag("--scenarios", a.list_scenarios, "print the scenarios");
    app.add_flag("--trace", a.trace, "print a timeline");
    app.add_flag("--mutants", a.mutants, "run the mutants of the library");
    CLI::Option* mutant_seeds = app.add_option("--mutant-seeds", a.mutant_seeds,
                                               "with --mutants: file with the seeds to try first");
    app.add_flag("--update-seeds", a.update_seeds,
                 "with --mutants: write the seeds that a search has found to that file")
        ->needs(mutant_seeds);
    app.add_option("--mutant", a.mutant,
                   "with --mutants: run those whose names contain this. With --seed or --scenario: "
                   "run it with this mutant");
    app.add_flag("--profiles", a.list_profiles, "print the profiles");
    try {
        app.parse(argc, argv);
        const profile* named = a.profile.empty() ? nullptr : find_profile(a.profile);
        if (!a.profile.empty() && named == nullptr) {
            throw CLI::ValidationError("--profile", "there is no '" + a.profile + "'");
        }
        if (a.list_profiles) {
            for (const profile& p : profiles()) {
                std::cout << std::left << std::setw(14) << p.name << p.what << '\n';
            }
            return 0;
        }
        if (a.list_scenarios) {
            for (const scenario& s : scenarios()) {
                std::cout << std::left << std::setw(44) << s.name << s.what << '\n';
            }
            return 0;
        }
        if (a.mutants) {
            return run_mutants(a, named);
        }
        if (!a.mutant.empty()) {
            activate(a.mutant);
        }
        if (!a.scenario.empty()) {
            const scenario* s = find_scenario(a.scenario);
            if (s == nullptr) {
                throw CLI::ValidationError("--scenario", "there is no '" + a.scenario + "'");
            }
            return run_scenario(*s, a.trace);
        }
        if (a.trace && !a.seed) {
            throw CLI::ValidationError("--trace", "needs a --seed");
        }
        return a.seed ? run_one(a, named) : run_many(a, named);
    } catch (const CLI::ParseError& wrong) {
        const int status = app.exit(wrong);
        return status == 0 ? 0 : 2;
    }
}

}  // namespace
}  // namespace colock::simulation

int main(int argc, char** argv) {
    try {
        return colock::simulation::run(argc, argv);
    } catch (const std::exception& failure) {
        std::cerr << "simulation: " << failure.what() << '\n';
        return 1;
    }
}
