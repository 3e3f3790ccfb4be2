// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/voter.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {

voter::voter(world& w, std::size_t index, const deployment& d)
    : world_(w), name_("instance " + std::to_string(index)), kind_(d) {
    const bool is_cluster = d.kind == topology::cluster;
    const std::size_t masters = is_cluster ? master_count : 1;
    auto first = std::make_unique<server>(w, name_, *d.speaks, is_cluster ? slot_count : 1);
    if (!d.tells_changes) {
        first->tell_nothing();
    }
    add(std::move(first), 0);
    const auto add_more = [&](std::size_t n, std::size_t master) {
        const std::string name = name_ + " node " + std::to_string(n);
        add(std::make_unique<server>(*nodes_.front(), name), master);
    };
    for (std::size_t i = 1; i != masters; ++i) {
        add_more(i, i);
    }
    for (std::size_t i = 0; i != masters * d.replicas; ++i) {
        add_more(masters + i, i % masters);
        nodes_.back()->demote();
    }
    for (std::size_t slot = 0; slot != (is_cluster ? slot_count : 1); ++slot) {
        owners_.push_back(slot % masters);
    }
}

void voter::add(std::unique_ptr<server> node, std::size_t master) {
    const std::size_t i = nodes_.size();
    server& added = *nodes_.emplace_back(std::move(node));
    replication_.push_back({});
    replication_.back().master = master;
    added.on_down = [this, i] {
        if (on_down) {
            on_down(i);
        }
    };
    added.on_destroyed = [this](const std::string& token) { on_destroyed(token); };
    added.on_forgotten = [this](const std::string& token) { on_forgotten(token); };
    added.on_granted = [this, i](const std::string& key, const std::string& token) {
        if (owners_[slot_of(key)] == i || is_importing(i, key)) {
            on_granted(token);
        } else {  // No other server will ever have it.
            quarantined() ? on_forgotten(token) : on_destroyed(token);
        }
    };
    added.on_record = [this, &added](const request& what, const stored_record& before,
                                     const stored_record& after) {
        on_record(what, before, after, added.who());
    };
    added.on_result = [this, i](const request& what, const core::vote& answer,
                                const result_change& change) {
        on_result(what, answer, change,
                  owners_[slot_of(what.key())] == i || is_importing(i, what.key()));
    };
    if (kind_.replicas != 0) {
        added.on_written = [this, i] { replicate(i); };
    }
}

// --- Replication ------------------------------------------------------------------------------------

/// Copies the master's writes to its replicas. A lagging replica is a fault, because an acquire that waits
/// for it fails. After the faults, replicas therefore keep up. Once in 60,000 schedules, a client had failed
/// 27 times in a row for this reason.
void voter::replicate(std::size_t from) {
    const fault_model& f = world_.faults();
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        if (i != from && replication_[i].master == from) {
            const true_time sent = std::max(world_.now(), replication_cut_until_);
            const duration delay =
                f.least_delay +
                world_.random.up_to(world_.calm() ? f.usual_delay : f.replication_delay);
            copy_to(i, from, std::max(sent + delay, replication_[i].last_arrival));
        }
    }
}

void voter::copy_to(std::size_t replica, std::size_t from, true_time arrival) {
    replication_[replica].last_arrival = arrival;
    const std::uint64_t link = replication_[replica].link;
    const std::uint64_t written = nodes_[from]->written();
    world_.at(arrival, [this, replica, link, written, what = nodes_[from]->copy()] {
        replication& r = replication_[replica];
        if (r.link == link && written > r.written) {
            nodes_[replica]->replace(*what);
            r.written = written;
        }
    });
}

std::size_t voter::replicas_of(std::size_t node, std::uint64_t written) const {
    std::size_t result = 0;
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        result += i != node && replication_[i].master == node && replication_[i].written >= written
                      ? 1U
                      : 0U;
    }
    return result;
}

void voter::cut_replication(true_time until) {
    world_.count(fault::replication_cut);
    if (world_.tracing()) {
        world_.tell(name_, "its replicas hear nothing for " + in_ms(until - world_.now()));
    }
    replication_cut_until_ = std::max(replication_cut_until_, until);
    // Writes in flight arrive with the later ones.
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        const std::size_t master = replication_[i].master;
        if (master != i) {
            ++replication_[i].link;
            copy_to(i, master, replication_cut_until_);
        }
    }
}

// --- Failover ---------------------------------------------------------------------------------------

/// Reports the locks that a promoted replica may lack. If locks must be on all replicas before they count, a
/// lock that the replica never had is no excuse.
void voter::lose(std::size_t former_master, std::size_t promoted) {
    const bool all_replicated = kind_.replicas_acked == kind_.replicas;
    for (const auto& [key, token] : nodes_[former_master]->holders()) {
        const bool never_had_it = !nodes_[promoted]->was_last_held_by(key, token);
        world_.count(never_had_it ? fault::lock_lost : fault::renewal_lost);
        if (quarantined()) {
            on_forgotten(token);
        } else if (!never_had_it || !all_replicated) {
            on_destroyed(token);
        }
    }
}

void voter::fail_over(std::size_t node, former what, duration back_after) {
    finish_migration();
    std::size_t promoted = nodes_.size();
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        const bool knows_more =
            promoted == nodes_.size() || replication_[i].written > replication_[promoted].written;
        if (i != node && replication_[i].master == node && nodes_[i]->up() && knows_more) {
            promoted = i;
        }
    }
    const bool is_used = std::find(owners_.begin(), owners_.end(), node) != owners_.end();
    if (promoted == nodes_.size() || !is_used) {
        return;
    }
    failed_over_ = world_.now();
    const bool stays = what == former::alive && kind_.kind == topology::sentinel;
    world_.count(what == former::dead ? fault::failover_from_dead : fault::failover_from_alive);
    if (world_.tracing()) {
        world_.tell(name_, "node " + std::to_string(promoted) + " takes over from node " +
                               std::to_string(node) +
                               (what == former::dead ? ", which is dead" : ", which is alive"));
    }
    lose(node, promoted);
    ++epoch_;
    std::replace(owners_.begin(), owners_.end(), node, promoted);
    nodes_[promoted]->promote(name_ + "." + std::to_string(++terms_));
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
        replication& r = replication_[i];
        if (i == promoted || r.master == node) {
            ++r.link;
            r.written = 0;
            r.master = i == node ? node : promoted;
        }
    }
    replication_[promoted].promoted_at = world_.now();
    replicate(promoted);
    if (what == former::dead) {
        nodes_[node]->restart(back_after, server::data::kept);
        nodes_[node]->demote();
    } else if (!stays) {
        // A client that kept its connection until the node is promoted again would not detect the failover.
        nodes_[node]->demote();
    }
    world_.after(back_after, [this, node, promoted, stays] {
        if (stays) {
            nodes_[node]->demote();
        }
        replication& r = replication_[node];
        ++r.link;
        r.written = 0;
        r.master = promoted;
        while (replication_[r.master].master != r.master) {
            r.master = replication_[r.master].master;
        }
        replicate(r.master);
    });
    if (kind_.kind == topology::sentinel) {
        for (std::size_t i = 0; i != sentinel_count; ++i) {
            world_.after(
                world_.faults().least_delay + world_.random.up_to(world_.faults().sentinel_delay),
                [this, i, promoted] { hear_of(i, promoted); });
        }
    }
}

void voter::hear_of(std::size_t sentinel, std::size_t node) {
    opinion& one = sentinels_[sentinel];
    if (one.cut_until > world_.now()) {
        world_.at(one.cut_until, [this, sentinel, node] { hear_of(sentinel, node); });
        return;
    }
    if (node != owners_.front()) {
        return;  // Another failover has happened.
    }
    one.node = node;
    one.since = world_.now();
    if (on_failover_message) {
        on_failover_message(sentinel);
    }
}

void voter::cut_sentinel(std::size_t i, true_time until) {
    world_.count(fault::sentinel_cut);
    if (world_.tracing()) {
        world_.tell(name_, "its Sentinel " + std::to_string(i) + " hears nothing for " +
                               in_ms(until - world_.now()));
    }
    sentinels_[i].cut_until = std::max(sentinels_[i].cut_until, until);
}

void voter::migrate(const std::string& key, std::size_t to) {
    const std::size_t from = owners_[slot_of(key)];
    if (moving_ || from == to || !nodes_[from]->up() || !nodes_[to]->up() ||
        !nodes_[to]->is_master()) {
        return;
    }
    world_.count(fault::slot_migration);
    if (world_.tracing()) {
        world_.tell(name_, "the slot of " + key + " begins to move from node " +
                               std::to_string(from) + " to node " + std::to_string(to));
    }
    moving_ = {key, instance::redis::key_slot(key), from, to};
    nodes_[from]->begin_to_export(moving_->slot, to);
    nodes_[to]->begin_to_import(moving_->slot, from);
    move_next_key(world_.now() + world_.random.between(20ms, 200ms));
}

void voter::move_next_key(true_time end) {
    world_.after(world_.random.up_to(20ms), [this, end, slot = moving_->slot] {
        if (!moving_ || moving_->slot != slot) {
            return;
        }
        server& from = *nodes_[moving_->from];
        server& to = *nodes_[moving_->to];
        if (from.up() && to.up()) {
            from.move_key(slot, to);
        }
        if (world_.now() < end) {
            move_next_key(end);
        } else {
            finish_migration();
        }
    });
}

/// Moves the slot with the remaining keys.
void voter::finish_migration() {
    if (!moving_) {
        return;
    }
    const migration done = *std::exchange(moving_, std::nullopt);
    nodes_[done.from]->end_movement(done.slot);
    nodes_[done.to]->end_movement(done.slot);
    const std::size_t slot = slot_of(done.key);
    if (owners_[slot] == done.from) {
        owners_[slot] = done.to;
        ++epoch_;
        nodes_[done.from]->hand_off(slot, *nodes_[done.to]);
    }
}

void voter::move_slot(std::size_t slot, std::size_t to) {
    const std::size_t from = owners_[slot];
    if (moving_ || from == to || !nodes_[from]->up() || !nodes_[to]->up() ||
        !nodes_[to]->is_master()) {
        return;
    }
    world_.count(fault::slot_move);
    if (world_.tracing()) {
        world_.tell(name_, "slot " + std::to_string(slot) + " moves from node " +
                               std::to_string(from) + " to node " + std::to_string(to));
    }
    owners_[slot] = to;
    ++epoch_;
    nodes_[from]->hand_off(slot, *nodes_[to]);
}

void voter::become_another_cluster(std::uint64_t epochs) {
    finish_migration();
    if (world_.tracing()) {
        world_.tell(name_, "another cluster answers at its addresses");
    }
    for (const auto& one : nodes_) {
        one->become_another();
    }
    for (std::size_t& owner : owners_) {
        owner = (owner + 1) % master_count;
    }
    ++cluster_;
    epoch_ += epochs;
    another_since_ = world_.now();
}

// --- For the checkers -------------------------------------------------------------------------------

true_time voter::quarantined_until(const std::string& key) const {
    const std::size_t owner = owners_[slot_of(key)];
    const true_time replaced =
        another_since_ == true_time() ? true_time() : another_since_ + world_.faults().quarantine;
    const true_time restarted = std::max(replaced, nodes_[owner]->quarantined_until());
    if (!nodes_[owner]->was_promoted()) {
        return restarted;
    }
    const duration noticed = kind_.kind == topology::sentinel ? noticed_within : duration{};
    return std::max(restarted,
                    replication_[owner].promoted_at + noticed + world_.faults().quarantine);
}

true_time voter::quarantined_by_some_until(const std::string& key) const {
    true_time result = quarantined_until(key);
    const std::size_t owner = owners_[slot_of(key)];
    if (kind_.kind == topology::sentinel && nodes_[owner]->was_promoted()) {
        for (const opinion& one : sentinels_) {
            const true_time named = one.node == owner ? one.since : world_.now();
            result = std::max(result, named + noticed_within + world_.faults().quarantine);
        }
    }
    return result;
}

bool voter::rolled_back() const {
    return failed_over_ != true_time() ||
           std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& one) { return one->rolled_back(); });
}

bool voter::has_lost_data() const {
    return rolled_back() ||
           std::ranges::any_of(nodes_, [](const auto& one) { return one->has_forgotten(); });
}

true_time voter::forgot_at() const {
    true_time result = failed_over_;
    for (const auto& one : nodes_) {
        result = std::max(result, one->forgot_at());
    }
    return result;
}

duration voter::set_back() const {
    duration result{};
    for (const auto& one : nodes_) {
        result = std::max(result, one->set_back());
    }
    return result;
}

}  // namespace colock::simulation
