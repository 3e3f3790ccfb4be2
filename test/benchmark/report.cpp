#include "benchmark/report.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>

namespace colock::benchmark {
namespace {

/// A figure of a row that is reported and compared.
struct figure {
    const char* name;
    double (*of)(const row&);
};

constexpr figure cycles_per_second{"cycles_per_second",
                                   [](const row& r) { return r.figures.cycles_per_second; }};
constexpr figure p50{"p50_us", [](const row& r) { return r.figures.p50_us; }};
constexpr figure p99{"p99_us", [](const row& r) { return r.figures.p99_us; }};
constexpr figure client_cpu{"client_cpu_us_per_cycle",
                            [](const row& r) { return r.figures.client_cpu_us_per_cycle; }};
constexpr figure server_cpu{"server_cpu_us_per_cycle",
                            [](const row& r) { return r.server_cpu_us_per_cycle; }};
constexpr figure bytes_per_waiter{"bytes_per_waiter",
                                  [](const row& r) { return r.figures.bytes_per_waiter; }};
constexpr std::array figures{cycles_per_second, p50, p99, client_cpu, server_cpu};

struct summary {
    double minimum = 0;
    double median = 0;
    double maximum = 0;
};

/// Over those of the rows that are wanted; empty if there are none.
template <typename Wanted>
std::optional<summary> summarize_if(const std::vector<row>& rows, figure which, Wanted wanted) {
    std::vector<double> values;
    for (const auto& each : rows) {
        if (wanted(each)) {
            values.push_back(which.of(each));
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

/// Over the repetitions of an uncontended run.
std::optional<summary> summarize(const std::vector<row>& rows, std::string_view client,
                                 std::size_t instances, std::size_t concurrency, figure which) {
    return summarize_if(rows, which, [&](const row& each) {
        return each.workload == "uncontended" && each.client == client &&
               each.instances == instances && each.concurrency == concurrency;
    });
}

/// colock / raw of the medians.
std::optional<double> ratio(const std::vector<row>& rows, std::size_t instances,
                            std::size_t concurrency, figure which) {
    const auto raw = summarize(rows, "raw", instances, concurrency, which);
    const auto colock = summarize(rows, "colock", instances, concurrency, which);
    if (!raw || !colock || raw->median == 0) {
        return std::nullopt;
    }
    return colock->median / raw->median;
}

struct bound {
    const char* text;
    std::size_t concurrency;
    figure which;
    bool at_least;
    double limit;
};

constexpr std::size_t bound_instances = 5;
constexpr std::array bounds{
    bound{"throughput at 1000 tasks", 1000, cycles_per_second, true, 0.90},
    bound{"throughput at 64 tasks", 64, cycles_per_second, true, 0.80},
    bound{"p50 latency of one task", 1, p50, false, 1.25},
    bound{"client CPU per cycle at 1000 tasks", 1000, client_cpu, false, 2.0},
};

bool is_met(const bound& b, double measured_ratio) {
    return b.at_least ? measured_ratio >= b.limit : measured_ratio <= b.limit;
}

void print_cell(const summary& s, int width, int digits) {
    char spread[48];
    std::snprintf(spread, sizeof spread, "[%.*f-%.*f]", digits, s.minimum, digits, s.maximum);
    std::printf(" %*.*f %-*s", width, digits, s.median, 2 * width + 3, spread);
}

void print_client(const std::vector<row>& rows, const char* client, std::size_t instances,
                  std::size_t concurrency) {
    std::printf("%3zu %6zu  %-7s", instances, concurrency, client);
    const auto cell = [&](figure which, int width, int digits) {
        if (const auto s = summarize(rows, client, instances, concurrency, which)) {
            print_cell(*s, width, digits);
        }
    };
    cell(cycles_per_second, 7, 0);
    cell(p50, 7, 0);
    cell(p99, 7, 0);
    cell(client_cpu, 6, 1);
    cell(server_cpu, 6, 1);
    std::printf("\n");
}

void print_ratios(const std::vector<row>& rows, std::size_t instances, std::size_t concurrency) {
    std::printf("%3s %6s  %-7s", "", "", "ratio");
    for (const auto& which : figures) {
        const auto value = ratio(rows, instances, concurrency, which).value_or(0);
        const int width = &which >= &figures[3] ? 6 : 7;
        std::printf(" %*.2f %-*s", width, value, 2 * width + 3, "");
    }
    std::printf("\n");
}

nlohmann::json row_to_json(const row& r) {
    nlohmann::json object{
        {"workload", r.workload},     {"client", r.client},
        {"instances", r.instances},   {"concurrency", r.concurrency},
        {"repetition", r.repetition}, {"commands_per_cycle", r.commands_per_cycle}};
    if (r.workload == "hot_key_local") {
        object["handoff_limit"] = r.handoff_limit;
        object[bytes_per_waiter.name] = r.figures.bytes_per_waiter;
    }
    for (const auto& which : figures) {
        object[which.name] = which.of(r);
    }
    return object;
}

/// One for each configuration, in the order in which they were run.
nlohmann::json ratios_to_json(const std::vector<row>& rows) {
    auto ratios = nlohmann::json::array();
    for (const auto& first : rows) {
        if (first.client != "raw" || first.repetition != 1) {
            continue;
        }
        nlohmann::json object{{"workload", "uncontended"},
                              {"instances", first.instances},
                              {"concurrency", first.concurrency}};
        for (const auto& which : figures) {
            if (const auto value = ratio(rows, first.instances, first.concurrency, which)) {
                object[which.name] = *value;
            }
        }
        ratios.push_back(std::move(object));
    }
    return ratios;
}

}  // namespace

nlohmann::json to_json(const measured& m) {
    return {{"cycles_per_second", m.cycles_per_second},
            {"p50_us", m.p50_us},
            {"p99_us", m.p99_us},
            {"client_cpu_us_per_cycle", m.client_cpu_us_per_cycle},
            {"cycles", m.cycles},
            {"cycles_with_warm_up", m.cycles_with_warm_up},
            {"bytes_per_waiter", m.bytes_per_waiter}};
}

measured figures_from_json(const nlohmann::json& object) {
    measured m;
    object.at("cycles_per_second").get_to(m.cycles_per_second);
    object.at("p50_us").get_to(m.p50_us);
    object.at("p99_us").get_to(m.p99_us);
    object.at("client_cpu_us_per_cycle").get_to(m.client_cpu_us_per_cycle);
    object.at("cycles").get_to(m.cycles);
    object.at("cycles_with_warm_up").get_to(m.cycles_with_warm_up);
    object.at("bytes_per_waiter").get_to(m.bytes_per_waiter);
    return m;
}

void print_heading() {
    std::printf("workload uncontended: each task takes and releases a lock of its own.\n"
                "Medians [minimum-maximum] over the repetitions; CPU is user and kernel time.\n\n"
                "%3s %6s  %-7s %-25s %-25s %-25s %-22s %s\n",
                "N", "tasks", "client", "cycles per second", "p50 us", "p99 us",
                "client CPU us/cycle", "servers' CPU us/cycle");
    std::fflush(stdout);
}

void print_hot_key_heading() {
    std::printf(
        "\nworkload hot_key_local: all tasks of one client want one lock, and let go of it at "
        "once.\n"
        "Medians [minimum-maximum] over the repetitions; the wait is from one turn to the next.\n\n"
        "%-8s %6s  %-25s %-25s %-25s %-22s %s\n",
        "limit", "tasks", "leases per second", "p50 wait us", "p99 wait us", "client CPU us/lease",
        "bytes per waiter");
    std::fflush(stdout);
}

void print_progress(const std::string& client, const workload& work, int repetition,
                    int repetitions) {
    if (::isatty(STDOUT_FILENO) == 0) {
        return;
    }
    std::printf("%3zu %6zu  %-7s run %d of %d ...\r", work.instances.size(), work.concurrency,
                client.c_str(), repetition, repetitions);
    std::fflush(stdout);
}

void print_hot_key(const std::vector<row>& rows, std::size_t handoff_limit,
                   std::size_t concurrency) {
    std::printf("%-8zu %6zu ", handoff_limit, concurrency);
    const auto cell = [&](figure which, int width, int digits) {
        const auto s = summarize_if(rows, which, [&](const row& each) {
            return each.workload == "hot_key_local" && each.handoff_limit == handoff_limit &&
                   each.concurrency == concurrency;
        });
        if (s) {
            print_cell(*s, width, digits);
        }
    };
    cell(cycles_per_second, 7, 0);
    cell(p50, 7, 0);
    cell(p99, 7, 0);
    cell(client_cpu, 6, 2);
    cell(bytes_per_waiter, 6, 0);
    std::printf("\n");
    std::fflush(stdout);
}

void print_configuration(const std::vector<row>& rows, std::size_t instances,
                         std::size_t concurrency) {
    print_client(rows, "raw", instances, concurrency);
    print_client(rows, "colock", instances, concurrency);
    print_ratios(rows, instances, concurrency);
    std::fflush(stdout);
}

bool print_bounds(const std::vector<row>& rows) {
    bool all_met = true;
    std::printf("\nBounds, colock / raw with %zu instances:\n", bound_instances);
    for (const auto& each : bounds) {
        std::printf("  %-36s %s %.2f: ", each.text, each.at_least ? ">=" : "<=", each.limit);
        const auto value = ratio(rows, bound_instances, each.concurrency, each.which);
        if (!value) {
            std::printf("not measured\n");
            continue;
        }
        const bool met = is_met(each, *value);
        std::printf("%.3f  %s\n", *value, met ? "met" : "NOT MET");
        all_met = all_met && met;
    }
    std::fflush(stdout);
    return all_met;
}

nlohmann::json to_json(const std::vector<row>& rows, const nlohmann::json& machine) {
    auto list = nlohmann::json::array();
    for (const auto& each : rows) {
        list.push_back(row_to_json(each));
    }
    return {{"machine", machine}, {"rows", std::move(list)}, {"ratios", ratios_to_json(rows)}};
}

}  // namespace colock::benchmark
