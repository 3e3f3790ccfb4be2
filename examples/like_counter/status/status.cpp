// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "status.hpp"

#include "waits.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace like_counter {

quorum_state quorum_of(const std::vector<colock::instance_info>& instances) {
    const auto is_ready = [](const colock::instance_info& instance) {
        return instance.state == colock::instance_state::ready;
    };
    const auto ready = std::count_if(instances.begin(), instances.end(), is_ready);
    return {static_cast<std::size_t>(ready), instances.size()};
}

namespace {

double quarantine_left(const colock::instance_info& instance) {
    if (instance.state != colock::instance_state::quarantined) {
        return 0;
    }
    const auto left = instance.quarantined_until - std::chrono::steady_clock::now();
    return std::max(0.0, std::chrono::duration<double>(left).count());
}

struct lock_counter {
    const char* name;
    std::uint64_t colock::counters::*value;
};

constexpr lock_counter lock_counters[] = {
    {"attempts", &colock::counters::attempts},
    {"acquired", &colock::counters::acquired},
    {"contended", &colock::counters::contended},
    {"unavailable", &colock::counters::unavailable},
    {"undone", &colock::counters::undone},
    {"cancelled", &colock::counters::cancelled},
    {"renewed", &colock::counters::renewed},
    {"renewals_failed", &colock::counters::renewals_failed},
    {"healed", &colock::counters::healed},
    {"released", &colock::counters::released},
    {"handed_off", &colock::counters::handed_off},
    {"abandoned", &colock::counters::abandoned},
    {"detached", &colock::counters::detached},
    {"adopted", &colock::counters::adopted},
    {"lost", &colock::counters::lost},
    {"overstays", &colock::counters::overstays},
    {"keys_without_ttl", &colock::counters::keys_without_ttl},
    {"records_read", &colock::counters::records_read},
    {"writes_applied", &colock::counters::writes_applied},
    {"writes_refused", &colock::counters::writes_refused},
    {"writes_unknown", &colock::counters::writes_unknown},
    {"once_ran", &colock::counters::once_ran},
    {"once_found", &colock::counters::once_found},
    {"held", &colock::counters::held},
    {"acquiring", &colock::counters::acquiring},
    {"queued", &colock::counters::queued},
    {"waiting_to_send", &colock::counters::waiting_to_send},
    {"releasing", &colock::counters::releasing},
};
static_assert(std::size(lock_counters) * sizeof(std::uint64_t) == sizeof(colock::counters),
              "a counter of the client is missing in this list");

}  // namespace

nlohmann::json to_json(const std::vector<colock::instance_info>& instances) {
    auto list = nlohmann::json::array();
    for (const colock::instance_info& instance : instances) {
        auto nodes = nlohmann::json::array();
        for (const colock::node_info& node : instance.nodes) {
            nodes.push_back({{"address", node.address},
                             {"role", node.role},
                             {"state", colock::to_string(node.state)},
                             {"reason", node.reason}});
        }
        list.push_back({{"address", instance.address},
                        {"state", colock::to_string(instance.state)},
                        {"reason", instance.reason},
                        {"version", instance.version},
                        {"run_id", instance.run_id},
                        {"uptime_seconds", instance.uptime.count()},
                        {"quarantine_seconds_left", quarantine_left(instance)},
                        {"in_flight", instance.in_flight},
                        {"nodes", std::move(nodes)}});
    }
    return list;
}

nlohmann::json to_json(const colock::counters& locks) {
    nlohmann::json all;
    for (const lock_counter& one : lock_counters) {
        all[one.name] = locks.*one.value;
    }
    return all;
}

namespace {

template <typename Entry>
bool is_older(const Entry& a, const Entry& b) {
    return a.since < b.since;
}

nlohmann::json to_json(const colock::lease_info& lease, steady_clock::time_point now) {
    nlohmann::json fence;
    if (lease.fence != 0) {
        fence = std::to_string(lease.fence);
    }
    return {{"name", lease.resource},
            {"holder", lease.label.empty() ? lease.token : lease.label},
            {"holders", lease.holders},
            {"fence", std::move(fence)},
            {"age_ms", in_ms(now - lease.since)},
            {"is_lost", lease.is_lost},
            {"answers", lease.answers}};
}

/// The waiters for one name. The first waiter has waited the longest.
using group = std::vector<colock::waiter_info>;

nlohmann::json to_json(const group& waiters, steady_clock::time_point now) {
    // A waiter behind others of this client has asked no instance.
    const auto asked = std::find_if(waiters.begin(), waiters.end(),
                                    [](const auto& one) { return !one.is_queued; });
    return {{"name", waiters.front().resource},
            {"waiters", waiters.size()},
            {"longest_ms", in_ms(now - waiters.front().since)},
            {"answers", asked == waiters.end() ? std::string() : asked->answers}};
}

/// Sorts by age.
std::vector<group> by_name(std::vector<colock::waiter_info> waiters) {
    std::sort(waiters.begin(), waiters.end(), is_older<colock::waiter_info>);
    std::map<std::string, std::size_t> positions;
    std::vector<group> result;
    for (colock::waiter_info& one : waiters) {
        const auto position = positions.try_emplace(one.resource, result.size()).first->second;
        if (position == result.size()) {
            result.emplace_back();
        }
        result[position].push_back(std::move(one));
    }
    return result;
}

}  // namespace

asio::awaitable<locks_in_use> ask_locks_in_use(const colock::client* locks) {
    locks_in_use result;
    if (locks == nullptr) {
        co_return result;
    }
    auto [no_waiters, waiters] = co_await locks->waiters(asio::as_tuple(asio::use_awaitable));
    auto [no_leases, leases] = co_await locks->leases(asio::as_tuple(asio::use_awaitable));
    // The list is empty after an error.
    result.waiters = std::move(waiters);
    result.leases = std::move(leases);
    co_return result;
}

nlohmann::json to_json(locks_in_use used, steady_clock::time_point now) {
    const std::size_t all_leases = used.leases.size();
    const std::size_t all_waiters = used.waiters.size();
    std::sort(used.leases.begin(), used.leases.end(), is_older<colock::lease_info>);
    auto leases = nlohmann::json::array();
    for (const colock::lease_info& one : used.leases) {
        if (leases.size() != most_in_use) {
            leases.push_back(to_json(one, now));
        }
    }
    auto waiting = nlohmann::json::array();
    for (const group& one : by_name(std::move(used.waiters))) {
        if (waiting.size() != most_in_use) {
            waiting.push_back(to_json(one, now));
        }
    }
    return {{"leases", std::move(leases)},
            {"waiting", std::move(waiting)},
            {"all_leases", all_leases},
            {"all_waiters", all_waiters}};
}

}  // namespace like_counter
