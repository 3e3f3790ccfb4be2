// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/record_checker.hpp"

#include "kinds/versioned/versioned.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {
namespace {

using core::write_outcome;

bool changes(const record_execution& one) {
    return one.after.version != one.before.version;
}

/// Returns whether the predicate holds for one of the executions during the operation.
template <typename Predicate>
bool in_time(const record_life& life, const Predicate& is_so) {
    return std::ranges::any_of(life.executions, [&](const record_execution& one) {
        return one.at >= life.started && one.at <= life.ended && is_so(one);
    });
}

std::string text_of(const stored_record& r) {
    return r.is_foreign ? "something else"
                        : "version " + std::to_string(r.version) + ", " +
                              (r.value ? "value " + *r.value : "no value");
}

}  // namespace

void record_checker::fail(const std::string& rule, const record_life& life,
                          const std::string& what) {
    std::string which = life.client;
    which.append(life.request.writes ? "'s write of " : "'s read of ").append(life.key);
    if (life.request.writes) {
        which.append(" from version ").append(std::to_string(life.request.expected));
    }
    world_.violation(rule, which.append(" ").append(what));
}

bool record_checker::has_lost_data() const {
    return voters_.front()->has_lost_data();
}

void record_checker::on_started(record_life& life) {
    life.started = world_.now();
    life.writes_at_start = writes_[life.key];
}

void record_checker::on_sent(const record_life& life) {
    if (life.is_told || life.outcome) {
        fail("nothing after the outcome", life, "is sent again");
    }
}

/// Returns whether a version may occur again. This is possible after a loss of data if the clock was set
/// back. Two masters may also write in the same microsecond.
bool record_checker::may_recur(std::uint64_t version, const known_state& largest,
                               const std::string& server) const {
    const voter& one = *voters_.front();
    const bool is_behind = has_lost_data() && one.set_back() > duration::zero();
    const bool are_two_masters = one.failed_over() != true_time() && server != largest.server &&
                                 version + 2 >= largest.what.version;
    return is_behind || are_two_masters;
}

/// Records a state. A value may have ended since the last look. If the clock was set back, it may be there
/// again. After a loss of data, an older state is there.
void record_checker::note(const std::string& key, const stored_record& now,
                          const std::string& server) {
    auto& known = states_[key];
    const auto [found, is_new] = known.try_emplace(now.version, known_state{now, server});
    if (!is_new) {
        if (!found->second.what.is_same_state(now) &&
            !may_recur(now.version, found->second, server)) {
            world_.violation("versions", server + " has " + text_of(now) + " of " + key +
                                             ", which was " + text_of(found->second.what));
        }
        return;
    }
    const auto before = known.find(now.version - 1);
    const bool has_ended =
        !now.value && before != known.end() && before->second.what.value.has_value();
    if (!has_ended && now.version != 0) {
        world_.violation("versions",
                         server + " has " + text_of(now) + " of " + key + ", which nobody wrote");
    }
}

void record_checker::expect_new(const std::string& key, const stored_record& after,
                                const std::string& server) {
    auto& known = states_[key];
    if (!known.empty()) {
        const known_state& largest = known.rbegin()->second;
        if (after.version <= largest.what.version && !may_recur(after.version, largest, server)) {
            world_.violation("versions", server + " has written " + text_of(after) + " of " + key +
                                             " after " + text_of(largest.what));
        }
    }
    known.insert_or_assign(after.version, known_state{after, server});
}

void record_checker::on_executed(record_life& life, const stored_record& before,
                                 const stored_record& after, const std::string& server) {
    life.executions.push_back({world_.now(), before, after, writes_[life.key]});
    if (before.is_foreign || after.is_foreign) {
        if (before != after) {
            fail("register", life, "has changed what is no record");
        }
        return;
    }
    note(life.key, before, server);
    if (!changes(life.executions.back())) {
        if (after != before) {
            fail("register", life, "has changed " + text_of(before) + " without a new version");
        }
        return;
    }
    ++writes_[life.key];
    expect_new(life.key, after, server);
    if (!life.request.writes || life.request.expected != before.version ||
        life.request.value != after.value) {
        fail("register", life, "has made " + text_of(after) + " of " + text_of(before));
    }
    const core::milliseconds life_of_key =
        kinds::tombstone_life + (after.value ? life.ttl : core::milliseconds(0));
    const bool is_lasting = after.value && life.ttl == core::milliseconds(0);
    if (after.left != (is_lasting ? std::nullopt : std::optional(life_of_key))) {
        fail("tombstone", life, "leaves the key with another ttl");
    }
    const bool is_second = std::ranges::count_if(life.executions, changes) > 1;
    if (is_second && !has_lost_data()) {
        fail("once", life, "is carried out twice");
    }
    const bool is_over = life.outcome == write_outcome::refused ||
                         life.outcome == write_outcome::unavailable ||
                         life.outcome == write_outcome::wrong_kind;
    if (is_over && (life.outcome != write_outcome::refused || !has_lost_data())) {
        fail("verdict", life, "is carried out after it was said never to be");
    }
}

void record_checker::on_told(const record_life& life) {
    switch (*life.outcome) {
        case write_outcome::applied:
            ++(life.request.writes ? world_.tally.writes_applied : world_.tally.records_read);
            break;
        case write_outcome::refused:
            ++world_.tally.writes_refused;
            break;
        case write_outcome::unknown:
            ++world_.tally.writes_unknown;
            break;
        default:
            break;
    }
    expect_true(life);
}

void record_checker::expect_true(const record_life& life) {
    const bool is_carried_out = std::ranges::any_of(life.executions, changes);
    const auto was_there = [&](const record_execution& e) {
        return e.before.is_same_state(life.reported);
    };
    switch (*life.outcome) {
        case write_outcome::applied:
            if (!life.request.writes && !in_time(life, was_there)) {
                fail("register", life, "reports " + text_of(life.reported) + ", which was not so");
            }
            if (life.request.writes && !in_time(life, [&](const record_execution& e) {
                    return changes(e) && e.before.version == life.request.expected &&
                           e.after.is_same_state(life.reported);
                })) {
                fail("verdict", life, "is said to be applied, and was not");
            }
            break;
        case write_outcome::refused:
            if (is_carried_out && !has_lost_data()) {
                fail("verdict", life, "is said to be refused, and was carried out");
            }
            if (!in_time(life, was_there)) {
                fail("register", life, "reports " + text_of(life.reported) + ", which was not so");
            }
            break;
        case write_outcome::unavailable:
            if (is_carried_out) {
                fail("verdict", life, "is said not to be carried out, and was");
            }
            break;
        case write_outcome::wrong_kind:
            if (is_carried_out ||
                !in_time(life, [](const record_execution& e) { return e.before.is_foreign; })) {
                fail("verdict", life, "is said to have met another lock, and has not");
            }
            break;
        case write_outcome::unknown:
            if (should_remember(life)) {
                fail("verdict", life, "is said to be unknown, and the record knows it");
            }
            break;
        case write_outcome::cancelled:
        case write_outcome::closed:
            break;
    }
}

/// Returns whether the record must still contain the outcome. The operation must have ended early, with a
/// reply from a record. The write must have started from a version that the record had, with few later
/// writes.
bool record_checker::should_remember(const record_life& life) const {
    const bool is_early =
        life.patience != core::duration::zero() && life.ended - life.started < life.patience / 2;
    const auto last = std::find_if(life.executions.rbegin(), life.executions.rend(),
                                   [&](const record_execution& e) { return e.at <= life.ended; });
    if (!is_early || has_lost_data() || voters_.front()->kind().replicas_acked != 0 ||
        last == life.executions.rend() || last->before.is_foreign ||
        life.executions.front().before.is_foreign) {
        return false;
    }
    return last->writes_before - life.writes_at_start < kinds::remembered_writes &&
           life.request.expected >= life.executions.front().before.version &&
           life.request.expected <= last->before.version;
}

}  // namespace colock::simulation
