// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

namespace colock::benchmark {
namespace {

using nlohmann::json;

struct summary {
    double minimum = 0;
    double median = 0;
    double maximum = 0;
};

bool is_of(const row& r, std::string_view workload, std::string_view client,
           const json& parameters) {
    return r.workload == workload && r.client == client && r.parameters == parameters;
}

/// Returns the summary over the repetitions. Empty if there are no such rows, or none has this figure.
std::optional<summary> summarize(const std::vector<row>& rows, std::string_view workload,
                                 std::string_view client, const json& parameters,
                                 const std::string& figure) {
    std::vector<double> values;
    for (const row& each : rows) {
        if (is_of(each, workload, client, parameters) && each.figures.contains(figure)) {
            values.push_back(each.figures[figure].get<double>());
        }
    }
    if (values.empty()) {
        return std::nullopt;
    }
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    const auto median =
        values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return summary{values.front(), median, values.back()};
}

/// Returns the ratio of the medians.
std::optional<double> ratio(const std::optional<summary>& numerator,
                            const std::optional<summary>& denominator) {
    if (!numerator || !denominator || denominator->median < 0.01) {
        return std::nullopt;
    }
    return numerator->median / denominator->median;
}

/// Returns the clients that have such rows, in the order in which they ran.
std::vector<std::string> clients_of(const std::vector<row>& rows, const table& t,
                                    const json& parameters) {
    std::vector<std::string> result;
    for (const row& each : rows) {
        if (is_of(each, t.workload, each.client, parameters) &&
            std::ranges::find(result, each.client) == result.end()) {
            result.push_back(each.client);
        }
    }
    return result;
}

constexpr int parameter_width = 11;
constexpr int client_width = 11;

/// Returns the width of a median and its spread.
int cell_width(const column& c) {
    return c.width + 1 + 2 * c.width + 3;
}

void print_parameters(const table& t, const json& parameters) {
    for (const std::string& name : t.parameters) {
        std::printf("%*.0f ", parameter_width, parameters.at(name).get<double>());
    }
}

/// A figure of one client in one configuration, or its ratio to that of another client.
struct measure {
    const char* workload;
    json parameters;
    const char* client;
    const char* base;  ///< nullptr: the figure itself, not a ratio.
    const char* figure;
    const char* workload_of_base = nullptr;  ///< Set if the base is in another workload.
};

/// The same measure for a program that does less than colock. It shows what remains without colock's own
/// work.
struct floor {
    const char* whose;
    measure of;
    double factor = 1;  ///< Converts the figure to the unit of the measure.
};

struct bound {
    std::string text;
    measure of;
    bool at_least;
    double limit;
    std::optional<floor> beside;
};

bound at_least(double limit, std::string text, measure of) {
    return {std::move(text), std::move(of), true, limit, {}};
}

bound at_most(double limit, std::string text, measure of, std::optional<floor> beside = {}) {
    return {std::move(text), std::move(of), false, limit, std::move(beside)};
}

json size(std::size_t instances, std::size_t tasks) {
    return {{"instances", instances}, {"concurrency", tasks}};
}

std::string servers_text(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " server" : " servers");
}

/// Adds a set of bounds of the workload `overload` for each hardship.
void add_overload_bounds(std::vector<bound>& all) {
    struct hardship {
        std::string name;
        json parameters;
    };
    const auto with = [](std::size_t instances, std::size_t stopped, std::size_t far_ms,
                         double cores) {
        return json{
            {"instances", instances}, {"stopped", stopped}, {"far_ms", far_ms}, {"cores", cores}};
    };
    const std::vector<hardship> hardships{
        {"1 server", with(1, 0, 0, 1)},
        {"3 servers", with(3, 0, 0, 1)},
        {"5 servers", with(5, 0, 0, 1)},
        {"5 servers, one stopped", with(5, 1, 0, 1)},
        {"5 servers, one 100 ms away", with(5, 0, 100, 1)},
        {"5 servers, half a core", with(5, 0, 0, 0.5)},
    };
    for (const hardship& one : hardships) {
        const std::string where = ", " + one.name;
        const auto of_many = [&](const char* figure, const char* base = nullptr) {
            return measure{"overload", one.parameters, "100000", base, figure};
        };
        all.insert(all.end(),
                   {at_least(0.7, "throughput at 100,000 tasks / 1,000" + where,
                             of_many("cycles_per_second", "1000")),
                    at_most(0, "failed acquires" + where, of_many("failed")),
                    at_most(0, "leases lost" + where, of_many("lost")),
                    at_most(2, "longest wait / mean" + where, of_many("longest_wait_of_mean")),
                    at_most(2048, "bytes per task" + where, of_many("bytes_per_task"))});
    }
}

/// Adds a set of bounds of the workload `outage` for each kind of instance.
void add_outage_bounds(std::vector<bound>& all) {
    struct disaster {
        std::string name;
        json parameters;
        double most_ms;
    };
    const auto with = [](int instances, int sentinel, int cluster, int busy) {
        return json{{"instances", instances},
                    {"sentinel", sentinel},
                    {"cluster", cluster},
                    {"busy", busy},
                    {"stops", 1}};
    };
    const std::vector<disaster> disasters{
        {"3 servers", with(3, 0, 0, 0), 6000},
        {"3 servers, 8 busy loops", with(3, 0, 0, 8), 12'000},
        {"a Sentinel", with(1, 1, 0, 0), 6000},
        {"a Cluster", with(1, 0, 1, 0), 6000},
    };
    for (const disaster& one : disasters) {
        const std::string where = " after an outage, " + one.name;
        const auto of = [&](const char* figure) {
            return measure{"outage", one.parameters, "80000", nullptr, figure};
        };
        all.insert(all.end(),
                   {at_most(one.most_ms, "ms until the rate is back" + where, of("back_ms")),
                    at_most(2, "attempts per acquire" + where, of("attempts_per_acquire")),
                    at_most(0, "attempts without a quorum" + where, of("attempts_without_quorum")),
                    at_most(0, "leases lost" + where, of("lost")),
                    at_most(2, "memory / before" + where, of("memory_ratio"))});
    }
}

/// A throughput that is compared with that of a mutex, at 1,000 tasks.
struct against_mutex {
    const char* what;
    const char* client;
    const char* of;
    double limit;
};

/// Adds bounds for each number of servers.
void add_mutex_bounds(std::vector<bound>& all, const char* workload,
                      const std::vector<std::size_t>& servers,
                      const std::vector<against_mutex>& comparisons) {
    for (const std::size_t count : servers) {
        for (const against_mutex& one : comparisons) {
            const std::string where = " at 1000 tasks, " + servers_text(count) + ", ";
            all.push_back(
                at_least(one.limit, one.what + where + one.of + " / mutex",
                         {workload, size(count, 1000), one.client, "mutex", "cycles_per_second"}));
        }
    }
}

/// Adds the bounds of the workloads that compare colock with the raw client.
void add_raw_bounds(std::vector<bound>& all) {
    const auto of = [](const char* client, const char* base, std::size_t tasks,
                       const char* figure) {
        return measure{"uncontended", size(5, tasks), client, base, figure};
    };
    const auto library = [&](const char* base, const char* figure) {
        return floor{"Boost.Redis", of("boost_redis", base, 1, figure)};
    };
    const char* const cpu = "client_cpu_us_per_cycle";
    const char* const allocations = "allocations_per_cycle";
    all.insert(all.end(),
               {at_least(1.7, "throughput at 1000 tasks, colock / raw",
                         of("colock", "raw", 1000, "cycles_per_second")),
                at_least(1.7, "throughput at 64 tasks, colock / raw",
                         of("colock", "raw", 64, "cycles_per_second")),
                at_most(1.08, "p50 latency of one task, colock / raw",
                        of("colock", "raw", 1, "p50_us"), library("raw", "p50_us")),
                at_most(1.12, "client CPU per cycle of one task, colock / raw",
                        of("colock", "raw", 1, cpu), library("raw", cpu)),
                at_most(1, "allocations per cycle of one task",
                        of("colock", nullptr, 1, allocations), library(nullptr, allocations)),
                at_most(1.4, "client CPU per cycle at 1000 tasks, colock / raw",
                        of("colock", "raw", 1000, cpu))});
}

/// Adds the bounds of the workloads with a hot key.
void add_hot_key_bounds(std::vector<bound>& all) {
    const auto local = [](const char* figure) {
        json parameters = size(5, 1000);
        parameters["handoff_limit"] = 100'000;
        return measure{"hot_key_local", parameters, "colock", nullptr, figure};
    };
    all.push_back(at_least(500'000,
                           "leases a second of a hot key, handed off for as long as may be",
                           local("cycles_per_second")));
    all.push_back(at_most(512, "bytes per waiter", local("bytes_per_waiter")));

    const auto held_by = [](std::size_t processes, std::size_t tasks, const char* figure) {
        return measure{"hot_key_hold",
                       {{"processes", processes}, {"concurrency", tasks}, {"hold_ms", 5}},
                       "colock",
                       nullptr,
                       figure};
    };
    const auto library = [](const char* what, const char* figure, double factor) {
        json parameters = size(5, 1);
        parameters["pause_ms"] = 5;
        return floor{what, {"paced", parameters, "boost_redis", nullptr, figure}, factor};
    };
    const std::string tasks = "16 tasks of one process";
    const std::string processes = "16 processes";
    const char* const p99 = "wait_p99_of_fair_share";
    const char* const cpu = "client_cpu_s_per_10000";
    all.insert(all.end(),
               {at_most(350, "gap, " + tasks + ", us", held_by(1, 16, "gap_p50_us")),
                at_most(1.2, "p99 wait / fair share, " + tasks, held_by(1, 16, p99)),
                at_most(4, "client CPU s per 10,000, " + tasks, held_by(1, 16, cpu)),
                at_most(350, "gap, " + processes + ", us", held_by(16, 1, "gap_p50_us"),
                        library("Boost.Redis alone, to take it", "p50_us", 1)),
                at_most(2, "p99 wait / fair share, " + processes, held_by(16, 1, p99)),
                at_most(10, "longest wait / fair share, " + processes,
                        held_by(16, 1, "longest_wait_of_fair_share")),
                at_most(4, "client CPU s per 10,000, " + processes, held_by(16, 1, cpu),
                        library("Boost.Redis alone", "client_cpu_us_per_cycle", 10'000 / 1e6))});
}

/// Adds the bounds of a client that holds 100,000 leases.
void add_watchdog_bounds(std::vector<bound>& all) {
    const auto of = [](const char* figure) {
        return measure{"watchdog", {{"leases", 100'000}}, "colock", nullptr, figure};
    };
    all.insert(all.end(), {at_most(0.10, "CPU of a watchdog over 100,000 leases, share of a core",
                                   of("client_cpu_share")),
                           at_most(1024, "bytes per lease", of("bytes_per_lease")),
                           at_most(3, "renewals within 100 ms / mean", of("burst")),
                           at_most(0, "leases lost", of("lost"))});
}

/// Adds the bounds with two slow servers of five.
void add_slow_minority_bounds(std::vector<bound>& all) {
    for (const auto& [client, where] : {std::pair("stopped", "two of five stopped"),
                                        std::pair("delayed", "two of five 200 ms away")}) {
        const std::string rest = std::string(", ") + where + ", colock / raw";
        const auto of = [client = client](const char* figure) {
            return measure{"slow_minority", size(5, 64), client,
                           client,          figure,      "slow_minority_raw"};
        };
        all.push_back(at_least(1, "throughput" + rest, of("cycles_per_second")));
        all.push_back(at_most(1.1, "p99" + rest, of("p99_us")));
    }
}

/// Adds the bounds of a semaphore whose permits are all out.
void add_full_semaphore_bounds(std::vector<bound>& all) {
    for (const std::size_t count : {1U, 5U}) {
        const auto of = [&](const char* figure) {
            return measure{"semaphore_full",
                           {{"instances", count}, {"permits", 1024}, {"waiters", 64}},
                           "colock",
                           nullptr,
                           figure};
        };
        all.push_back(at_most(3000,
                              "release to grant of 1,024 permits, " + servers_text(count) + ", us",
                              of("grant_p50_us")));
        all.push_back(at_most(
            0.5, "CPU of a server with 1,024 permits, " + servers_text(count) + ", share of a core",
            of("server_cpu_share")));
    }
}

std::vector<bound> all_bounds() {
    std::vector<bound> all;
    add_raw_bounds(all);
    add_hot_key_bounds(all);
    add_watchdog_bounds(all);
    add_slow_minority_bounds(all);
    all.push_back(
        at_most(0.70, "servers' CPU per cycle, native / script",
                {"native_release", size(5, 1000), "native", "script", "server_cpu_us_per_cycle"}));
    add_mutex_bounds(
        all, "shared_uncontended", {1, 5},
        {{"writers", "write", "shared_mutex", 0.8}, {"readers", "read", "shared_mutex", 0.7}});
    all.push_back(
        at_least(0.9, "throughput at 1 task, 1 server, reentrant_mutex / mutex",
                 {"reentrant_uncontended", size(1, 1), "reentrant", "mutex", "cycles_per_second"}));
    add_mutex_bounds(all, "reentrant_uncontended", {1, 5},
                     {{"throughput", "reentrant", "reentrant_mutex", 0.9}});
    add_mutex_bounds(all, "multi_uncontended", {1, 5},
                     {{"sets of 4 names a second", "4 names", "multi_mutex", 0.35}});
    add_mutex_bounds(all, "versioned_uncontended", {1},
                     {{"throughput", "compare_exchange", "versioned::compare_exchange", 1}});
    add_mutex_bounds(all, "fifo_uncontended", {1},
                     {{"throughput", "fifo", "mutex with a binding order", 0.6}});
    add_mutex_bounds(all, "once_uncontended", {1, 5},
                     {{"throughput", "once, found", "once that finds a result", 1}});
    all.push_back(
        at_least(5'000'000, "entries a second by try_reenter",
                 {"reentrant_entries", size(1, 1), "try_reenter", nullptr, "entries_per_second"}));
    all.push_back(
        at_least(1'000'000, "shared leases a second of a hot name, inside one process",
                 {"shared_hot_read", size(5, 1000), "read", nullptr, "cycles_per_second"}));
    add_mutex_bounds(all, "semaphore_uncontended", {1, 5},
                     {{"one permit", "one", "semaphore", 0.8},
                      {"16 free permits", "free", "semaphore", 0.8},
                      {"16 permits, half full", "half full", "semaphore", 0.6}});
    add_full_semaphore_bounds(all);
    add_overload_bounds(all);
    add_outage_bounds(all);
    return all;
}

const std::vector<bound>& bounds() {
    static const std::vector<bound> all = all_bounds();
    return all;
}

std::optional<double> measured_for(const measure& m, const std::vector<row>& rows) {
    if (m.base != nullptr) {
        const char* const base = m.workload_of_base == nullptr ? m.workload : m.workload_of_base;
        return ratio(summarize(rows, m.workload, m.client, m.parameters, m.figure),
                     summarize(rows, base, m.base, m.parameters, m.figure));
    }
    const auto s = summarize(rows, m.workload, m.client, m.parameters, m.figure);
    return s ? std::optional(s->median) : std::nullopt;
}

std::optional<double> measured_for(const std::optional<floor>& f, const std::vector<row>& rows) {
    const auto value = f ? measured_for(f->of, rows) : std::nullopt;
    return value ? std::optional(*value * f->factor) : std::nullopt;
}

bool is_met(const bound& b, double value) {
    return b.at_least ? value >= b.limit : value <= b.limit;
}

json row_to_json(const row& r) {
    json object = r.parameters;
    object["workload"] = r.workload;
    object["client"] = r.client;
    object["repetition"] = r.repetition;
    object.update(r.figures);
    return object;
}

/// Returns one entry for each client in each configuration, in the order in which they ran.
json medians_to_json(const std::vector<row>& rows) {
    json list = json::array();
    for (const row& first : rows) {
        if (first.repetition != 1) {
            continue;
        }
        json object = first.parameters;
        object["workload"] = first.workload;
        object["client"] = first.client;
        for (const auto& [name, value] : first.figures.items()) {
            if (const auto s =
                    summarize(rows, first.workload, first.client, first.parameters, name)) {
                object[name] = {
                    {"minimum", s->minimum}, {"median", s->median}, {"maximum", s->maximum}};
            }
        }
        list.push_back(std::move(object));
    }
    return list;
}

/// Returns the ratios of colock's medians to those of `raw`. There is one for each configuration that both
/// have run, in that order.
json ratios_to_json(const std::vector<row>& rows) {
    json list = json::array();
    for (const row& first : rows) {
        if (first.client != "raw" || first.repetition != 1) {
            continue;
        }
        json object = first.parameters;
        object["workload"] = first.workload;
        for (const auto& figure : first.figures.items()) {
            const auto median_of = [&](std::string_view client) {
                return summarize(rows, first.workload, client, first.parameters, figure.key());
            };
            if (const auto of_medians = ratio(median_of("colock"), median_of("raw"))) {
                object[figure.key()] = *of_medians;
            }
        }
        list.push_back(std::move(object));
    }
    return list;
}

json bounds_to_json(const std::vector<row>& rows) {
    json list = json::array();
    for (const bound& each : bounds()) {
        if (const auto value = measured_for(each.of, rows)) {
            json object{{"text", each.text},
                        {each.at_least ? "at_least" : "at_most", each.limit},
                        {"measured", *value},
                        {"met", is_met(each, *value)}};
            if (const auto least = measured_for(each.beside, rows)) {
                object["beside"] = {{"whose", each.beside->whose}, {"measured", *least}};
            }
            list.push_back(std::move(object));
        }
    }
    return list;
}

}  // namespace

void print_heading(const table& t) {
    std::printf("\nworkload %s: %s\nMedians [minimum-maximum] over the repetitions.\n\n",
                t.workload.c_str(), t.description.c_str());
    for (const std::string& name : t.parameters) {
        std::printf("%*s ", parameter_width, name.substr(0, parameter_width).c_str());
    }
    std::printf(" %-*s", client_width, "client");
    for (const column& c : t.columns) {
        std::printf(" %-*s", cell_width(c), c.heading.c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
}

void print_progress(const table& t, const json& parameters, const std::string& client,
                    int repetition, int repetitions) {
    if (::isatty(STDOUT_FILENO) == 0) {
        return;
    }
    print_parameters(t, parameters);
    std::printf(" %-*s run %d of %d ...\r", client_width, client.c_str(), repetition, repetitions);
    std::fflush(stdout);
}

void print_group(const table& t, const std::vector<row>& rows, const json& parameters) {
    for (const std::string& client : clients_of(rows, t, parameters)) {
        print_parameters(t, parameters);
        std::printf(" %-*s", client_width, client.c_str());
        for (const column& c : t.columns) {
            const auto s = summarize(rows, t.workload, client, parameters, c.figure);
            char spread[48] = "";
            if (s) {
                std::snprintf(spread, sizeof spread, "[%.*f-%.*f]", c.digits, s->minimum, c.digits,
                              s->maximum);
                std::printf(" %*.*f %-*s", c.width, c.digits, s->median, 2 * c.width + 3, spread);
            } else {
                std::printf(" %*s", cell_width(c), "");
            }
        }
        std::printf("\n");
        if (t.base.empty() || client == t.base) {
            continue;
        }
        std::printf("%*s %-*s", (parameter_width + 1) * static_cast<int>(t.parameters.size()), "",
                    client_width, "ratio");
        for (const column& c : t.columns) {
            const auto value = ratio(summarize(rows, t.workload, client, parameters, c.figure),
                                     summarize(rows, t.workload, t.base, parameters, c.figure));
            char text[32] = "-";
            if (value) {
                std::snprintf(text, sizeof text, "%.2f", *value);
            }
            std::printf(" %*s %*s", c.width, text, 2 * c.width + 3, "");
        }
        std::printf("\n");
    }
    std::fflush(stdout);
}

bool print_bounds(const std::vector<row>& rows) {
    bool all_met = true;
    std::printf("\nBounds:\n");
    for (const bound& each : bounds()) {
        if (const auto value = measured_for(each.of, rows)) {
            const bool met = is_met(each, *value);
            const int digits = each.limit < 10 ? 2 : 0;
            const int more_digits = digits == 0 ? 0 : 3;
            std::printf("  %-58s %s %.*f: %.*f  %s", each.text.c_str(),
                        each.at_least ? ">=" : "<=", digits, each.limit, more_digits, *value,
                        met ? "met" : "NOT MET");
            if (const auto least = measured_for(each.beside, rows)) {
                std::printf("  (%s: %.*f)", each.beside->whose, more_digits, *least);
            }
            std::printf("\n");
            all_met = all_met && met;
        }
    }
    std::fflush(stdout);
    return all_met;
}

json to_json(const std::vector<row>& rows, const json& machine) {
    json list = json::array();
    for (const row& each : rows) {
        list.push_back(row_to_json(each));
    }
    return {{"machine", machine},
            {"rows", std::move(list)},
            {"medians", medians_to_json(rows)},
            {"ratios", ratios_to_json(rows)},
            {"bounds", bounds_to_json(rows)}};
}

}  // namespace colock::benchmark
