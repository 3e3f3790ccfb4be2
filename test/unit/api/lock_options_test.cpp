// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Lock options at their limits.

#include "support/field_refused.hpp"

#include <colock/client.hpp>
#include <colock/error.hpp>
#include <colock/lock_options.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using boost::unit_test::label;
using colock::config_error;
using colock::lock_options;
using colock::test::field_refused;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

namespace {

using change = std::function<void(lock_options&)>;

void check_allowed(const change& set) {
    lock_options options;
    set(options);
    BOOST_CHECK_NO_THROW(options.validate());
}

/// Compares the whole text: the field, the value, and the valid range.
void check_refused(const change& set, const std::string& field, const std::string& text) {
    lock_options options;
    set(options);
    BOOST_CHECK_EXCEPTION(options.validate(), config_error, [&](const config_error& e) {
        BOOST_TEST(e.field() == field);
        BOOST_TEST(std::string(e.what()) == text);
        return true;
    });
}

change ttl(milliseconds value) {
    return [value](lock_options& o) { o.ttl = value; };
}

change renew(milliseconds interval, milliseconds ttl = 10s) {
    return [=](lock_options& o) {
        o.ttl = ttl;
        o.renew = interval;
    };
}

change max_hold(milliseconds value) {
    return [value](lock_options& o) { o.max_hold = value; };
}

change loss_margin(milliseconds value, milliseconds renew = 2s) {
    return [=](lock_options& o) {
        o.loss_margin = value;
        o.renew = renew;
    };
}

change retry(milliseconds initial, milliseconds maximum) {
    return [=](lock_options& o) { o.retry = {initial, maximum, 0}; };
}

change unavailable_timeout(milliseconds value) {
    return [value](lock_options& o) { o.unavailable_timeout = value; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lock_options_bounds)

BOOST_AUTO_TEST_CASE(the_default_options_are_valid) {
    BOOST_CHECK_NO_THROW(lock_options().validate());
    BOOST_TEST(lock_options().renew_interval().count() == 3333);
    lock_options never;
    never.renew = 0ms;
    BOOST_TEST(never.renew_interval().count() == 0);
    BOOST_CHECK_NO_THROW(never.validate());
}

BOOST_AUTO_TEST_CASE(ttl_is_bounded, *label("fault-35")) {
    check_allowed(ttl(10ms));
    check_allowed(ttl(24h));
    const std::string allowed = " is out of range (10 ms to 86400000 ms)";
    check_refused(ttl(9ms), "ttl", "ttl: 9 ms" + allowed);
    check_refused(ttl(1ms), "ttl", "ttl: 1 ms" + allowed);
    check_refused(ttl(0ms), "ttl", "ttl: 0 ms" + allowed);
    check_refused(ttl(-1ms), "ttl", "ttl: -1 ms" + allowed);
    check_refused(ttl(24h + 1ms), "ttl", "ttl: 86400001 ms" + allowed);
    check_refused(ttl(24h * 365 * 100), "ttl", "ttl: 3153600000000 ms" + allowed);
    check_refused(ttl(milliseconds::max()), "ttl", "ttl: 9223372036854775807 ms" + allowed);
    check_refused(ttl(milliseconds::min()), "ttl", "ttl: -9223372036854775808 ms" + allowed);
}

BOOST_AUTO_TEST_CASE(renew_is_bounded) {
    check_allowed(renew(0ms));
    check_allowed(renew(1ms));
    check_allowed(renew(5s));
    check_allowed(renew(5ms, 11ms));
    check_refused(
        renew(5001ms), "renew",
        "renew: 5001 ms exceeds half of the ttl (5000 ms). Renew earlier or raise the ttl");
    check_refused(renew(6ms, 11ms), "renew",
                  "renew: 6 ms exceeds half of the ttl (5 ms). Renew earlier or raise the ttl");
    check_refused(renew(-1ms), "renew", "renew: -1 ms is out of range (0 ms to 86400000 ms)");
}

BOOST_AUTO_TEST_CASE(max_hold_is_bounded) {
    check_allowed(max_hold(0ms));
    check_allowed(max_hold(1ms));
    check_allowed(max_hold(24h * 365));
    check_refused(max_hold(-1ms), "max_hold",
                  "max_hold: -1 ms is out of range (0 ms to 31536000000 ms)");
    check_refused(max_hold(24h * 365 + 1ms), "max_hold",
                  "max_hold: 31536000001 ms is out of range (0 ms to 31536000000 ms)");
    check_refused(max_hold(milliseconds::max()), "max_hold",
                  "max_hold: 9223372036854775807 ms is out of range (0 ms to 31536000000 ms)");
}

BOOST_AUTO_TEST_CASE(the_loss_margin_is_bounded) {
    check_allowed(loss_margin(0ms));
    check_allowed(loss_margin(5s));
    check_allowed(loss_margin(5s, 0ms));
    check_allowed(loss_margin(2500ms, 5s));
    check_refused(loss_margin(-1ms), "loss_margin",
                  "loss_margin: -1 ms is out of range (0 ms to 86400000 ms)");
    check_refused(
        loss_margin(5001ms), "loss_margin",
        "loss_margin: 5001 ms exceeds half of the ttl (5000 ms). Lower it or raise the ttl");
    check_refused(loss_margin(2501ms, 5s), "loss_margin",
                  "loss_margin: 2501 ms and the renewal interval of 5000 ms exceed 3/4 of the ttl "
                  "(7500 ms). Lower the margin, renew earlier or raise the ttl");
}

BOOST_AUTO_TEST_CASE(retry_is_bounded) {
    check_allowed(retry(1ms, 1ms));
    check_allowed(retry(1min, 1min));
    check_refused(retry(0ms, 10ms), "retry.initial",
                  "retry.initial: 0 ms is out of range (1 ms to 60000 ms)");
    check_refused(
        retry(11ms, 10ms), "retry.initial",
        "retry.initial: 11 ms exceeds retry.maximum (10 ms). Lower it or raise retry.maximum");
    check_refused(retry(1ms, 60001ms), "retry.maximum",
                  "retry.maximum: 60001 ms is out of range (1 ms to 60000 ms)");
    check_refused(retry(1ms, 0ms), "retry.maximum",
                  "retry.maximum: 0 ms is out of range (1 ms to 60000 ms)");
}

BOOST_AUTO_TEST_CASE(unavailable_timeout_is_bounded) {
    check_allowed(unavailable_timeout(0ms));
    check_allowed(unavailable_timeout(1h));
    check_refused(unavailable_timeout(-1ms), "unavailable_timeout",
                  "unavailable_timeout: -1 ms is out of range (0 ms to 3600000 ms)");
    check_refused(unavailable_timeout(3600001ms), "unavailable_timeout",
                  "unavailable_timeout: 3600001 ms is out of range (0 ms to 3600000 ms)");
}

BOOST_AUTO_TEST_CASE(a_mutex_validates_its_resource_and_options, *label("fault-35")) {
    boost::asio::io_context context;
    colock::client client(context, colock::config::from_uris({"memory://lock_options_test"}));
    constexpr milliseconds century = 24h * 365 * 100;
    for (const milliseconds ttl : {0ms, -1ms, 1ms, century, milliseconds::max()}) {
        lock_options refused;
        refused.ttl = ttl;
        BOOST_TEST(field_refused([&] { colock::mutex(client, "r", refused); }) == "ttl");
    }
    lock_options day;
    day.ttl = 24h;
    BOOST_TEST(field_refused([&] { colock::mutex(client, "r", day); }).empty());
    for (const std::size_t size : {0U, 64U * 1024U + 1U, 1024U * 1024U}) {
        const std::string resource(size, 'r');
        BOOST_TEST(field_refused([&] { colock::mutex(client, resource); }) == "resource");
    }
    const colock::mutex longest(client, std::string(64 * 1024, '\0'));
    BOOST_TEST(longest.resource().size() == 64U * 1024U);
    BOOST_CHECK((longest.options().ttl == 10s));
}

/// The error names each quarantine that is too short. If it named only one, its correction would lead to the
/// next error.
BOOST_AUTO_TEST_CASE(a_ttl_longer_than_a_quarantine_is_rejected, *label("fault-35")) {
    boost::asio::io_context context;
    const std::string exceeds = "ttl: 20000 ms exceeds the client's ";
    const auto restart = [](const std::string& length) {
        return "restart_quarantine (" + length + " ms)";
    };
    const auto failover = [](const std::string& length) {
        return "failover_quarantine (" + length + " ms)";
    };
    const std::string cures =
        " or shorten the ttl. For one run per period, use once with the period in its key";
    const std::string one_cure = ". Raise the quarantine" + cures;
    const std::string two_cures = ". Raise both" + cures;
    const std::string one = "redis://h";
    const std::vector<std::string> three{"redis://h", "redis://i", "redis://j"};
    const std::string cluster = "redis+cluster://h";
    const std::string sentinel = "redis+sentinel://h/m";
    struct sample {
        std::vector<std::string> instances;
        std::optional<milliseconds> restart_quarantine;
        std::optional<milliseconds> failover_quarantine;
        std::string text;  // If empty, a ttl of 20 s is valid.
    };
    const std::vector<sample> samples{
        {{one}, {}, {}, ""},
        {{one}, 15s, 1s, exceeds + restart("15000") + one_cure},
        {three, {}, {}, exceeds + restart("10000") + one_cure},
        {three, 0ms, {}, ""},
        {three, 20s, 5s, ""},
        {{cluster}, {}, {}, exceeds + failover("10000") + one_cure},
        {{sentinel}, {}, {}, exceeds + failover("10000") + one_cure},
        {{sentinel}, 20s, 10s, exceeds + failover("10000") + one_cure},
        {{sentinel}, 10s, 20s, exceeds + restart("10000") + one_cure},
        {{sentinel}, 10s, {}, exceeds + restart("10000") + " and " + failover("10000") + two_cures},
        {{sentinel},
         10s,
         15s,
         exceeds + restart("10000") + " and " + failover("15000") + two_cures},
        {{cluster}, 15s, 10s, exceeds + restart("15000") + " and " + failover("10000") + two_cures},
        {{sentinel}, {}, 0ms, ""},
        {{sentinel, "memory://a"}, 30s, 30s, ""},
        {{"memory://a"}, 1s, 1s, ""},
    };
    for (const sample& s : samples) {
        colock::config configuration;
        configuration.instances = s.instances;
        configuration.restart_quarantine = s.restart_quarantine;
        configuration.failover_quarantine = s.failover_quarantine;
        colock::client client(context, configuration);
        lock_options options;
        options.ttl = 20s;
        std::string text;
        try {
            const colock::mutex mutex(client, "r", options);
        } catch (const config_error& e) {
            BOOST_TEST(e.field() == "ttl");
            text = e.what();
        }
        BOOST_TEST(text == s.text);
    }
}

/// A part of the ttl must remain after the subtraction of the clock drift.
BOOST_AUTO_TEST_CASE(a_ttl_not_longer_than_the_drift_is_rejected) {
    boost::asio::io_context context;
    colock::config configuration;
    configuration.instances.emplace_back("memory://lock_options_test");
    configuration.drift_factor = 0.5;
    configuration.drift_minimum = 1s;
    colock::client client(context, configuration);
    lock_options options;
    options.ttl = 2001ms;
    BOOST_CHECK_NO_THROW(colock::mutex(client, "r", options));
    for (const milliseconds refused : {10ms, 1000ms, 1999ms, 2000ms}) {
        options.ttl = refused;
        try {
            const colock::mutex mutex(client, "r", options);
            BOOST_ERROR("not refused: " << refused.count());
        } catch (const config_error& e) {
            BOOST_TEST(e.field() == "ttl");
            BOOST_TEST(std::string(e.what()) ==
                       "ttl: " + std::to_string(refused.count()) +
                           " ms is not more than the client's allowance for clock drift (2000 ms, "
                           "from drift_factor and drift_minimum). Raise the ttl");
        }
    }
    options.ttl = 8s;
    options.renew = 1s;
    options.loss_margin = 2999ms;
    BOOST_CHECK_NO_THROW(colock::mutex(client, "r", options));
    options.loss_margin = 3s;
    BOOST_CHECK_EXCEPTION(colock::mutex(client, "r", options), config_error, [](const auto& e) {
        return std::string(e.what()) == "loss_margin: the margin and the client's allowance for "
                                        "clock drift leave nothing of "
                                        "the ttl (8000 ms). Lower the margin or raise the ttl";
    });
    options.loss_margin.reset();
    options.renew.reset();
    colock::error refused;
    options.ttl = 10s;
    colock::mutex(client, "r", options).acquire([&](const colock::error&, colock::lease held) {
        held.extend(2000ms, [&](const colock::error& e) { refused = e; });
        client.close([](const colock::error&) {});
    });
    context.run();
    BOOST_TEST((refused == colock::errc::invalid_argument));
    BOOST_TEST(refused.details().find("'r': ttl: 2000 ms is not more than") == 0U,
               refused.message());
}

BOOST_AUTO_TEST_SUITE_END()
