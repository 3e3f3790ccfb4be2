// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/order_checker.hpp"

#include "kinds/kind.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {
namespace {

std::string text_of(const stored_waiter& one) {
    return "waiter " + std::to_string(one.place) + " of client number " +
           std::to_string(one.client);
}

}  // namespace

bool is_in_order(const kinds::command& what) {
    return what.place_ttl != 0 && what.step != core::step::remaining;
}

bool asks_for_turn(const kinds::command& what) {
    return is_in_order(what) && core::takes_key(what) && !what.heals;
}

stored_waiter sender_of(const kinds::command& what) {
    return {what.ticket, what.place, true};
}

void order_checker::fail(const std::string& rule, const std::string& key, const std::string& what) {
    world_.violation(rule, server_ + " " + what + ", of " + key);
}

void order_checker::on_executed(const kinds::command& what, const core::vote& answer,
                                const small_redis::keyspace& before,
                                const small_redis::keyspace& after, wall_milliseconds now) {
    if (!is_in_order(what)) {
        return;
    }
    const std::string key(what.key);
    const stored_waiters had = waiters_before(before, key, now);
    const stored_waiters has = read_waiters(after, key, now);
    if (had.is_foreign || has.is_foreign) {
        seen_.erase(key);
        return;
    }
    longest_ticket_ = std::max(longest_ticket_, core::milliseconds(what.place_ttl));
    expect_kept(key, had, before, now);
    if (asks_for_turn(what) && answer.kind == core::vote_kind::granted &&
        !had.is_turn_of(sender_of(what))) {
        fail("order", key, "has granted past a living waiter to " + text_of(sender_of(what)));
    }
    expect_change(what, answer, had, has);
    seen_.insert_or_assign(key, has);
}

void order_checker::on_standstill(const small_redis::keyspace& keys, wall_milliseconds now,
                                  true_time until) {
    if (until - world_.now() < longest_ticket_ / 2) {
        return;
    }
    constexpr wall_milliseconds few_in_a_row = 17 * stored_waiters::usual_life;
    for (const auto& [key, all] : seen_) {
        const stored_waiters there = waiters_before(keys, key, now);
        for (const stored_waiter& one : there.members) {
            if (one.lives && there.remaining <= few_in_a_row) {
                kept_[{key, one.client}] = until + longest_ticket_ * 3 / 4;
            }
        }
    }
}

stored_waiters order_checker::waiters_before(const small_redis::keyspace& before,
                                             const std::string& key, wall_milliseconds now) const {
    stored_waiters result = read_waiters(before, key, now);
    for (stored_waiter& one : result.members) {
        const auto found = kept_.find({key, one.client});
        one.lives = one.lives || (found != kept_.end() && world_.now() < found->second);
    }
    return result;
}

/// Checks that since the latest command only time has passed.
void order_checker::expect_kept(const std::string& key, const stored_waiters& now,
                                const small_redis::keyspace& keys, wall_milliseconds at) {
    for (const stored_waiter& one : seen_[key].members) {
        if (one.lives && now.find(one) == nullptr && has_ticket(keys, key, one.client, at)) {
            fail("order", key, "has lost " + text_of(one));
        }
    }
}

void order_checker::expect_change(const kinds::command& what, const core::vote& answer,
                                  const stored_waiters& before, const stored_waiters& after) {
    const std::string key(what.key);
    const stored_waiter own = sender_of(what);
    const bool is_done = answer.kind != core::vote_kind::failed;
    const bool is_turn = is_done && asks_for_turn(what);
    const bool is_granted = is_turn && answer.kind == core::vote_kind::granted;
    const bool enters = is_done && what.step == core::step::join
                            ? what.value == 0
                            : is_turn && !is_granted && what.announces;
    std::vector<stored_waiter> expected = before.members;
    if (is_granted) {
        std::erase_if(expected, [&](const stored_waiter& one) { return one.is_same(own); });
    } else if (enters && before.find(own) == nullptr) {
        expected.push_back(own);
    } else if (is_done && what.step == core::step::leave) {
        std::erase_if(expected, [&](const stored_waiter& one) { return one.is_same(own); });
        if (after.find(own) != nullptr) {
            fail("leave", key, "keeps the place of " + text_of(own) + ", which has left");
        }
    }
    auto there = after.members.begin();
    for (const stored_waiter& one : expected) {
        const bool may_be_removed =
            is_done && (one.client == own.client ? one.place < own.place : !one.lives);
        if (there != after.members.end() && there->is_same(one)) {
            ++there;
        } else if (!may_be_removed) {
            fail("order", key, "has not left " + text_of(one) + " at its place");
            return;
        }
    }
    if (there != after.members.end()) {
        fail("order", key, "has given a place to " + text_of(*there));
    }
    const bool stays = what.step == core::step::join && answer.kind == core::vote_kind::granted;
    const stored_waiter* const ours = after.find(own);
    if ((enters || stays) && (ours == nullptr || !ours->lives)) {
        fail("order", key, "says that it keeps " + text_of(own) + ", and has no ticket of it");
    }
}

// --- Without faults -----------------------------------------------------------------------------------

void place_checker::expect_soon(std::map<place, true_time>& since, const place& which, bool holds,
                                duration longest, const std::string& rule,
                                const std::string& what) {
    if (holds) {
        since.erase(which);
        return;
    }
    const true_time begin = since.try_emplace(which, world_.now()).first->second;
    if (world_.now() - begin >= longest) {
        world_.violation(rule, what + std::get<0>(which) + ", for " + in_ms(world_.now() - begin));
    }
}

void place_checker::look(const std::string& key, const stored_waiters& there,
                         const std::vector<client_waiters>& clients) {
    constexpr duration longest_without = 150ms;  // The grant may be in flight.
    constexpr duration longest_stale = 600ms;    // A lost leave is sent again.
    const auto named = [&](std::uint64_t client) {
        return std::ranges::find(clients, client, &client_waiters::number);
    };
    for (const client_waiters& one : clients) {
        for (const std::uint64_t number : one.waiting) {
            const stored_waiter* const found = there.find({one.number, number});
            const bool has_place = found != nullptr && found->lives;
            expect_soon(
                missing_since_, {key, one.number, number},
                has_place || !one.settled.contains(number), longest_without, "place",
                one.who + "'s waiter " + std::to_string(number) + " has no place in the queue of ");
        }
    }
    std::set<place> stale;
    const auto first = std::ranges::find_if(there.members, &stored_waiter::lives);
    if (first != there.members.end()) {
        // An earlier waiter of the client uses a place that is back after a restart without the last writes.
        const auto its = named(first->client);
        if (its == clients.end() ||
            (!its->holds && (its->waiting.empty() || *its->waiting.begin() > first->place))) {
            stale.emplace(key, first->client, first->place);
        }
    }
    std::erase_if(stale_since_, [&](const auto& one) {
        return std::get<0>(one.first) == key && !stale.contains(one.first);
    });
    for (const place& one : stale) {
        expect_soon(stale_since_, one, false, longest_stale, "leave",
                    "waiter " + std::to_string(std::get<2>(one)) + " of client number " +
                        std::to_string(std::get<1>(one)) + " waits no more, and has a place, for ");
    }
}

void place_checker::skip(const std::string& key) {
    const auto is_of_key = [&](const auto& one) { return std::get<0>(one.first) == key; };
    std::erase_if(missing_since_, is_of_key);
    std::erase_if(stale_since_, is_of_key);
}

}  // namespace colock::simulation
