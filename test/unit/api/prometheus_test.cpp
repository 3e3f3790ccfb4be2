// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Metrics as text for Prometheus. examples/like_counter/test/prometheus checks real text with promtool.

#include <colock/config.hpp>
#include <colock/prometheus.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <locale>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace colock;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

constexpr std::size_t members = sizeof(counters) / sizeof(std::uint64_t);
constexpr std::size_t gauges = 5;

std::string text_of(const client_metrics& one) {
    return prometheus_text(std::span(&one, 1));
}

strings lines_of(const std::string& text) {
    strings result;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        result.push_back(line);
    }
    return result;
}

/// The series of a metric, without its description.
strings series_of(const std::string& text, std::string_view metric) {
    strings result;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with(std::string(metric) + " ") ||
            line.starts_with(std::string(metric) + "{")) {
            result.push_back(line);
        }
    }
    return result;
}

/// The part of the text from the description of one metric to that of another one.
std::string part_of(const std::string& text, const std::string& first, const std::string& next) {
    const std::size_t begin = text.find("# HELP " + first + " ");
    const std::size_t end = text.find("# HELP " + next + " ");
    BOOST_REQUIRE(begin != std::string::npos);
    BOOST_REQUIRE(end != std::string::npos);
    return text.substr(begin, end - begin);
}

/// The values of a label, in their order.
strings values_of(const std::string& text, std::string_view metric, std::string_view label) {
    strings result;
    const std::string begin = std::string(label) + "=\"";
    for (const std::string& line : series_of(text, metric)) {
        const std::size_t from = line.find(begin) + begin.size();
        std::size_t to = from;
        while (line.at(to) != '"') {
            to += line.at(to) == '\\' ? 2 : 1;
        }
        result.push_back(line.substr(from, to - from));
    }
    return result;
}

instance_info at(std::string address, instance_state state = instance_state::ready) {
    instance_info result;
    result.address = std::move(address);
    result.state = state;
    return result;
}

std::string escaped(std::string address) {
    client_metrics one;
    one.instances = {at(std::move(address))};
    return values_of(text_of(one), "colock_instance_in_flight", "address").at(0);
}

BOOST_AUTO_TEST_SUITE(prometheus)

BOOST_AUTO_TEST_CASE(writes_the_exact_text_of_two_instances) {
    client_metrics one;
    one.time = std::chrono::steady_clock::time_point(100s);
    one.instances = {at("redis://a:6379"), at("redis://b", instance_state::quarantined)};
    one.instances[0].version = "7.0.15";
    one.instances[0].run_id = "f00d";
    one.instances[0].in_flight = 3;
    one.instances[0].window = 1000;
    one.instances[0].delay = 250us;
    one.instances[0].nodes = {{"a:6379", "master", instance_state::ready, ""}};
    one.instances[1].quarantined_until = one.time + 7500ms;
    const std::string text = text_of(one);
    BOOST_TEST(text.substr(text.find("# HELP colock_instances ")) ==
               R"(# HELP colock_instances Instances that the client is configured with.
# TYPE colock_instances gauge
colock_instances 2
# HELP colock_instances_ready Instances that are ready to grant locks.
# TYPE colock_instances_ready gauge
colock_instances_ready 1
# HELP colock_instances_quorum Instances that have to grant a lock. With fewer that are ready, no lock can be acquired.
# TYPE colock_instances_quorum gauge
colock_instances_quorum 2
# HELP colock_instance_state 1 for the state of the instance, and 0 for all other states.
# TYPE colock_instance_state gauge
colock_instance_state{address="redis://a:6379",state="connecting"} 0
colock_instance_state{address="redis://a:6379",state="probing"} 0
colock_instance_state{address="redis://a:6379",state="quarantined"} 0
colock_instance_state{address="redis://a:6379",state="ready"} 1
colock_instance_state{address="redis://a:6379",state="down"} 0
colock_instance_state{address="redis://a:6379",state="closed"} 0
colock_instance_state{address="redis://b",state="connecting"} 0
colock_instance_state{address="redis://b",state="probing"} 0
colock_instance_state{address="redis://b",state="quarantined"} 1
colock_instance_state{address="redis://b",state="ready"} 0
colock_instance_state{address="redis://b",state="down"} 0
colock_instance_state{address="redis://b",state="closed"} 0
# HELP colock_instance_in_flight Commands without an answer.
# TYPE colock_instance_in_flight gauge
colock_instance_in_flight{address="redis://a:6379"} 3
colock_instance_in_flight{address="redis://b"} 0
# HELP colock_instance_window Commands that the client allows in flight, or 0 before the probe and for an instance in memory.
# TYPE colock_instance_window gauge
colock_instance_window{address="redis://a:6379"} 1000
colock_instance_window{address="redis://b"} 0
# HELP colock_instance_delay_seconds The time from sending the latest answered batch of commands to its last answer.
# TYPE colock_instance_delay_seconds gauge
colock_instance_delay_seconds{address="redis://a:6379"} 0.00025
colock_instance_delay_seconds{address="redis://b"} 0
# HELP colock_instance_quarantine_seconds The time that is left of the quarantine, or 0 if there is none.
# TYPE colock_instance_quarantine_seconds gauge
colock_instance_quarantine_seconds{address="redis://a:6379"} 0
colock_instance_quarantine_seconds{address="redis://b"} 7.5
# HELP colock_instance_info Always 1, with the version and the run id that the server reports.
# TYPE colock_instance_info gauge
colock_instance_info{address="redis://a:6379",version="7.0.15",run_id="f00d"} 1
colock_instance_info{address="redis://b",version="",run_id=""} 1
# HELP colock_node_state 1 for the state of the connection to a server of an instance, and 0 for all other states.
# TYPE colock_node_state gauge
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="connecting"} 0
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="probing"} 0
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="quarantined"} 0
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="ready"} 1
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="down"} 0
colock_node_state{address="redis://a:6379",server="a:6379",role="master",state="closed"} 0
)");
}

BOOST_AUTO_TEST_CASE(writes_each_counter_once_in_the_order_of_its_struct) {
    std::array<std::uint64_t, members> values{};
    for (std::size_t i = 0; i != members; ++i) {
        values[i] = 1000 + i;
    }
    client_metrics one;
    one.counters = std::bit_cast<counters>(values);
    const std::string text = text_of(one);
    strings numbers;
    std::size_t line = 0;
    const strings lines = lines_of(text);
    for (std::size_t i = 0; i != members; ++i, line += 3) {
        const bool is_gauge = i >= members - gauges;
        const std::string name = lines.at(line + 2).substr(0, lines.at(line + 2).find(' '));
        BOOST_TEST(name.ends_with("_total") == !is_gauge);
        BOOST_TEST(lines[line].starts_with("# HELP " + name + " "));
        BOOST_TEST(lines[line + 1] == "# TYPE " + name + (is_gauge ? " gauge" : " counter"));
        BOOST_TEST(lines[line + 2] == name + " " + std::to_string(1000 + i));
    }
    BOOST_TEST(lines.at(line).starts_with("# HELP colock_wait_seconds "));
    BOOST_TEST(series_of(text, "colock_attempts_total") == strings{"colock_attempts_total 1000"});
    BOOST_TEST(series_of(text, "colock_held") == strings{"colock_held 1023"});
}

BOOST_AUTO_TEST_CASE(writes_the_largest_counter) {
    client_metrics one;
    one.counters.acquired = UINT64_MAX;
    BOOST_TEST(series_of(text_of(one), "colock_acquired_total") ==
               strings{"colock_acquired_total 18446744073709551615"});
}

BOOST_AUTO_TEST_CASE(histograms_are_cumulative_and_in_seconds) {
    client_metrics one;
    one.histograms.waits.buckets[0] = 2;   // up to 100 us
    one.histograms.waits.buckets[3] = 1;   // up to 1 ms
    one.histograms.waits.buckets[18] = 4;  // longer than a minute
    one.histograms.waits.count = 7;
    one.histograms.waits.sum = 301s + 234567us;
    one.histograms.holds.sum = 1us;
    const std::string text = text_of(one);
    BOOST_TEST(
        part_of(text, "colock_wait_seconds", "colock_hold_seconds") ==
        R"(# HELP colock_wait_seconds How long acquires waited, from their start to the grant.
# TYPE colock_wait_seconds histogram
colock_wait_seconds_bucket{le="0.0001"} 2
colock_wait_seconds_bucket{le="0.0002"} 2
colock_wait_seconds_bucket{le="0.0005"} 2
colock_wait_seconds_bucket{le="0.001"} 3
colock_wait_seconds_bucket{le="0.002"} 3
colock_wait_seconds_bucket{le="0.005"} 3
colock_wait_seconds_bucket{le="0.01"} 3
colock_wait_seconds_bucket{le="0.02"} 3
colock_wait_seconds_bucket{le="0.05"} 3
colock_wait_seconds_bucket{le="0.1"} 3
colock_wait_seconds_bucket{le="0.2"} 3
colock_wait_seconds_bucket{le="0.5"} 3
colock_wait_seconds_bucket{le="1"} 3
colock_wait_seconds_bucket{le="2"} 3
colock_wait_seconds_bucket{le="5"} 3
colock_wait_seconds_bucket{le="10"} 3
colock_wait_seconds_bucket{le="20"} 3
colock_wait_seconds_bucket{le="60"} 3
colock_wait_seconds_bucket{le="+Inf"} 7
colock_wait_seconds_sum 301.234567
colock_wait_seconds_count 7
)");
    BOOST_TEST(series_of(text, "colock_hold_seconds_sum") ==
               strings{"colock_hold_seconds_sum 0.000001"});
    one.histograms.holds.sum = std::chrono::hours(24 * 365 * 1000);  // of many leases
    BOOST_TEST(series_of(text_of(one), "colock_hold_seconds_sum") ==
               strings{"colock_hold_seconds_sum 31536000000"});
}

/// A snapshot of one's own may be inconsistent, and still the text is valid.
BOOST_AUTO_TEST_CASE(the_last_bucket_is_the_count) {
    client_metrics one;
    one.histograms.waits.buckets[1] = 2;
    one.histograms.waits.count = 1;
    one.histograms.waits.sum = -1s;
    const std::string text = text_of(one);
    BOOST_TEST(series_of(text, "colock_wait_seconds_bucket").back() ==
               "colock_wait_seconds_bucket{le=\"+Inf\"} 2");
    BOOST_TEST(series_of(text, "colock_wait_seconds_count") ==
               strings{"colock_wait_seconds_count 2"});
    BOOST_TEST(series_of(text, "colock_wait_seconds_sum") == strings{"colock_wait_seconds_sum 0"});
}

BOOST_AUTO_TEST_CASE(several_clients_share_each_description) {
    std::vector<client_metrics> clients(2);
    clients[0].name = "orders";
    clients[0].counters.held = 1;
    clients[0].instances = {at("memory://a")};
    clients[1].name = "stock";
    clients[1].counters.held = 2;
    clients[1].instances = {at("memory://a", instance_state::down)};
    const std::string text = prometheus_text(clients);
    BOOST_TEST(series_of(text, "colock_held") ==
               (strings{"colock_held{client=\"orders\"} 1", "colock_held{client=\"stock\"} 2"}));
    BOOST_TEST(series_of(text, "colock_instances_ready") ==
               (strings{"colock_instances_ready{client=\"orders\"} 1",
                        "colock_instances_ready{client=\"stock\"} 0"}));
    BOOST_TEST(series_of(text, "colock_instance_in_flight") ==
               (strings{"colock_instance_in_flight{client=\"orders\",address=\"memory://a\"} 0",
                        "colock_instance_in_flight{client=\"stock\",address=\"memory://a\"} 0"}));
    BOOST_TEST(series_of(text, "colock_wait_seconds_bucket").at(0) ==
               "colock_wait_seconds_bucket{client=\"orders\",le=\"0.0001\"} 0");
    std::set<std::string> descriptions;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with("#")) {
            BOOST_TEST(descriptions.insert(line).second, line);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_two_series_are_the_same) {
    instance_info twice = at("redis://a#2");
    twice.nodes = {{"a:1", "master", instance_state::ready, ""},
                   {"a:1", "sentinel", instance_state::ready, ""},
                   {"a:1", "master", instance_state::down, ""}};
    client_metrics one;
    one.instances = {twice, at("redis://a"), at("redis://a"), at("redis://\xff"),
                     at("redis://\xfe")};
    const std::vector<client_metrics> clients{one, one, one};
    const std::string text = prometheus_text(clients);
    std::set<std::string> series;
    for (const std::string& line : lines_of(text)) {
        if (!line.starts_with("#")) {
            BOOST_TEST(series.insert(line.substr(0, line.rfind(' '))).second, line);
        }
    }
    BOOST_TEST(
        series_of(text, "colock_held") ==
        (strings{"colock_held 0", "colock_held{client=\"#2\"} 0", "colock_held{client=\"#3\"} 0"}));
    const strings addresses = values_of(text_of(one), "colock_instance_in_flight", "address");
    BOOST_TEST(addresses == (strings{"redis://a#2", "redis://a", "redis://a#3",
                                     "redis://\xef\xbf\xbd", "redis://\xef\xbf\xbd#2"}));
    const strings ready = series_of(text_of(one), "colock_node_state");
    BOOST_TEST(std::ranges::count(ready,
                                  "colock_node_state{address=\"redis://a#2\",server=\"a:1#2\","
                                  "role=\"master\",state=\"down\"} 1") == 1);
}

BOOST_AUTO_TEST_CASE(label_values_are_escaped) {
    BOOST_TEST(escaped(R"(a\b"c)") == R"(a\\b\"c)");
    BOOST_TEST(escaped("a\nb\r\tc") == "a\\nb\r\tc");
    BOOST_TEST(escaped("{}=,#") == "{}=,#");
    BOOST_TEST(escaped("Zoë \xf0\x9f\xa6\x8a") == "Zoë \xf0\x9f\xa6\x8a");
    client_metrics one;
    one.name = "\"\n";
    one.instances = {at("x")};
    one.instances[0].version = "\"";
    one.instances[0].run_id = "\\";
    one.instances[0].nodes = {{"\"", "\\", instance_state::ready, "not a label"}};
    const std::string text = text_of(one);
    BOOST_TEST(
        series_of(text, "colock_instance_info") ==
        strings{R"(colock_instance_info{client="\"\n",address="x",version="\"",run_id="\\"} 1)"});
    BOOST_TEST(
        series_of(text, "colock_node_state").at(3) ==
        R"(colock_node_state{client="\"\n",address="x",server="\"",role="\\",state="ready"} 1)");
}

BOOST_AUTO_TEST_CASE(invalid_utf8_is_replaced) {
    const std::string mark = "\xef\xbf\xbd";
    const std::map<std::string, std::string> cases{
        {"a\xff", "a" + mark},
        {"\x80z", mark + "z"},
        {"\xc3", mark},                                   // an incomplete character
        {"\xc3\"", mark + "\\\""},                        // and it does not eat the quote
        {"\xc0\xaf", mark + mark},                        // a long form
        {"\xe0\x9f\xbf", mark + mark + mark},             // a long form
        {"\xed\xa0\x80", mark + mark + mark},             // a surrogate
        {"\xf4\x90\x80\x80", mark + mark + mark + mark},  // above U+10FFFF
        {"\xf5\x80\x80\x80", mark + mark + mark + mark},
        {"\xf0\x8f\xbf\xbf", mark + mark + mark + mark},
        {"\xe2\x82", mark + mark},
        {"\xe2\x28\xa1", mark + "(" + mark},
        {"\xe2\x82z", mark + mark + "z"},
        {"\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
         "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {std::string("a\0b", 3), "a" + mark + "b"},
    };
    for (const auto& [text, expected] : cases) {
        BOOST_TEST(escaped(text) == expected);
    }
}

BOOST_AUTO_TEST_CASE(the_quarantine_has_no_negative_time) {
    client_metrics one;
    one.time = std::chrono::steady_clock::time_point(100s);
    one.instances = {at("never"), at("ended", instance_state::quarantined),
                     at("other", instance_state::down), at("long", instance_state::quarantined)};
    one.instances[1].quarantined_until = one.time - 1ns;
    one.instances[2].quarantined_until = one.time + 1s;
    one.instances[3].quarantined_until = one.time + 24h + 1ns;
    BOOST_TEST(series_of(text_of(one), "colock_instance_quarantine_seconds") ==
               (strings{"colock_instance_quarantine_seconds{address=\"never\"} 0",
                        "colock_instance_quarantine_seconds{address=\"ended\"} 0",
                        "colock_instance_quarantine_seconds{address=\"other\"} 0",
                        "colock_instance_quarantine_seconds{address=\"long\"} 86400.000000001"}));
}

/// A locale that groups digits and has a comma as its decimal point.
struct german : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

BOOST_AUTO_TEST_CASE(numbers_do_not_depend_on_the_locale) {
    client_metrics one;
    one.counters.acquired = 1234567;
    one.histograms.waits.sum = 1234567ms;
    const std::string before = text_of(one);
    const std::locale former = std::locale::global(std::locale(std::locale(), new german));
    const std::string after = text_of(one);
    std::locale::global(former);
    BOOST_TEST(after == before);
    BOOST_TEST(series_of(after, "colock_wait_seconds_sum") ==
               strings{"colock_wait_seconds_sum 1234.567"});
}

BOOST_AUTO_TEST_CASE(no_clients_give_descriptions_only) {
    for (const std::string& line : lines_of(prometheus_text(std::span<const client_metrics>()))) {
        BOOST_TEST(line.starts_with("# "), line);
    }
}

BOOST_AUTO_TEST_CASE(a_client_has_its_metrics) {
    boost::asio::io_context context;
    config two;
    two.instances = {"memory://prometheus_a", "memory://prometheus_b"};
    client locks(context, two);
    context.poll();
    const client_metrics named = metrics_of(locks, "orders");
    BOOST_TEST(named.name == "orders");
    BOOST_TEST(named.instances.size() == 2U);
    BOOST_TEST((named.time > std::chrono::steady_clock::time_point()));
    const std::string text = prometheus_text(locks);
    BOOST_TEST(series_of(text, "colock_instances") == strings{"colock_instances 2"});
    BOOST_TEST(series_of(text, "colock_instances_ready") == strings{"colock_instances_ready 2"});
    BOOST_TEST(values_of(text, "colock_instance_info", "address") ==
               (strings{"memory://prometheus_a", "memory://prometheus_b"}));
    BOOST_TEST(text == text_of(metrics_of(locks)));
    BOOST_TEST(text.ends_with("\n"));

    const client other(std::move(locks));
    const std::string moved = prometheus_text(locks);  // NOLINT(bugprone-use-after-move): as meant
    BOOST_TEST(series_of(moved, "colock_instances") == strings{"colock_instances 0"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
