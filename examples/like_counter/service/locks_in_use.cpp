// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "locks_in_use.hpp"

#include "percentile.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace like_counter {
namespace {

double in_ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

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

nlohmann::json to_json(const std::optional<percentile>& of) {
    if (!of) {
        return {};
    }
    nlohmann::json to;
    if (of->to) {
        to = in_ms(*of->to);
    }
    return {{"ms", in_ms(of->value)}, {"from_ms", in_ms(of->from)}, {"to_ms", std::move(to)}};
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

nlohmann::json to_json(const colock::histogram& waits) {
    return {{"count", waits.count},
            {"p50", to_json(percentile_of(waits, 0.5))},
            {"p99", to_json(percentile_of(waits, 0.99))}};
}

}  // namespace like_counter
