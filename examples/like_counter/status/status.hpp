// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_STATUS_HPP
#define LIKE_COUNTER_STATUS_HPP

#include <colock/activity.hpp>
#include <colock/client.hpp>
#include <colock/counters.hpp>

#include <boost/asio/awaitable.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace like_counter {

/// How many of the instances are ready, and how many must be.
struct quorum_state {
    std::size_t ready;
    std::size_t instances;
    [[nodiscard]] std::size_t quorum() const noexcept { return instances / 2 + 1; }
    [[nodiscard]] bool reached() const noexcept { return ready >= quorum(); }
};

quorum_state quorum_of(const std::vector<colock::instance_info>& instances);

nlohmann::json to_json(const std::vector<colock::instance_info>& instances);
nlohmann::json to_json(const colock::counters& locks);

/// The locks that a client holds and waits for.
struct locks_in_use {
    std::vector<colock::lease_info> leases;
    std::vector<colock::waiter_info> waiters;
};

/// Asks the client. Both lists are empty if `locks` is null, or if the client cannot answer any more.
boost::asio::awaitable<locks_in_use> ask_locks_in_use(const colock::client* locks);

/// The most leases, and the most names that are waited for, in a JSON text.
inline constexpr std::size_t most_in_use = 20;

/// The oldest leases, the names with the longest waits, and the numbers of all leases and waiters. A fence is
/// text, because a browser's numbers have only 53 bits. Without fencing it is null.
nlohmann::json to_json(locks_in_use used, std::chrono::steady_clock::time_point now);

}  // namespace like_counter

#endif
