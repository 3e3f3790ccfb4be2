#include "simulation/checker.hpp"

#include "simulation/client.hpp"

#include <algorithm>
#include <bit>

namespace colock::simulation {

using purpose = core::lease_tag::purpose_type;

std::string checker::describe(const token_life& life) const {
    return "token " + life.token + " of " + life.owner.who() + " on " + life.lock.key;
}

void checker::on_fresh_token(const std::string& token) {
    if (lives_.contains(token)) {
        world_.violation("fresh token", token + " was used before");
    }
}

void checker::add(token_life& life) {
    lives_[life.token] = &life;
}

void checker::on_sent(const token_life& life, core::lease_tag tag) {
    const purpose p = tag.purpose();
    if (life.let_go && (p == purpose::acquire || p == purpose::extend || p == purpose::heal)) {
        world_.violation("nothing after the end", describe(life));
    }
}

bool checker::counts_now(const token_life& life) const {
    return life.counts && !life.owner.dead() && life.owner.now() < life.valid_until;
}

std::uint64_t checker::held_at(const token_life& life) const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i != servers_.size(); ++i) {
        if (servers_[i]->holds(life.lock.key, life.token)) {
            result |= std::uint64_t{1} << i;
        }
    }
    return result;
}

/// It would have a quorum of keys if none had been destroyed, and has none.
bool checker::excused(const token_life& life) const {
    const std::uint64_t held = held_at(life);
    const auto quorum = servers_.size() / 2 + 1;
    return static_cast<std::size_t>(std::popcount(held)) < quorum &&
           static_cast<std::size_t>(std::popcount(held | life.destroyed_at)) >= quorum;
}

void checker::expect_backed(const token_life& life) {
    const std::uint64_t keys = held_at(life) | life.destroyed_at;
    if (world_.profile().claims.mutual_exclusion &&
        static_cast<std::size_t>(std::popcount(keys)) < servers_.size() / 2 + 1) {
        world_.violation("backed validity", describe(life) + " is valid for another " +
                                                in_ms(life.valid_until - life.owner.now()) +
                                                " with " + std::to_string(std::popcount(keys)) +
                                                " keys of " + std::to_string(servers_.size()));
    }
}

void checker::on_validity(token_life& life) {
    auto& rivals = valid_[life.lock.key];
    if (!life.counts) {
        life.counts = true;
        rivals.push_back(&life);
    }
    if (!counts_now(life)) {
        return;
    }
    for (token_life* other : rivals) {
        if (other == &life || !counts_now(*other)) {
            continue;
        }
        if (!world_.profile().claims.mutual_exclusion || excused(*other) || excused(life)) {
            ++world_.tally.excused;
        } else {
            world_.violation("mutual exclusion", describe(life) + " and " + describe(*other));
        }
    }
    expect_backed(life);
    // And at the very end, if it has not changed again.
    const core::time_point until = life.valid_until;
    world_.at(life.owner.clock().when(until) - 2us, [this, &life, until] {
        if (life.valid_until == until && counts_now(life)) {
            expect_backed(life);
        }
    });
    world_.at(life.owner.clock().when(until) + 1us, [this, &life, until] {
        if (life.counts && life.valid_until == until && !life.owner.dead() &&
            life.owner.paused_until() < world_.now() - 1us) {
            world_.violation("loss in time", describe(life) + " is over, and nobody was told");
        }
    });
}

void checker::on_invalid(token_life& life) {
    if (life.counts) {
        life.counts = false;
        std::erase(valid_[life.lock.key], &life);
    }
}

void checker::on_lost(token_life& life, core::loss why) {
    ++world_.tally.losses;
    const core::time_point now = life.owner.now();
    const bool was_awake = life.owner.paused_until() < world_.now() - 1us;
    if (now >= life.valid_until && was_awake) {
        world_.violation("loss in time",
                         describe(life) + " was over before the loss was announced");
    }
    const bool by_itself = why == core::loss::keys_gone || why == core::loss::unrenewable;
    const bool renewed = life.lock.lease.renew_interval > duration::zero();
    if (by_itself && renewed && world_.profile().claims.no_loss) {
        world_.violation("needless loss", describe(life));
    }
}

void checker::on_ended(token_life& life) {
    const bool before_its_time = life.owner.now() < life.let_go_at + life.lock.lease.ttl;
    if (!before_its_time || life.unanswered != 0 || life.outcome_unknown ||
        world_.faults().rollbacks > 0) {
        return;
    }
    // Where a release may have overtaken its acquire, only what the client could know.
    const bool in_order = world_.faults().second_connections == 0;
    if ((held_at(life) & (in_order ? ~std::uint64_t{0} : life.granted_last)) != 0) {
        world_.violation("undone", describe(life) + " has ended with a key left");
    }
}

void checker::on_destroyed(std::size_t server, const std::string& token) {
    const auto found = lives_.find(token);
    if (found != lives_.end()) {
        found->second->destroyed_at |= std::uint64_t{1} << server;
    }
}

void checker::expect_no_keys(const std::vector<std::string>& keys) {
    for (const auto& one : servers_) {
        for (const std::string& key : keys) {
            if (one->holds_anything(key)) {
                world_.violation("gone after the ttl",
                                 one->who() + " still has " + key + " of " + one->holder_of(key));
            }
        }
    }
}

}  // namespace colock::simulation
