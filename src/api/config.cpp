// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/config.hpp>

#include <colock/error.hpp>

#include "api/config_check.hpp"
#include "api/instance_uri.hpp"
#include "api/label.hpp"
#include "api/options_check.hpp"
#include "core/instance_set.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock {
inline namespace v1 {
namespace detail {

using std::chrono::milliseconds;

const std::array<duration_field, 10>& duration_fields() {
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    static const std::array<duration_field, 10> fields{{
        {"instance_timeout", &config::instance_timeout, milliseconds(1), minutes(1)},
        {"connect_timeout", &config::connect_timeout, milliseconds(1), minutes(5)},
        {"silence_timeout", &config::silence_timeout, milliseconds(10), hours(1)},
        {"reconnect_maximum", &config::reconnect_maximum, milliseconds(1), hours(1)},
        {"reconnect_initial", &config::reconnect_initial, milliseconds(1), hours(1)},
        {"drift_minimum", &config::drift_minimum, milliseconds(0), seconds(1)},
        {"close_timeout", &config::close_timeout, milliseconds(0), minutes(5)},
        {"restart_quarantine", &config::restart_quarantine, milliseconds(0), hours(24)},
        {"blocked_threshold", &config::blocked_threshold, milliseconds(0), hours(1)},
        {"failover_quarantine", &config::failover_quarantine, milliseconds(0), hours(24)},
    }};
    return fields;
}

namespace {

void check_instances(const std::vector<std::string>& uris, const field_namer& name,
                     const std::function<std::string(std::size_t)>& item_name) {
    if (uris.empty()) {
        throw config_error(name("instances"), "the list is empty. Name at least one instance");
    }
    if (uris.size() > core::instance_set::most) {
        throw config_error(name("instances"), std::to_string(uris.size()) +
                                                  " instances are too many (1 to " +
                                                  std::to_string(core::instance_set::most) + ")");
    }
    std::vector<instance::redis::voter> seen;
    for (std::size_t i = 0; i != uris.size(); ++i) {
        const auto address = parse_instance_uri(item_name(i), uris[i]);
        const auto& voter = seen.emplace_back(voter_of(address));
        const auto same = std::ranges::find_if(
            seen, [&](const auto& other) { return instance::redis::same_voter(other, voter); });
        const auto first = static_cast<std::size_t>(same - seen.begin());
        if (first != i) {
            throw config_error(item_name(i),
                               instance::redis::display_of(address) + " duplicates " +
                                   item_name(first) +
                                   " (database number, credentials and TLS are ignored). Every "
                                   "instance must be a different server, so remove one of the two");
        }
    }
}

}  // namespace

void check_config(const config& c, const field_namer& name,
                  const std::function<std::string(std::size_t)>& item_name) {
    constexpr std::size_t most_in_flight = std::size_t{1} << 24U;
    constexpr double most_drift = 0.5;
    constexpr std::size_t least_reply_size = std::size_t{1} << 17U;  // the longest name, twice
    constexpr std::size_t most_reply_size = std::size_t{1} << 30U;

    check_instances(c.instances, name, item_name);
    check_label(name("label"), c.label);
    for (const duration_field& field : duration_fields()) {
        const auto set = std::visit(
            [&c](auto member) { return std::optional<milliseconds>(c.*member); }, field.member);
        if (set) {
            check_range(name(field.name), *set, field.least, field.most);
        }
    }
    constexpr milliseconds least_threshold(10);
    if (c.blocked_threshold != milliseconds::zero() && c.blocked_threshold < least_threshold) {
        throw config_error(name("blocked_threshold"),
                           to_text(c.blocked_threshold) +
                               " is too short. Use 0 for never, or at least " +
                               to_text(least_threshold));
    }
    check_at_most(name("reconnect_initial"), c.reconnect_initial, name("reconnect_maximum"),
                  c.reconnect_maximum);
    if (!(c.drift_factor >= 0.0 && c.drift_factor <= most_drift)) {  // NaN is refused, too
        throw config_error(name("drift_factor"),
                           std::to_string(c.drift_factor) + " is out of range (0 to 0.5)");
    }
    check_range(name("max_in_flight"), c.max_in_flight, 1, most_in_flight);
    check_range(name("max_reply_size"), c.max_reply_size, least_reply_size, most_reply_size);
}

}  // namespace detail

void config::validate() const {
    const auto struct_name = [](const std::string& field) { return field; };
    detail::check_config(*this, struct_name,
                         [](std::size_t i) { return "instances[" + std::to_string(i) + "]"; });
}

config config::from_uris(std::vector<std::string> uris) {
    config result;
    result.instances = std::move(uris);
    result.validate();
    return result;
}

}  // namespace v1
}  // namespace colock
