// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/report.hpp"

#include <unistd.h>

#include <algorithm>
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
    const json* parameters;
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

/// Adds a set of bounds of the workload `overload` for each hardship.
void add_overload_bounds(std::vector<bound>& all) {
    struct hardship {
        const char* name;
        json parameters;
    };
    const auto with = [](std::size_t instances, std::size_t stopped, std::size_t far_ms,
                         double cores) {
        return json{
            {"instances", instances}, {"stopped", stopped}, {"far_ms", far_ms}, {"cores", cores}};
    };
    static const std::vector<hardship> hardships{
        {"1 server", with(1, 0, 0, 1)},
        {"3 servers", with(3, 0, 0, 1)},
        {"5 servers", with(5, 0, 0, 1)},
        {"5 servers, one stopped", with(5, 1, 0, 1)},
        {"5 servers, one 100 ms away", with(5, 0, 100, 1)},
        {"5 servers, half a core", with(5, 0, 0, 0.5)},
    };
    for (const hardship& one : hardships) {
        const std::string where = std::string(", ") + one.name;
        const auto of_many = [&](const char* figure) {
            return measure{"overload", &one.parameters, "100000", nullptr, figure};
        };
        measure throughput = of_many("cycles_per_second");
        throughput.base = "1000";
        all.push_back({"throughput at 100,000 tasks / 1,000" + where, throughput, true, 0.7, {}});
        all.push_back({"failed acquires" + where, of_many("failed"), false, 0, {}});
        all.push_back({"leases lost" + where, of_many("lost"), false, 0, {}});
        all.push_back(
            {"longest wait / mean" + where, of_many("longest_wait_of_mean"), false, 2, {}});
        all.push_back({"bytes per task" + where, of_many("bytes_per_task"), false, 2048, {}});
    }
}

std::vector<bound> all_bounds() {
    static const json one_1{{"instances", 1}, {"concurrency", 1}};
    static const json one_1000{{"instances", 1}, {"concurrency", 1000}};
    static const json one_full{{"instances", 1}, {"permits", 1024}, {"waiters", 64}};
    static const json five_full{{"instances", 5}, {"permits", 1024}, {"waiters", 64}};
    static const json five_1{{"instances", 5}, {"concurrency", 1}};
    static const json five_64{{"instances", 5}, {"concurrency", 64}};
    static const json five_1000{{"instances", 5}, {"concurrency", 1000}};
    static const json always_passed_on{
        {"instances", 5}, {"concurrency", 1000}, {"handoff_limit", 100'000}};
    static const json tasks_16{{"processes", 1}, {"concurrency", 16}, {"hold_ms", 5}};
    static const json processes_16{{"processes", 16}, {"concurrency", 1}, {"hold_ms", 5}};
    static const json many_leases{{"leases", 100'000}};
    static const json five_paced{{"instances", 5}, {"concurrency", 1}, {"pause_ms", 5}};
    std::vector<bound> all{
        {"throughput at 1000 tasks, colock / raw",
         {"uncontended", &five_1000, "colock", "raw", "cycles_per_second"},
         true,
         1.7,
         {}},
        {"throughput at 64 tasks, colock / raw",
         {"uncontended", &five_64, "colock", "raw", "cycles_per_second"},
         true,
         1.7,
         {}},
        {"p50 latency of one task, colock / raw",
         {"uncontended", &five_1, "colock", "raw", "p50_us"},
         false,
         1.08,
         floor{"Boost.Redis", {"uncontended", &five_1, "boost_redis", "raw", "p50_us"}}},
        {"client CPU per cycle of one task, colock / raw",
         {"uncontended", &five_1, "colock", "raw", "client_cpu_us_per_cycle"},
         false,
         1.12,
         floor{"Boost.Redis",
               {"uncontended", &five_1, "boost_redis", "raw", "client_cpu_us_per_cycle"}}},
        {"allocations per cycle of one task",
         {"uncontended", &five_1, "colock", nullptr, "allocations_per_cycle"},
         false,
         1,
         floor{"Boost.Redis",
               {"uncontended", &five_1, "boost_redis", nullptr, "allocations_per_cycle"}}},
        {"client CPU per cycle at 1000 tasks, colock / raw",
         {"uncontended", &five_1000, "colock", "raw", "client_cpu_us_per_cycle"},
         false,
         1.4,
         {}},
        {"leases a second of a hot key, handed off for as long as may be",
         {"hot_key_local", &always_passed_on, "colock", nullptr, "cycles_per_second"},
         true,
         500'000,
         {}},
        {"bytes per waiter",
         {"hot_key_local", &always_passed_on, "colock", nullptr, "bytes_per_waiter"},
         false,
         512,
         {}},
        {"gap, 16 tasks of one process, us",
         {"hot_key_hold", &tasks_16, "colock", nullptr, "gap_p50_us"},
         false,
         350,
         {}},
        {"p99 wait / fair share, 16 tasks of one process",
         {"hot_key_hold", &tasks_16, "colock", nullptr, "wait_p99_of_fair_share"},
         false,
         1.2,
         {}},
        {"client CPU s per 10,000, 16 tasks of one process",
         {"hot_key_hold", &tasks_16, "colock", nullptr, "client_cpu_s_per_10000"},
         false,
         4,
         {}},
        {"gap, 16 processes, us",
         {"hot_key_hold", &processes_16, "colock", nullptr, "gap_p50_us"},
         false,
         350,
         floor{"Boost.Redis alone, to take it",
               {"paced", &five_paced, "boost_redis", nullptr, "p50_us"}}},
        {"p99 wait / fair share, 16 processes",
         {"hot_key_hold", &processes_16, "colock", nullptr, "wait_p99_of_fair_share"},
         false,
         2,
         {}},
        {"longest wait / fair share, 16 processes",
         {"hot_key_hold", &processes_16, "colock", nullptr, "longest_wait_of_fair_share"},
         false,
         10,
         {}},
        {"client CPU s per 10,000, 16 processes",
         {"hot_key_hold", &processes_16, "colock", nullptr, "client_cpu_s_per_10000"},
         false,
         4,
         floor{"Boost.Redis alone",
               {"paced", &five_paced, "boost_redis", nullptr, "client_cpu_us_per_cycle"},
               10'000 / 1e6}},
        {"CPU of a watchdog over 100,000 leases, share of a core",
         {"watchdog", &many_leases, "colock", nullptr, "client_cpu_share"},
         false,
         0.10,
         {}},
        {"bytes per lease",
         {"watchdog", &many_leases, "colock", nullptr, "bytes_per_lease"},
         false,
         1024,
         {}},
        {"renewals within 100 ms / mean",
         {"watchdog", &many_leases, "colock", nullptr, "burst"},
         false,
         3,
         {}},
        {"leases lost", {"watchdog", &many_leases, "colock", nullptr, "lost"}, false, 0, {}},
        {"throughput, two of five stopped, colock / raw",
         {"slow_minority", &five_64, "stopped", "stopped", "cycles_per_second",
          "slow_minority_raw"},
         true,
         1,
         {}},
        {"p99, two of five stopped, colock / raw",
         {"slow_minority", &five_64, "stopped", "stopped", "p99_us", "slow_minority_raw"},
         false,
         1.1,
         {}},
        {"throughput, two of five 200 ms away, colock / raw",
         {"slow_minority", &five_64, "delayed", "delayed", "cycles_per_second",
          "slow_minority_raw"},
         true,
         1,
         {}},
        {"p99, two of five 200 ms away, colock / raw",
         {"slow_minority", &five_64, "delayed", "delayed", "p99_us", "slow_minority_raw"},
         false,
         1.1,
         {}},
        {"servers' CPU per cycle, native / script",
         {"native_release", &five_1000, "native", "script", "server_cpu_us_per_cycle"},
         false,
         0.70,
         {}},
        {"writers at 1000 tasks, 1 server, shared_mutex / mutex",
         {"shared_uncontended", &one_1000, "write", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"readers at 1000 tasks, 1 server, shared_mutex / mutex",
         {"shared_uncontended", &one_1000, "read", "mutex", "cycles_per_second"},
         true,
         0.7,
         {}},
        {"writers at 1000 tasks, 5 servers, shared_mutex / mutex",
         {"shared_uncontended", &five_1000, "write", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"readers at 1000 tasks, 5 servers, shared_mutex / mutex",
         {"shared_uncontended", &five_1000, "read", "mutex", "cycles_per_second"},
         true,
         0.7,
         {}},
        {"throughput at 1 task, 1 server, reentrant_mutex / mutex",
         {"reentrant_uncontended", &one_1, "reentrant", "mutex", "cycles_per_second"},
         true,
         0.9,
         {}},
        {"throughput at 1000 tasks, 1 server, reentrant_mutex / mutex",
         {"reentrant_uncontended", &one_1000, "reentrant", "mutex", "cycles_per_second"},
         true,
         0.9,
         {}},
        {"throughput at 1000 tasks, 5 servers, reentrant_mutex / mutex",
         {"reentrant_uncontended", &five_1000, "reentrant", "mutex", "cycles_per_second"},
         true,
         0.9,
         {}},
        {"sets of 4 names a second at 1000 tasks, 1 server, multi_mutex / mutex",
         {"multi_uncontended", &one_1000, "4 names", "mutex", "cycles_per_second"},
         true,
         0.35,
         {}},
        {"sets of 4 names a second at 1000 tasks, 5 servers, multi_mutex / mutex",
         {"multi_uncontended", &five_1000, "4 names", "mutex", "cycles_per_second"},
         true,
         0.35,
         {}},
        {"throughput at 1000 tasks, 1 server, versioned::compare_exchange / mutex",
         {"versioned_uncontended", &one_1000, "compare_exchange", "mutex", "cycles_per_second"},
         true,
         1,
         {}},
        {"throughput at 1000 tasks, 1 server, mutex with a binding order / mutex",
         {"fifo_uncontended", &one_1000, "fifo", "mutex", "cycles_per_second"},
         true,
         0.6,
         {}},
        {"throughput at 1000 tasks, 1 server, once that finds a result / mutex",
         {"once_uncontended", &one_1000, "once, found", "mutex", "cycles_per_second"},
         true,
         1,
         {}},
        {"throughput at 1000 tasks, 5 servers, once that finds a result / mutex",
         {"once_uncontended", &five_1000, "once, found", "mutex", "cycles_per_second"},
         true,
         1,
         {}},
        {"entries a second by try_reenter",
         {"reentrant_entries", &one_1, "try_reenter", nullptr, "entries_per_second"},
         true,
         5'000'000,
         {}},
        {"shared leases a second of a hot name, inside one process",
         {"shared_hot_read", &five_1000, "read", nullptr, "cycles_per_second"},
         true,
         1'000'000,
         {}},
        {"one permit at 1000 tasks, 1 server, semaphore / mutex",
         {"semaphore_uncontended", &one_1000, "one", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"16 free permits at 1000 tasks, 1 server, semaphore / mutex",
         {"semaphore_uncontended", &one_1000, "free", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"16 permits, half full at 1000 tasks, 1 server, semaphore / mutex",
         {"semaphore_uncontended", &one_1000, "half full", "mutex", "cycles_per_second"},
         true,
         0.6,
         {}},
        {"one permit at 1000 tasks, 5 servers, semaphore / mutex",
         {"semaphore_uncontended", &five_1000, "one", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"16 free permits at 1000 tasks, 5 servers, semaphore / mutex",
         {"semaphore_uncontended", &five_1000, "free", "mutex", "cycles_per_second"},
         true,
         0.8,
         {}},
        {"16 permits, half full at 1000 tasks, 5 servers, semaphore / mutex",
         {"semaphore_uncontended", &five_1000, "half full", "mutex", "cycles_per_second"},
         true,
         0.6,
         {}},
        {"release to grant of 1,024 permits, 1 server, us",
         {"semaphore_full", &one_full, "colock", nullptr, "grant_p50_us"},
         false,
         3000,
         {}},
        {"CPU of a server with 1,024 permits, 1 server, share of a core",
         {"semaphore_full", &one_full, "colock", nullptr, "server_cpu_share"},
         false,
         0.5,
         {}},
        {"release to grant of 1,024 permits, 5 servers, us",
         {"semaphore_full", &five_full, "colock", nullptr, "grant_p50_us"},
         false,
         3000,
         {}},
        {"CPU of a server with 1,024 permits, 5 servers, share of a core",
         {"semaphore_full", &five_full, "colock", nullptr, "server_cpu_share"},
         false,
         0.5,
         {}},
    };
    add_overload_bounds(all);
    return all;
}

const std::vector<bound>& bounds() {
    static const std::vector<bound> all = all_bounds();
    return all;
}

std::optional<double> measured_for(const measure& m, const std::vector<row>& rows) {
    if (m.base != nullptr) {
        const char* const base = m.workload_of_base == nullptr ? m.workload : m.workload_of_base;
        return ratio(summarize(rows, m.workload, m.client, *m.parameters, m.figure),
                     summarize(rows, base, m.base, *m.parameters, m.figure));
    }
    const auto s = summarize(rows, m.workload, m.client, *m.parameters, m.figure);
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
        for (const auto& [name, value] : first.figures.items()) {
            const auto median_of = [&](std::string_view client) {
                return summarize(rows, first.workload, client, first.parameters, name);
            };
            if (const auto of_medians = ratio(median_of("colock"), median_of("raw"))) {
                object[name] = *of_medians;
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
