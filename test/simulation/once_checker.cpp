// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/once_checker.hpp"

#include "simulation/client.hpp"

#include "kinds/once/once.hpp"

#include <algorithm>
#include <bit>

namespace colock::simulation {
namespace {

constexpr duration rounding = 2ms;  // Of a key's time.

constexpr std::uint64_t bit(std::size_t instance) {
    return std::uint64_t{1} << instance;
}

std::size_t count(std::uint64_t instances) {
    return static_cast<std::size_t>(std::popcount(instances));
}

const std::string& client_of(const request& what) {
    return what.once != nullptr ? what.once->client : what.life->owner.who();
}

}  // namespace

void once_checker::fail(const std::string& rule, const once_life& life, const std::string& what) {
    world_.violation(rule, life.client + "'s call for " + life.key + " " + what);
}

void once_checker::fail_at(std::size_t instance, const std::string& rule, const std::string& what) {
    world_.violation(rule, voters_[instance]->who() + " " + what);
}

// --- At a server ----------------------------------------------------------------------------------------

void once_checker::on_executed(std::size_t instance, const request& what, const core::vote& answer,
                               const result_change& change, bool counts) {
    if (what.once == nullptr && what.life == nullptr) {
        return;  // It only queries the remaining ttl.
    }
    if (what.command.step == core::step::complete) {
        expect_swap(instance, what, answer, change);
    } else {
        expect_answer(instance, what, answer, change);
    }
    if (change.after.record.empty()) {
        return;
    }
    const auto client = std::pair(client_of(what), change.after.record);
    shown_[client] |= bit(instance);
    if (change.before.record == change.after.record) {
        return;
    }
    auto& known = results_[what.key()];
    const auto its = known.find(change.after.record);
    if (its == known.end()) {
        fail_at(instance, "result", "has a record of " + what.key() + " that no body has returned");
    } else if (its->second.is_denied) {
        fail_at(instance, "not recorded",
                "stores a record of " + what.key() + " whose caller was told that there is none");
    } else if (counts) {
        its->second.copies.insert_or_assign(instance, std::pair(world_.now(), change.end));
    }
}

void once_checker::expect_swap(std::size_t instance, const request& what, const core::vote& answer,
                               const result_change& change) {
    const auto& [before, after, end] = change;
    const std::string& record = *what.command.values;
    const bool is_ours = before.exists && !what.token().empty() && before.token == what.token();
    const bool has_it = before.record == record;
    const bool is_free = !before.exists && what.once->record != record;
    const bool is_granted = answer.kind == core::vote_kind::granted;
    if (is_granted != (is_ours || has_it || is_free) && answer.kind != core::vote_kind::failed) {
        fail_at(instance, "compare and set",
                std::string(is_granted ? "grants" : "denies") + " a record of " + what.key() +
                    " wrongly");
    } else if (is_granted ? after.record != record : after != before) {
        fail_at(instance, "compare and set", "has something else for " + what.key());
    }
    if (!is_granted) {
        return;
    }
    const duration left = after.left - (has_it ? before.left : what.command.ttl);
    if (left < -rounding || left > rounding) {
        fail_at(instance, "keep", "has a record of " + what.key() + " end at another time");
    }
    if (what.once->record == record && what.command.ttl != what.once->keep) {
        fail_at(instance, "keep",
                "has a new record of " + what.key() + " for another time than it is to be kept");
    }
}

void once_checker::expect_answer(std::size_t instance, const request& what,
                                 const core::vote& answer, const result_change& change) {
    const auto& [before, after, end] = change;
    const bool may_take = what.command.step == core::step::acquire && !before.exists;
    const bool has_changed = before.record.empty() ? !after.record.empty() : after != before;
    const bool is_look = what.command.step == core::step::look;
    if (has_changed || (is_look && after != before)) {
        fail_at(instance, "compare and set", "has changed what " + what.key() + " has");
    }
    if (answer.kind == core::vote_kind::failed) {
        return;
    }
    if (!is_look && what.command.step != core::step::acquire) {
        return;
    }
    const bool tells_record =
        answer.kind == core::vote_kind::denied && answer.key == core::key_state::completed;
    const bool is_true =
        tells_record ? answer.detail && *answer.detail == before.record : before.record.empty();
    if (!is_true || (answer.kind == core::vote_kind::granted && !is_look && !may_take)) {
        fail_at(instance, "compare and set", "tells what " + what.key() + " does not have");
    }
}

void once_checker::on_answer(once_life& life, std::size_t instance, const core::vote& v) {
    if (v.kind == core::vote_kind::granted) {
        life.recorded_by |= bit(instance);
    } else if (v.kind == core::vote_kind::denied) {
        life.refused_by |= bit(instance);
    }
}

// --- At a client ----------------------------------------------------------------------------------------

/// Returns the number of instances that must still have the record.
std::size_t once_checker::remembering(const result& one) const {
    return static_cast<std::size_t>(std::ranges::count_if(one.copies, [&](const auto& copy) {
        const auto& [stored, end] = copy.second;
        return world_.now() + rounding < end && voters_[copy.first]->forgot_at() < stored;
    }));
}

const once_checker::result* once_checker::kept(const std::string& key,
                                               true_time told_before) const {
    const auto of_key = results_.find(key);
    if (of_key == results_.end()) {
        return nullptr;
    }
    for (const auto& [record, one] : of_key->second) {
        if (one.told < told_before && remembering(one) >= core::quorum_of(voters_.size())) {
            return &one;
        }
    }
    return nullptr;
}

void once_checker::on_body(const once_life& life) {
    ++world_.tally.bodies;
    const result* const one = kept(life.key, world_.now());
    if (one != nullptr && world_.profile().claims.mutual_exclusion) {
        fail("once", life, "runs its body, and the result of " + one->by.client + " is kept");
    }
}

void once_checker::on_returned(const once_life& life) {
    results_[life.key].try_emplace(life.record, result{life});
}

void once_checker::expect_shown(const once_life& life, const std::string& record) {
    if (count(shown_[{life.client, record}]) < core::quorum_of(voters_.size())) {
        fail("result", life, "is told of a record that no quorum has shown");
    }
}

void once_checker::on_told(const once_life& life, const std::string& record) {
    ++(record == life.record ? world_.tally.results_new : world_.tally.results_found);
    expect_shown(life, record);
    auto& known = results_[life.key];
    const auto its = known.find(record);
    if (its == known.end() || its->second.by.fingerprint != life.fingerprint) {
        fail("result", life, "is told a result that no body with its fingerprint has returned");
        return;
    }
    const result* const other = kept(life.key, life.started);
    if (other != nullptr && other != &its->second) {
        fail("once", life, "is told another result than " + other->by.client + "'s, which is kept");
    }
    its->second.told = std::min(its->second.told, world_.now());
}

void once_checker::on_mismatch(const once_life& life, const std::string& record) {
    expect_shown(life, record);
    const auto& known = results_[life.key];
    const auto its = known.find(record);
    if (its == known.end() || its->second.by.fingerprint == life.fingerprint) {
        fail("result", life, "is told of another request, and the result is of this one");
    }
}

void once_checker::on_unstored(const once_life& life, core::settlement_outcome outcome,
                               bool is_unknown) {
    ++world_.tally.results_unknown;
    if (!is_unknown) {
        result& its = results_[life.key].at(life.record);
        its.is_denied = true;
        if (!its.copies.empty()) {
            fail("not recorded", life, "is told that its result is not recorded, and it is");
        }
    }
    if (count(life.recorded_by) >= core::quorum_of(voters_.size())) {
        fail("outcome", life, "is told that its outcome is unknown, and a quorum has the result");
    }
    if (outcome == core::settlement_outcome::refused &&
        count(life.refused_by) <= core::spare_of(voters_.size())) {
        fail("outcome", life, "is told that its result was refused, and a quorum may have it");
    }
}

}  // namespace colock::simulation
