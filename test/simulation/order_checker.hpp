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
#include <vector>

namespace colock::simulation {

/// Looks at a server's queues of waiters, for locks whose order binds. It sees each command that is executed: the keys before it and
/// after it. The rules:
///
/// - *order*: a lock is granted only if no living waiter of another client is before those of its client. The waiters are in the order
///   in which they have entered. A command adds or removes only its own waiter, and dead ones. No waiter is missing whose client
///   has kept its ticket. Who tries without waiting leaves nothing.
/// - *leave*: a waiter that has left has no place.
class order_checker {
public:
    order_checker(world& w, const std::string& server) : world_(w), server_(server) {}

    void on_executed(const kinds::command& what, const core::vote& answer,
                     const small_redis::keyspace& before, const small_redis::keyspace& after,
                     wall_milliseconds now);

    /// The server may have other keys than those that it had after the latest command.
    void forget() { seen_.clear(); }

private:
    void expect_kept(const std::string& key, const stored_waiters& now,
                     const small_redis::keyspace& keys, wall_milliseconds at);
    void expect_change(const kinds::command& what, const core::vote& answer,
                       const stored_waiters& before, const stored_waiters& after);
    void fail(const std::string& rule, const std::string& key, const std::string& what);

    world& world_;
    const std::string& server_;
    std::map<std::string, stored_waiters> seen_;  // by key: after the latest command
};

/// Whether a command is for the waiters of a lock whose order binds, or for a lease of it.
[[nodiscard]] bool is_in_order(const kinds::command& what);
/// Whether it asks for the turn of a waiter. What heals puts back a lock that is held.
[[nodiscard]] bool asks_for_turn(const kinds::command& what);
/// The waiter that has sent it.
[[nodiscard]] stored_waiter sender_of(const kinds::command& what);

/// The waiters of a client for one key.
struct client_waiters {
    std::string who;
    std::uint64_t number = 0;           ///< of the client
    std::set<std::uint64_t> waiting{};  ///< their places
    std::set<std::uint64_t> settled{};  ///< of those that have waited for a while, without a pause
};

/// Looks at the queues once nothing goes wrong any more. The rules:
///
/// - *place*: who waits has a place, and a ticket.
/// - *leave*: who does not wait is not the first of the queue. A place that was left behind ends with the next look of its client, or
///   with its ticket.
class place_checker {
public:
    explicit place_checker(world& w) : world_(w) {}

    void look(const std::string& key, const stored_waiters& there,
              const std::vector<client_waiters>& clients);
    /// Nothing can be said of that key at this moment.
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
