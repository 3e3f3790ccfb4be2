// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_ORDER_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_ORDER_CHECKER_HPP

#include "simulation/stored_key.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "core/vote.hpp"
#include "kinds/command.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::simulation {

/// Checks a server's queues of waiters for locks with a binding order. It observes the keys before and after
/// each command. The rules:
///
/// - `order`: A lock is granted only if no living waiter of another client is ahead of its client's waiters.
///   The waiters are in the order of their arrival. A command adds or removes only its own waiter and dead
///   ones. No waiter is missing while its client has a ticket. An attempt that does not wait leaves nothing.
///   If a server stands still for at least half of a ticket's ttl, the waiters count as alive for three quarters
///   of a ttl after it. The fourth standstill in a row may cost places.
/// - `leave`: A waiter that has left has no place.
class order_checker {
public:
    order_checker(world& w, const std::string& server) : world_(w), server_(server) {}

    void on_executed(const kinds::command& what, const core::vote& answer,
                     const small_redis::keyspace& before, const small_redis::keyspace& after,
                     wall_milliseconds now);

    /// The server stands still from now on.
    void on_standstill(const small_redis::keyspace& keys, wall_milliseconds now, true_time until);

    /// Call this if the server may have other keys than after the latest command, or another clock.
    void forget() {
        seen_.clear();
        kept_.clear();
    }

private:
    [[nodiscard]] stored_waiters waiters_before(const small_redis::keyspace& before,
                                                const std::string& key,
                                                wall_milliseconds now) const;
    void expect_kept(const std::string& key, const stored_waiters& now,
                     const small_redis::keyspace& keys, wall_milliseconds at);
    void expect_change(const kinds::command& what, const core::vote& answer,
                       const stored_waiters& before, const stored_waiters& after);
    void fail(const std::string& rule, const std::string& key, const std::string& what);

    world& world_;
    const std::string& server_;
    std::map<std::string, stored_waiters> seen_;  // By key: the waiters after the latest command.
    // By key and client: how long its waiters count as alive without a ticket.
    std::map<std::pair<std::string, std::uint64_t>, true_time> kept_;
    core::milliseconds longest_ticket_{};
};

/// Returns whether a command is for the waiters or for a lease of a lock with a binding order.
[[nodiscard]] bool is_in_order(const kinds::command& what);
/// Returns whether the command asks for a waiter's turn. A `heal` does not, because it restores a lock that
/// is held.
[[nodiscard]] bool asks_for_turn(const kinds::command& what);
/// Returns the waiter that has sent the command.
[[nodiscard]] stored_waiter sender_of(const kinds::command& what);

/// The waiters of a client for one key.
struct client_waiters {
    std::string who;
    std::uint64_t number = 0;           ///< The number of the client.
    std::set<std::uint64_t> waiting{};  ///< Their places.
    bool holds = false;                 ///< It holds the lock.
    /// Places of waiters that have waited for a while without a pause.
    std::set<std::uint64_t> settled{};
};

/// Checks the queues after all faults have ended. The rules:
///
/// - `place`: A waiter has a place and a ticket.
/// - `leave`: A client that does not wait is not at the head of the queue. A leftover place ends with the
///   next look of its client, or with its ticket. The holder keeps nobody waiting with a leftover place.
class place_checker {
public:
    explicit place_checker(world& w) : world_(w) {}

    void look(const std::string& key, const stored_waiters& there,
              const std::vector<client_waiters>& clients);
    /// Call this if the rules do not apply to the key at this moment.
    void skip(const std::string& key);

private:
    using place = std::tuple<std::string, std::uint64_t, std::uint64_t>;
    void expect_soon(std::map<place, true_time>& since, const place& which, bool holds,
                     duration longest, const std::string& rule, const std::string& what);

    world& world_;
    std::map<place, true_time> missing_since_;
    std::map<place, true_time> stale_since_;
};

}  // namespace colock::simulation

#endif
