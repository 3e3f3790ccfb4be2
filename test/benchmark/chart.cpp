// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

namespace colock::benchmark {
namespace {

using nlohmann::json;

/// Returns the value with thousands separators, as in "1,234,567", and with `digits` decimals.
std::string number(double value, int digits = 0) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    std::string result = text;
    for (auto at = static_cast<int>(result.find('.') == std::string::npos ? result.size()
                                                                          : result.find('.')) -
                   3;
         at > 0; at -= 3) {
        result.insert(static_cast<std::size_t>(at), ",");
    }
    return result;
}

std::string integer(const json& value) {
    return number(value.get<double>());
}

/// Returns "1 task" or "64 tasks".
std::string count_of(const json& value, const std::string& what) {
    return integer(value) + " " + what + (value == 1 ? "" : "s");
}

std::vector<json> medians_of(const json& report, std::string_view workload) {
    std::vector<json> result;
    for (const json& each : report.at("medians")) {
        if (each.at("workload") == workload) {
            result.push_back(each);
        }
    }
    return result;
}

/// Writes SVG elements.
class drawing {
public:
    drawing(double width, double height) {
        text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width) + " " +
                number(height) +
                "\" font-family=\"sans-serif\" font-size=\"13\">\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    }

    void box(double x, double y, double width, double height, std::string_view colour) {
        element("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", {x, y, width, height},
                " fill=\"" + std::string(colour) + "\"/>\n");
    }
    void line(double x1, double y1, double x2, double y2, std::string_view colour) {
        element("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"", {x1, y1, x2, y2},
                " stroke=\"" + std::string(colour) + "\" stroke-width=\"1.2\"/>\n");
    }
    void text(double x, double y, std::string_view anchor, const std::string& words) {
        char start[96];
        std::snprintf(start, sizeof start, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
        text_ += start;
        text_ += " text-anchor=\"" + std::string(anchor) + "\">" + words + "</text>\n";
    }

    [[nodiscard]] std::string finish() const { return text_ + "</svg>\n"; }

private:
    struct four {
        double a, b, c, d;
    };
    void element(const char* format, const four& v, const std::string& rest) {
        char start[160];
        std::snprintf(start, sizeof start, format, v.a, v.b, v.c, v.d);
        text_ += start + rest;
    }

    std::string text_;
};

/// Returns the smallest of 1, 2, 5, 10, 20 ... that covers the value in ten ticks.
double tick_for(double greatest) {
    const double power = std::pow(10, std::floor(std::log10(greatest / 10)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power * 10 >= greatest) {
            return factor * power;
        }
    }
    return 10 * power;
}

std::string machine_in_words(const json& machine) {
    return machine.at("cpu").get<std::string>() + ", " + integer(machine.at("cores")) +
           " cores that client and servers share, " + machine.at("compiler").get<std::string>() +
           ", Boost " + machine.at("boost").get<std::string>() + ", " +
           machine.at("redis").get<std::string>() + ", " +
           machine.at("date").get<std::string>().substr(0, 10);
}

}  // namespace

std::string chart_of(const json& report) {
    constexpr double left = 250;
    constexpr double width = 560;
    constexpr double right = 110;
    constexpr double top = 50;
    constexpr double bar = 16;
    constexpr double group_gap = 14;
    const auto rows = medians_of(report, "uncontended");
    double greatest = 1;
    for (const json& each : rows) {
        greatest = std::max(greatest, each.at("cycles_per_second").at("maximum").get<double>());
    }
    const double tick = tick_for(greatest);
    const double scale = width / (tick * std::ceil(greatest / tick));
    const auto begins_group = [&rows](std::size_t i) {
        return i == 0 || rows[i - 1].at("instances") != rows[i].at("instances") ||
               rows[i - 1].at("concurrency") != rows[i].at("concurrency");
    };
    double height = top + 40;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        height += bar + 1 + (begins_group(i) ? group_gap : 0);
    }
    drawing svg(left + width + right, height);
    svg.text(left, 20, "start", "Locks taken and released per second: medians, least and most");
    for (double value = 0; value * scale <= width + 0.5; value += tick) {
        svg.line(left + value * scale, top - 8, left + value * scale, height - 28, "#dddddd");
        svg.text(left + value * scale, height - 10, "middle", number(value / 1000) + "k");
    }
    double y = top;
    for (std::size_t i = 0; i != rows.size(); ++i) {
        const json& each = rows[i];
        if (begins_group(i)) {
            y += i == 0 ? 0 : group_gap;
            svg.text(left - 95, y + bar, "end",
                     count_of(each.at("instances"), "server") + ", " +
                         count_of(each.at("concurrency"), "task"));
        }
        const json& figure = each.at("cycles_per_second");
        const double median = figure.at("median");
        const double middle = y + bar / 2;
        svg.text(left - 8, y + bar - 3, "end", each.at("client").get<std::string>());
        svg.box(left, y, median * scale, bar,
                each.at("client") == "colock" ? "#2b6cb0" : "#b0b7c0");
        const double from = left + figure.at("minimum").get<double>() * scale;
        const double to = left + figure.at("maximum").get<double>() * scale;
        svg.line(from, middle, to, middle, "#222222");
        svg.line(from, middle - 4, from, middle + 4, "#222222");
        svg.line(to, middle - 4, to, middle + 4, "#222222");
        svg.text(std::max(left + median * scale, to) + 6, y + bar - 3, "start", number(median));
        y += bar + 1;
    }
    return svg.finish();
}

namespace {

/// Returns a table of one figure of `uncontended`, with a line for each configuration and a column for each
/// client.
std::string table_of(const json& report, const char* figure, int digits) {
    const auto medians = medians_of(report, "uncontended");
    if (medians.empty()) {
        return "";
    }
    std::vector<std::string> clients;
    for (const json& each : medians) {
        const auto name = each.at("client").get<std::string>();
        if (std::ranges::find(clients, name) == clients.end()) {
            clients.push_back(name);
        }
    }
    std::string result = "| servers | tasks |";
    std::string rule = "\n|---|---|";
    for (const std::string& name : clients) {
        result += " " + name + " |";
        rule += "---|";
    }
    result += rule;
    for (std::size_t i = 0; i != medians.size();) {
        const json& first = medians[i];
        const auto is_of_line = [&](const json& other) {
            return other.at("instances") == first.at("instances") &&
                   other.at("concurrency") == first.at("concurrency");
        };
        result += "\n| " + integer(first.at("instances")) + " | " +
                  integer(first.at("concurrency")) + " |";
        for (const std::string& name : clients) {
            const bool has_it =
                i != medians.size() && is_of_line(medians[i]) && medians[i].at("client") == name;
            result +=
                has_it
                    ? " " + number(medians[i].at(figure).at("median").get<double>(), digits) + " |"
                    : " |";
            i += has_it ? 1 : 0;
        }
    }
    return result + "\n";
}

/// Returns the table of the workload `hot_key_hold`.
std::string hold_table_of(const json& report) {
    const auto medians = medians_of(report, "hot_key_hold");
    if (medians.empty()) {
        return "";
    }
    std::string result =
        "| processes | tasks of each | | gap | p99 of the wait / fair share | client CPU for "
        "10,000 |\n|---|---|---|---|---|---|\n";
    for (const json& each : medians) {
        const auto median = [&](const char* name, int digits) {
            return number(each.at(name).at("median").get<double>(), digits);
        };
        result += "| " + integer(each.at("processes")) + " | " + integer(each.at("concurrency")) +
                  " | " + each.at("client").get<std::string>() + " | " + median("gap_p50_us", 0) +
                  " us | " + median("wait_p99_of_fair_share", 2) + " | " +
                  median("client_cpu_s_per_10000", 1) + " s |\n";
    }
    return result;
}

/// Returns the text below its title, or an empty string if the report has no figures for it.
std::string titled(const std::string& title, const std::string& what) {
    return what.empty() ? what : "\n" + title + ":\n\n" + what;
}

}  // namespace

std::string section_of(const json& report) {
    std::string result = "Measured on: " + machine_in_words(report.at("machine")) + ".\n";
    result +=
        titled("Locks acquired and released per second", table_of(report, "cycles_per_second", 0));
    result += titled("Median time of one lock and release in microseconds",
                     table_of(report, "p50_us", 0));
    result += titled("CPU time of the client for one lock and release, in microseconds",
                     table_of(report, "client_cpu_us_per_cycle", 1));
    result += titled(
        "One name for which all tasks compete. Each holds it for 5 ms, two processes for no time",
        hold_table_of(report));
    result += "\nThe bounds that colock has set itself, and the figures of this run:\n\n"
              "| | bound | measured | | baseline |\n|---|---|---|---|---|\n";
    for (const json& each : report.at("bounds")) {
        const bool at_least = each.contains("at_least");
        const double limit = each.at(at_least ? "at_least" : "at_most");
        const bool small = limit < 10;
        result += "| " + each.at("text").get<std::string>() + " | " + (at_least ? ">= " : "<= ") +
                  number(limit, small ? 2 : 0) + " | " +
                  number(each.at("measured").get<double>(), small ? 3 : 0) + " | " +
                  (each.at("met").get<bool>() ? "met" : "**not met**") + " | ";
        if (each.contains("beside")) {
            const json& beside = each.at("beside");
            result += beside.at("whose").get<std::string>() + ": " +
                      number(beside.at("measured").get<double>(), small ? 3 : 0) + " ";
        }
        result += "|\n";
    }
    return result;
}

}  // namespace colock::benchmark
