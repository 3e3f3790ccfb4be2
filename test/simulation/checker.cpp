// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/checker.hpp"

#include "simulation/client.hpp"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace colock::simulation {

using purpose = core::lease_tag::purpose_type;

namespace {

constexpr duration rounding = 1ms;  // Of the remaining ttl that a server reports.

constexpr std::uint64_t bit(std::size_t server) {
    return std::uint64_t{1} << server;
}

/// Returns the key of the token in `lives_`: the token without the prefix of readers.
std::string name_of(const std::string& token) {
    return std::string(kinds::as_writers(token));
}

/// Returns whether an instance granted its key to `a` after `b` had held it there. Both attempts then
/// overlapped and keys were lost, so neither was first.
bool crossed(const token_life& a, const token_life& b) {
    return std::any_of(a.granted_at.begin(), a.granted_at.end(), [&](const auto& grant) {
        const auto found = b.granted_at.find(grant.first);
        return found != b.granted_at.end() && found->second < grant.second;
    });
}

}  // namespace

std::string checker::describe(const token_life& life) const {
    return "token " + life.token + " of " + life.owner.who() + " on " + life.key;
}

void checker::watch(std::size_t server) {
    voter& s = *voters_[server];
    s.on_destroyed = [this, server](const std::string& token) { on_destroyed(server, token); };
    s.on_forgotten = [this, server](const std::string& token) { on_forgotten(server, token); };
    s.on_granted = [this, server](const std::string& token) {
        on_restored(server, token);
        on_granted(server, token);
    };
    s.on_record = [this](const request& what, const stored_record& before,
                         const stored_record& after, const std::string& by) {
        records_.on_executed(*what.record, before, after, by);
    };
    s.on_result = [this, server](const request& what, const core::vote& answer,
                                 const result_change& change, bool counts) {
        once_.on_executed(server, what, answer, change, counts);
        if (!change.before.token.empty() && !change.after.record.empty()) {
            if (token_life* const life = find(change.before.token)) {
                life->completed_at |= bit(server);
            }
        }
    };
}

void checker::add(client& owner, std::vector<std::string> names, const std::string& token) {
    const auto [added, is_fresh] =
        lives_.try_emplace(name_of(token), owner, std::move(names), token);
    if (!is_fresh) {
        world_.violation("fresh token", token + " was used before");
        return;
    }
    of_[&owner].push_back(&added->second);
}

token_life* checker::find(const std::string& token) {
    const auto found = lives_.find(name_of(token));
    token_life* result = found == lives_.end() ? nullptr : &found->second;
    while (result != nullptr && result->adopted_as != nullptr) {
        result = result->adopted_as.get();
    }
    return result;
}

token_life* checker::find(const std::string& token, const client& in,
                          const runtime::lease_driver* lease) {
    const auto found = lives_.find(name_of(token));
    token_life* latest = nullptr;
    token_life* as_lease =
        nullptr;  // The latest one, because an earlier lease may have had the same address.
    for (token_life* one = found == lives_.end() ? nullptr : &found->second; one != nullptr;
         one = one->adopted_as.get()) {
        const bool is_there = &one->owner == &in;
        latest = is_there ? one : latest;
        as_lease = is_there && one->driver == lease ? one : as_lease;
    }
    if (latest == nullptr) {
        return find(token);  // The token is not fresh, which has been reported.
    }
    return lease != nullptr && as_lease != nullptr ? as_lease : latest;
}

/// Late commands of the former client may still grant it keys. If some are unanswered, the outcome is
/// therefore unknown.
token_life& checker::adopt(client& by, const std::string& token) {
    token_life& former = *find(token);
    if (former.is_adopting && &former.owner == &by && !former.let_go) {
        return former;  // This is a further attempt.
    }
    former.adopted_as = std::make_unique<token_life>(by, former.names, token);
    token_life& next = *former.adopted_as;
    next.is_adopting = true;
    next.slots = former.slots;
    next.was_detached = true;
    next.outcome_unknown = former.outcome_unknown || former.unanswered != 0;
    next.was_writers = former.was_writers;
    next.downgraded = former.downgraded;
    next.fence = former.fence;
    next.asked = by.now();
    next.may_have = (std::uint64_t{1} << voters_.size()) - 1;
    of_[&by].push_back(&next);
    return next;
}

void checker::on_adopted(token_life& life, std::uint64_t fence) {
    ++world_.tally.adopted;
    life.is_adopting = false;
    life.admits_readers = life.was_writers;
    if (!is_quorum(life.extended_by)) {
        world_.violation("adopted", describe(life) + " was adopted without a quorum");
    }
    const bool is_another = life.is_shared() ? fence < life.fence : fence != life.fence;
    if (is_another) {
        world_.violation("adopted", describe(life) + " has another fence");
    }
    life.fence = fence;
}

void checker::on_not_adopted(token_life& life, bool is_lost) {
    const auto denied = static_cast<std::size_t>(std::popcount(life.denied_by));
    if (is_lost && denied <= core::spare_of(voters_.size())) {
        world_.violation("adopted",
                         describe(life) + " was said to be lost, and a quorum may have it");
    }
    if (is_lost) {
        expect_lost(life);
    }
    world_.tally.not_adopted += is_lost ? 1U : 0U;
    on_abandoned(life);
}

void checker::on_submitted(token_life& life, const kinds::command& what, core::lease_tag tag) {
    life.longest_ttl = std::max<core::duration>(life.longest_ttl, what.ttl);
    if (tag.purpose() == purpose::release && life.abandoned) {
        world_.violation("abandoned", describe(life) + " is released");
    }
    if (life.is_permit()) {
        on_attempt(life, what, tag);
    }
    life.attempt_is_over = life.attempt_is_over || tag.purpose() == purpose::remaining ||
                           tag.purpose() == purpose::release;
    if (tag.purpose() == purpose::acquire) {
        life.asked = life.owner.now();
        life.fences_before = fences_[life.key].size();
    } else if (tag.purpose() == purpose::adopt) {
        life.extended_by = 0;
        life.denied_by = 0;
    } else if (tag.purpose() == purpose::extend) {
        life.latest_round = tag.round();
        life.reads_by_latest_round = kinds::is_reader(what.token);
        life.extended_by = 0;
        life.denied_by = 0;
    } else if (tag.purpose() == purpose::heal && !is_quorum(life.extended_by) &&
               !life.may_restore && life.latest_round > life.restores_in_round) {
        const bool corrects =
            life.is_permit() && std::ranges::any_of(life.slots_by_round, [&](const auto& of_one) {
                return of_one.second != life.slots;
            });
        if (!corrects) {
            world_.violation("healed by a quorum", describe(life));
        }
    }
}

namespace {

/// Returns the `quorum`-th smallest number at each position.
slot_numbers smallest_of_quorum(const std::vector<slot_numbers>& heard, std::size_t quorum) {
    slot_numbers result;
    for (std::size_t place = 0; place != heard.front().size(); ++place) {
        slot_numbers of_place;
        for (const slot_numbers& one : heard) {
            of_place.push_back(one[place]);
        }
        std::ranges::nth_element(of_place,
                                 of_place.begin() + static_cast<std::ptrdiff_t>(quorum - 1));
        result.push_back(of_place[quorum - 1]);
    }
    return result;
}

}  // namespace

/// Checks a step of a semaphore's attempt.
void checker::on_attempt(token_life& life, const kinds::command& what, core::lease_tag tag) {
    switch (tag.purpose()) {
        case purpose::acquire:
            life.is_first_look = !what.contended && life.wish.count == 1;
            std::tie(life.could_win, life.uneven_slots) = room_for(life.key, life.wish);
            life.grants_of_others = permit_grants_[life.key];
            break;
        case purpose::retake:
            ++world_.tally.retakes;
            // A vote after the decision may be from an instance of the quorum at which a slot is free. The
            // next round may then pass over that slot.
            life.could_win = life.could_win && was_decided_by_all(life, numbers_of(what));
            life.attempt_round = tag.round();
            life.slots_by_round.clear();
            life.heard_by_round.clear();
            life.denied_by_attempt = 0;
            if (tag.round() == std::max(std::size_t{3}, life.uneven_slots + 1)) {
                expect_lone_success(life, "needs too many rounds");
            }
            break;
        case purpose::extend:
        case purpose::heal:
            on_permits(life);
            if (life.wish.slots_of(numbers_of(what)) != life.slots) {
                world_.violation("backed number",
                                 describe(life) + " asks for other slots than it was granted");
            }
            break;
        default:
            break;
    }
}

/// Returns whether all instances had replied when the attempt decided on these numbers. The checker learns of
/// the decision only when the command is sent, which may be later. The numbers must therefore differ from the
/// result of fewer grants.
bool checker::was_decided_by_all(const token_life& life, const slot_numbers& numbers) const {
    const std::size_t quorum = core::quorum_of(voters_.size());
    const std::vector<slot_numbers>& heard = life.heard_by_round;
    const auto denied = static_cast<std::size_t>(std::popcount(life.denied_by_attempt));
    if (heard.size() + denied != voters_.size()) {
        return false;
    }
    for (std::size_t fewer = quorum; fewer < heard.size(); ++fewer) {
        if (numbers ==
            smallest_of_quorum({heard.begin(), heard.begin() + static_cast<std::ptrdiff_t>(fewer)},
                               quorum)) {
            return numbers == smallest_of_quorum(heard, quorum);
        }
    }
    return true;
}

void checker::on_permits(token_life& life) {
    if (life.slots != 0 || !life.is_permit()) {
        return;
    }
    for (const auto& [server, slots] : life.slots_by_round) {
        const auto same = std::ranges::count(life.slots_by_round, slots,
                                             [](const auto& of_one) { return of_one.second; });
        if (static_cast<std::size_t>(same) >= core::quorum_of(voters_.size())) {
            life.slots = slots;
        }
    }
    if (life.slots == 0) {
        world_.violation("backed number",
                         describe(life) + " was granted, and no quorum has granted one number");
    } else if (std::popcount(life.slots) != static_cast<int>(life.wish.count) ||
               (life.slots & ~life.wish.all()) != 0) {
        world_.violation("permits", describe(life) + " has other permits than it asked for");
    }
}

std::pair<bool, std::size_t> checker::room_for(const std::string& key,
                                               const permit_wish& wish) const {
    slot_set everywhere = wish.all();
    bool is_same = true;
    std::vector<std::size_t> free_at(wish.limit);
    for (const auto& one : voters_) {
        const slot_set free = one->free_slots(key, wish.limit);
        is_same = is_same && (one == voters_.front() || free == everywhere);
        everywhere = free;
        for (std::uint32_t i = 0; i != wish.limit; ++i) {
            free_at[i] += free >> i & 1U;
        }
    }
    const auto uneven = std::ranges::count_if(
        free_at, [&](std::size_t n) { return n != 0 && n != voters_.size(); });
    const bool has_room =
        wish.count == 1 ? std::ranges::max(free_at) >= core::quorum_of(voters_.size())
                        : is_same && std::popcount(everywhere) >= static_cast<int>(wish.count);
    return {has_room, static_cast<std::size_t>(uneven)};
}

/// Checks an attempt that has failed or needed too many rounds. The rule does not apply if instances may have
/// regained lost keys.
void checker::expect_lone_success(const token_life& life, const std::string& what) {
    const auto grants = permit_grants_.find(life.key);
    const bool is_set_back = std::ranges::any_of(
        voters_, [](const auto& one) { return one->set_back() != duration::zero(); });
    if (life.could_win && !life.vote_failed && !life.is_first_look &&
        grants->second == life.grants_of_others + life.own_grants && given_again() == 0 &&
        !is_set_back) {
        world_.violation("lone acquirer",
                         describe(life) + " " + what + ", though nobody else tries");
    }
}

void checker::on_attempt_answer(token_life& life, std::size_t server, core::lease_tag tag,
                                const core::vote& v, bool was_sent) {
    const bool is_latest = tag.round() == life.attempt_round;
    const bool granted = v.kind == core::vote_kind::granted;
    life.vote_failed = life.vote_failed || v.kind == core::vote_kind::failed;
    if (is_latest && granted) {
        life.slots_by_round[server] = life.wish.slots_of(numbers_of(v));
        life.heard_by_round.push_back(numbers_of(v));
    } else if (is_latest && v.kind == core::vote_kind::denied) {
        life.denied_by_attempt |= bit(server);
    }
    if (!was_sent) {
        return;  // Earlier commands may have granted permits, which remain.
    }
    const bool unknown = v.kind == core::vote_kind::failed && core::outcome_unknown(v.reason);
    if (is_latest && (!unknown || core::answered(v.reason))) {
        life.open_at &= ~bit(server);
    }
    const bool had_none = tag.round() == 0 || (life.only_by_retake & bit(server)) != 0;
    const bool has_none = v.kind == core::vote_kind::denied || (!unknown && had_none);
    if (granted) {
        life.may_have |= bit(server) & ~life.deleted_at;
    } else if (is_latest && has_none) {
        life.may_have &= ~bit(server);
    }
}

void checker::on_sent(token_life& life, std::size_t server, core::lease_tag tag) {
    const purpose p = tag.purpose();
    if (p == purpose::release || p == purpose::remaining) {
        return;
    }
    if (life.let_go || life.lost) {
        world_.violation("nothing after the end", describe(life));
    }
    if (p == purpose::retake) {
        life.only_by_retake &= ~bit(server);
        life.only_by_retake |= bit(server) & ~life.may_have;
    }
    if (p == purpose::acquire || p == purpose::retake || p == purpose::heal) {
        life.may_have |= bit(server);
        life.open_at |= bit(server);
    }
}

void checker::on_accepting(client& c, std::size_t server) {
    for (token_life* const life : of_[&c]) {
        close_at(*life, server);
    }
    on_ready(c);
}

void checker::on_ready(client& c) {
    for (token_life* const life : of_[&c]) {
        life->may_restore = true;
        life->restores_in_round = life->latest_round + 1;
    }
}

/// Records that all earlier commands to the server have been executed or never will be.
void checker::close_at(token_life& life, std::size_t server) {
    if ((life.open_at & bit(server)) != 0 && life.let_go) {
        life.open_at &= ~bit(server);
        life.closed_at[server] = life.owner.now();
    }
}

void checker::on_answer(token_life& life, std::size_t server, core::lease_tag tag,
                        const core::vote& v, bool was_sent) {
    const bool granted = v.kind == core::vote_kind::granted;
    const bool unknown = v.kind == core::vote_kind::failed && core::outcome_unknown(v.reason);
    const bool about_keys = tag.purpose() != purpose::raise && tag.purpose() != purpose::next_value;
    life.outcome_unknown = life.outcome_unknown || (about_keys && unknown);
    life.denied =
        life.denied || (v.kind == core::vote_kind::denied &&
                        (tag.purpose() == purpose::acquire || tag.purpose() == purpose::raise ||
                         tag.purpose() == purpose::retake));
    const bool is_mismatch =
        v.key == core::key_state::other_kind || v.key == core::key_state::other_limit;
    const bool is_attempt = tag.purpose() == purpose::acquire || tag.purpose() == purpose::retake;
    if (v.kind == core::vote_kind::denied && is_attempt && is_mismatch && !life.attempt_is_over) {
        life.mismatch_told = life.owner.now();
        life.of_another_kind_at |= v.key == core::key_state::other_kind ? bit(server) : 0;
        life.of_another_limit_at |= v.key == core::key_state::other_limit ? bit(server) : 0;
    }
    if (life.is_permit() && is_attempt) {
        on_attempt_answer(life, server, tag, v, was_sent);
        return;
    }
    switch (tag.purpose()) {
        case purpose::acquire:
        case purpose::heal:
            if (granted && tag.purpose() == purpose::acquire && !life.attempt_is_over) {
                life.granted_in_time |= bit(server);
            }
            if (granted && life.let_go) {
                life.granted_after |= bit(server);
            }
            if (!unknown || core::answered(v.reason)) {
                life.open_at &= ~bit(server);
            }
            if (granted) {
                life.may_have |= bit(server) & ~life.deleted_at;
            } else if (!unknown) {
                life.may_have &= ~bit(server);
            }
            break;
        case purpose::release:
            if (v.kind != core::vote_kind::failed) {
                life.may_have &= ~bit(server);
                life.open_at &= ~bit(server);
                life.release_answered_at |= bit(server);
            } else if (core::answered(v.reason)) {
                close_at(life, server);
            }
            if (granted) {
                life.deleted_at |= bit(server);
            }
            break;
        case purpose::extend:
            if (granted && tag.round() == life.latest_round) {
                life.extended_by |= bit(server);
                life.may_restore = life.may_restore && !is_quorum(life.extended_by);
                life.downgraded =
                    life.downgraded ||
                    (life.was_writers && life.reads_by_latest_round && is_quorum(life.extended_by));
            } else if (v.kind == core::vote_kind::denied && tag.round() == life.latest_round) {
                life.denied_by |= bit(server);
            }
            if (counts_now(life)) {
                expect_backed(life, life.valid_until);
            }
            break;
        case purpose::adopt:
            if (granted) {
                life.extended_by |= bit(server);
                life.downgraded =
                    life.downgraded || (life.was_writers && is_quorum(life.extended_by));
            } else if (v.kind == core::vote_kind::denied) {
                life.denied_by |= bit(server);
                life.may_have &= life.is_permit() ? ~std::uint64_t{0} : ~bit(server);
            }
            break;
        case purpose::remaining:
        case purpose::raise:
        case purpose::retake:
        case purpose::next_value:
            break;
    }
}

void checker::on_granted(std::size_t server, const std::string& token) {
    token_life* const life = find(token);
    if (life != nullptr && !permit_grants_.empty()) {
        for (const std::string& name : life->names) {
            ++permit_grants_[name];
        }
        ++life->own_grants;
    }
    if (life != nullptr && !life->counts) {
        life->granted_at.try_emplace(server, ++grants_);
    }
}

void checker::on_fence(token_life& life, std::uint64_t fence) {
    life.fence = fence;
    if (!world_.profile().claims.fence_order) {
        return;
    }
    auto& all = fences_[life.key];
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto& [other, others, to_reader] = all[i];
        // A reader's fence is at least the last writer's fence. A writer's fence is larger than all earlier
        // ones.
        const bool follows = life.is_shared() ? fence >= others : fence > others;
        // If two attempts overlapped, either may be the later one. Readers also hold the lock together, so a
        // reader with a larger fence has not waited for the other.
        const bool together = i >= life.fences_before;
        const bool unordered =
            together && ((life.is_shared() && to_reader) || crossed(*other, life));
        if (!follows && (fence == 0 || !unordered)) {
            world_.violation("fence order", describe(life) + " has " + std::to_string(fence) +
                                                " after " + std::to_string(others) + " of " +
                                                describe(*other));
        }
    }
    all.push_back({&life, fence, life.is_shared()});
}

void checker::on_share_fence(token_life& life, std::uint64_t fence, std::size_t fences_before) {
    if (!world_.profile().claims.fence_order) {
        return;
    }
    auto& all = fences_[life.key];
    for (std::size_t i = 0; i != fences_before; ++i) {
        if (fence < all[i].fence) {
            world_.violation("fence order", "a share of " + describe(life) + " has " +
                                                std::to_string(fence) + " after " +
                                                std::to_string(all[i].fence) + " of " +
                                                describe(*all[i].life));
        }
    }
    all.push_back({&life, fence, true});
}

void checker::on_handoff(token_life& life) {
    end_validity(life);
    life.handing_off = true;
    life.handoff_since = life.owner.now();
    life.fences_before = fences_[life.key].size();
}

bool checker::is_quorum(std::uint64_t servers) const {
    return static_cast<std::size_t>(std::popcount(servers)) >= voters_.size() / 2 + 1;
}

bool checker::was_awake(const token_life& life) const {
    return life.owner.paused_until() < world_.now() - 1us;
}

bool checker::counts_now(const token_life& life) const {
    return life.counts && !life.owner.dead() && life.owner.now() < life.valid_until;
}

/// Reports two leases that must not be valid at the same time.
void checker::expect_apart(const token_life& a, const token_life& b) {
    if (a.completes || b.completes) {
        return;
    }
    if (!world_.profile().claims.mutual_exclusion || excused(b) || excused(a)) {
        ++world_.tally.excused;
        return;
    }
    const bool are_permits = a.is_permit() && b.is_permit();
    world_.violation(b.lost                         ? "kept until let go"
                     : !are_permits                 ? "mutual exclusion"
                     : a.wish.limit != b.wish.limit ? "limit"
                                                    : "permits",
                     describe(a) + " and " + describe(b));
}

/// Returns whether the reader may be inside together with this lease. A lease that is being downgraded admits
/// readers of other clients on certain instances. These have already made it a reader's lease or do not have
/// its key.
bool checker::admits(const token_life& life, const token_life& reader) const {
    if (!life.was_writers || life.downgraded) {
        return life.is_shared();
    }
    std::uint64_t open = 0;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        open |= voters_[i]->is_open_beside(life.key, name_of(life.token), life.token) ? bit(i) : 0;
    }
    return &life.owner != &reader.owner && is_quorum(open);
}

bool checker::may_be_together(const token_life& a, const token_life& b) const {
    if (a.is_permit() && b.is_permit()) {
        return a.wish.limit == b.wish.limit && (a.slots & b.slots) == 0;
    }
    return admits(a, b) && admits(b, a);
}

/// Returns the instances that have a key of the token, even if only for one of its names.
std::uint64_t checker::held_at(const token_life& life) const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        const bool is_held = std::ranges::any_of(life.names, [&](const std::string& name) {
            return voters_[i]->holds(name, life.token);
        });
        result |= is_held ? bit(i) : 0;
    }
    return result;
}

/// Returns whether an instance has the slots of the lease, or the keys of all its names.
bool checker::backs(const token_life& life, std::size_t server) const {
    return life.is_permit() ? voters_[server]->slots_of(life.key, life.token) == life.slots
           : (life.completed_at & bit(server)) != 0
               ? true
               : std::ranges::all_of(life.names, [&](const std::string& name) {
                     return voters_[server]->holds(name, life.token);
                 });
}

std::uint64_t checker::backed_at(const token_life& life) const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        result |= backs(life, i) ? bit(i) : 0;
    }
    return result;
}

/// Returns the instances that may have regained lost keys.
std::uint64_t checker::given_again() const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        result |= voters_[i]->rolled_back() ? bit(i) : 0;
    }
    return result;
}

/// Returns the instances whose clocks were set back.
std::uint64_t checker::set_back_at() const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        result |= voters_[i]->set_back() > duration::zero() ? bit(i) : 0;
    }
    return result;
}

/// Returns the instances that have lost the lease's keys and grant them to no other client before `end`. With
/// several names, the instance may still have some of the keys.
std::uint64_t checker::quarantined_at(const token_life& life, true_time end) const {
    std::uint64_t result = 0;
    const bool is_several = life.names.size() != 1;
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        const auto is_safe = [&](const std::string& name) {
            return voters_[i]->quarantined_until(name) >= end ||
                   (is_several && voters_[i]->holds(name, life.token) &&
                    voters_[i]->lasts_until(name, life.token) + rounding >= end);
        };
        if ((life.forgotten_at & bit(i)) != 0 && std::ranges::all_of(life.names, is_safe)) {
            result |= bit(i);
        }
    }
    return result;
}

/// Returns whether the lease has no quorum of keys only because keys were destroyed.
bool checker::excused(const token_life& life) const {
    const std::uint64_t held =
        (backed_at(life) | quarantined_at(life, world_.now())) & ~life.destroyed_at;
    return !is_quorum(held) && is_quorum(held | life.destroyed_at);
}

/// Returns whether an instance has the key and keeps it until `end`. A record in place of the token also
/// counts, because the lease is then about to end.
bool checker::lasts(const token_life& life, std::size_t server, true_time end) const {
    return (life.completed_at & bit(server)) != 0 ||
           (backs(life, server) && std::ranges::all_of(life.names, [&](const std::string& name) {
                return voters_[server]->lasts_until(name, life.token) + rounding >= end;
            }));
}

/// Checks that the lease has a quorum of keys that last until its client's clock shows `until`.
void checker::expect_backed(const token_life& life, core::time_point until) {
    const true_time end = life.owner.clock().when(until);
    std::uint64_t held = quarantined_at(life, end);
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        if (lasts(life, i, end)) {
            held |= bit(i);
        }
    }
    if (world_.profile().claims.mutual_exclusion && !is_quorum(held | life.destroyed_at)) {
        world_.violation(life.is_permit() ? "backed number" : "backed validity",
                         describe(life) + " is valid for another " +
                             in_ms(life.valid_until - life.owner.now()) + ", but only " +
                             std::to_string(std::popcount(held)) + " keys of " +
                             std::to_string(voters_.size()) + " last as long");
    }
}

void checker::on_validity(token_life& life, core::time_point until) {
    const core::time_point now = life.owner.now();
    const bool is_over = now >= (life.counts ? life.valid_until : until);
    if (is_over && (!life.counts || until > life.valid_until)) {
        world_.violation("over is over", describe(life));
    }
    if (!life.counts) {
        life.counts = true;
        life.valid_since = now;
        for (const std::string& name : life.names) {
            valid_[name].push_back(&life);
        }
    }
    life.valid_until = until;
    const duration limit = life.policy->lease.max_hold;
    if (limit > duration::zero() && until > life.valid_since + limit) {
        world_.violation("max_hold", describe(life) + " is promised to be valid for longer");
    }
    if (!counts_now(life)) {
        return;
    }
    for (const std::string& name : life.names) {
        for (const token_life* const other : valid_[name]) {
            if (other != &life && counts_now(*other) && !may_be_together(life, *other)) {
                expect_apart(life, *other);
            }
        }
    }
    expect_backed(life, until);
    // Checks again at the very end, unless the validity has changed by then.
    const true_time end = life.owner.clock().when(until);
    world_.at(end - 2us, [this, &life, until] {
        if (life.valid_until == until && counts_now(life)) {
            expect_backed(life, life.owner.now());
        }
    });
    world_.at(end + 1us, [this, &life, until] {
        if (life.counts && !life.lost && life.valid_until == until && !life.owner.dead() &&
            was_awake(life)) {
            world_.violation("loss in time", describe(life) + " is over, and nobody was told");
        }
    });
}

/// Checks a hand-off of a lock with a binding order. No living waiter of another client may be ahead of the
/// new holder.
void checker::on_handed_off_in_order(const std::string& key, const stored_waiter& next) {
    const stored_waiters there = voters_.front()->server_of(key).waiters(key);
    const stored_waiter* const its = there.find(next);
    if (its == nullptr) {
        return;  // The server has lost the waiter's place.
    }
    for (const stored_waiter& one : std::span(there.members.data(), its)) {
        if (one.client != next.client && one.lives && waits(key, one)) {
            world_.violation("order", key + " was handed off past waiter " +
                                          std::to_string(one.place) + " of client number " +
                                          std::to_string(one.client));
        }
    }
}

/// Checks a hand-off. The new holder's lease must be as good as a newly acquired one, except for its
/// remaining validity.
void checker::on_handed_off(token_life& life, std::uint64_t fence, std::size_t handoffs,
                            core::time_point until) {
    const core::time_point now = life.owner.now();
    const core::handoff_bounds& bounds = life.policy->handoff;
    const core::time_point let_go = life.handing_off ? life.handoff_since : now;
    if (handoffs > bounds.limit || let_go - life.granted >= bounds.time) {
        world_.violation("hand-off bounds", describe(life) + " was handed off " +
                                                std::to_string(handoffs) + " times in " +
                                                in_ms(let_go - life.granted) + ", " +
                                                std::to_string(bounds.limit) + " times in " +
                                                in_ms(bounds.time) + " are allowed");
    }
    life.handing_off = false;
    if (life.lost) {
        world_.violation("hand-off", describe(life) + " was lost");
    }
    // The lease had no holder in between, and the hand-off took a round.
    if (life.policy->lease.value_per_holder) {
        if (now >= until) {
            world_.violation("hand-off", describe(life) + " is over");
        }
        on_fence(life, fence);
        return;
    }
    if (!counts_now(life) || life.valid_until - now < life.policy->lease.ttl / 2) {
        world_.violation("hand-off", describe(life) + " is valid for another " +
                                         in_ms(life.valid_until - now) + " of " +
                                         in_ms(life.policy->lease.ttl));
        return;
    }
    expect_backed(life, life.valid_until);
    life.valid_since = now;
}

void checker::on_shared(token_life& life, core::time_point until) {
    const core::handoff_bounds& bounds = life.policy->handoff;
    const core::time_point now = life.owner.now();
    if (!life.is_shared() || bounds.limit == 0 || now - life.granted >= bounds.time) {
        world_.violation("sharing bounds", describe(life) + " was shared " +
                                               in_ms(now - life.granted) + " after its grant");
    }
    if (life.was_writers && !life.admits_readers) {
        world_.violation("downgrade", describe(life) + " was shared before it was a reader's");
    }
    if (until == core::time_point::min() || until - now < life.policy->lease.ttl / 2) {
        world_.violation("sharing bounds", describe(life) + " was over, or nearly");
    }
    if (counts_now(life)) {
        expect_backed(life, life.valid_until);
    }
}

void checker::on_share_asked_for(token_life& life, core::time_point until) {
    if (until == core::time_point::min() || !life.counts || life.lost) {
        world_.violation("sharing bounds", describe(life) + " is over, and was shared");
    }
    if (counts_now(life)) {
        expect_backed(life, life.valid_until);
    }
}

void checker::on_downgrading(token_life& life) {
    life.token.insert(0, kinds::reader_prefix);
    life.was_writers = true;
}

void checker::on_downgraded(token_life& life) {
    if (!life.downgraded) {
        world_.violation("downgrade", describe(life) + " is a reader's without a quorum");
    }
    if (!std::exchange(life.admits_readers, true)) {
        life.granted = life.owner.now();
    }
}

void checker::on_released(token_life& life) {
    end_validity(life);
    on_given_back(life, life.owner.now());
}

void checker::on_abandoned(token_life& life) {
    end_validity(life);
    life.let_go = life.abandoned = true;
    life.let_go_at = life.owner.now();
    std::erase(of_[&life.owner], &life);
}

void checker::on_completed(token_life& life) {
    if (!life.lost) {
        on_abandoned(life);
        return;
    }
    life.let_go = true;
    life.may_have = 0;
    life.outcome_unknown = true;
}

void checker::on_given_back(token_life& life, core::time_point since) {
    if (life.counts && !life.lost) {
        if (!life.release_asked_for) {
            world_.violation("kept until let go", describe(life) + " is held, and was given back");
        }
        end_validity(life);
    }
    if (std::exchange(life.let_go, true)) {
        return;
    }
    if (life.is_permit() && life.policy == nullptr &&
        static_cast<std::size_t>(std::popcount(life.denied_by_attempt)) >
            core::spare_of(voters_.size())) {
        expect_lone_success(life, "was denied");
    }
    // A lost lease is released automatically at the end of the promised validity.
    life.let_go_at = life.lost ? std::min(since, life.valid_until) : since;
    if (!life.lost) {
        ++let_go_[&life.owner];
    }
}

void checker::on_closed(client& c) {
    for (const token_life* const life : of_[&c]) {
        const bool is_over = life->lost ? life->lost_its_keys || c.now() >= life->valid_until
                                        : life->let_go && ended_by_time(*life);
        if (!is_over && (life->counts || is_quorum(life->may_have))) {
            world_.violation("closed",
                             c.who() + " has not waited for the release of " + describe(*life));
        }
    }
}

void checker::on_dead(client& c) {
    for (token_life* const life : of_[&c]) {
        end_validity(*life);
        life->let_go = true;
        life->let_go_at = c.now();
    }
}

void checker::end_validity(token_life& life) {
    if (!life.counts) {
        return;
    }
    if (counts_now(life)) {
        expect_backed(life, life.owner.now());
    }
    life.counts = false;
    for (const std::string& name : life.names) {
        std::erase(valid_[name], &life);
    }
    const duration limit = life.policy->lease.max_hold;
    if (limit > duration::zero() && !life.lost &&
        life.owner.now() > life.valid_since + limit + 10us && was_awake(life)) {
        world_.violation("max_hold", describe(life) + " was held for longer");
    }
}

void checker::on_lost(token_life& life, core::loss why) {
    ++world_.tally.losses;
    ++let_go_[&life.owner];
    life.lost = true;
    life.lost_its_keys = why != core::loss::closed && why != core::loss::max_hold;
    if (life.counts && life.owner.now() >= life.valid_until && was_awake(life)) {
        world_.violation("loss in time",
                         describe(life) + " was over before the loss was announced");
    }
    const duration limit = life.policy->lease.max_hold;
    if (why == core::loss::max_hold &&
        life.owner.now() <
            life.valid_since + limit - core::loss_notice(limit, life.policy->lease.loss_margin)) {
        world_.violation("max_hold", describe(life) + " was taken away too early");
    }
    const bool by_itself = why == core::loss::keys_gone || why == core::loss::unrenewable;
    const bool renewed = life.policy->lease.renew_interval > duration::zero();
    if (by_itself && renewed && !life.completes && world_.profile().claims.no_loss) {
        world_.violation("needless loss", describe(life));
    }
    if (why == core::loss::keys_gone &&
        is_quorum(backed_at(life) & ~given_again() & ~life.denied_by)) {
        world_.violation("needless loss", describe(life) + " has a quorum of keys");
    }
}

bool checker::ended_by_time(const token_life& life) const {
    core::time_point last =
        life.let_go_at;  // From then on, no instance may have granted a key or a ttl.
    for (const auto& [server, when] : life.closed_at) {
        last = (life.may_have & bit(server)) != 0 ? std::max(last, when) : last;
    }
    return life.open_at == 0 &&
           life.owner.now() >= core::gone_at(last, life.longest_ttl, world_.profile().drift);
}

/// The client reports the number of unfinished tokens, but not which ones. The finished ones must not be more
/// than the tokens that could have ended by now. If the numbers are equal, exactly those tokens have ended.
void checker::expect_undone(client& c, std::uint64_t releasing) {
    auto& open = of_[&c];
    for (token_life* const life : open) {
        if (life->lost && c.now() >= life->valid_until) {
            on_given_back(*life, life->valid_until);  // The release may not have been sent.
        }
        life->may_end = life->let_go && (life->may_have == 0 || ended_by_time(*life));
        if (life->may_end && !std::exchange(life->could_end, true)) {
            life->could_know = life->unanswered == 0 && !life->outcome_unknown;
        }
    }
    const auto could_end = [](const token_life* life) { return life->could_end; };
    const std::uint64_t let_go = let_go_[&c];
    const std::uint64_t ended =
        // The client may have counted more than the checker has seen.
        let_go - std::min(let_go, releasing);
    std::uint64_t& known = ended_[&c];
    const auto candidates = static_cast<std::uint64_t>(std::ranges::count_if(open, could_end));
    if (ended > known + candidates) {
        std::string which;
        for (const token_life* const life : open) {
            which += life->let_go ? " " + describe(*life) + ", let go " +
                                        in_ms(c.now() - life->let_go_at) + " ago, with a ttl of " +
                                        in_ms(life->longest_ttl) + ", still open at " +
                                        std::to_string(std::popcount(life->open_at)) + ";"
                                  : "";
        }
        world_.violation("undone", "of these, one has ended, though it may have a key:" + which);
    } else if (ended == known + candidates && candidates != 0) {
        known = ended;
        for (const token_life* const life : open) {
            if (life->may_end) {
                expect_nothing_left(*life);
            }
        }
        std::erase_if(open, could_end);
    }
}

/// Checks that no key of the token is left, if the client could be certain of that.
void checker::expect_nothing_left(const token_life& life) const {
    const bool by_time = ended_by_time(life);
    const bool could_know = life.could_know && life.unanswered == 0 && !life.outcome_unknown;
    std::uint64_t left = held_at(life) & ~given_again();
    if (by_time && !world_.profile().claims.mutual_exclusion) {
        left = 0;  // Clocks diverge by more than the library allows for.
    } else if (by_time) {
        left &= ~(life.late_at | set_back_at());
    }
    if (by_time && life.was_detached) {
        left = 0;  // The client does not have the former ttl, which may have been longer.
    } else if (life.was_detached) {
        left &= ~set_back_at();  // An expired key may have reappeared since its adoption.
    }
    if (could_know && left != 0) {
        world_.violation("undone", describe(life) + " has ended with a key left");
    }
}

void checker::on_destroyed(std::size_t server, const std::string& token) {
    if (token_life* const life = find(token)) {
        life->destroyed_at |= bit(server);
    }
}

void checker::on_forgotten(std::size_t server, const std::string& token) {
    if (token_life* const life = find(token)) {
        life->forgotten_at |= bit(server);
    }
}

void checker::on_restored(std::size_t server, const std::string& token) {
    token_life* const found = find(token);
    if (found == nullptr) {
        return;
    }
    token_life& life = *found;
    if (life.let_go && (life.open_at & bit(server)) == 0) {
        life.late_at |= bit(server);
    }
    // Another client may have acquired the lock in between. The destroyed key is still the excuse for that.
    const bool contested = std::ranges::any_of(life.names, [&](const std::string& name) {
        return std::ranges::any_of(valid_[name], [&](const token_life* other) {
            return other != &life && counts_now(*other) && !may_be_together(life, *other);
        });
    });
    const true_time promised = life.owner.clock().when(life.valid_until);
    if (!contested && (!counts_now(life) || lasts(life, server, promised + rounding))) {
        life.destroyed_at &= ~bit(server);
    }
}

void checker::expect_nobody(const std::vector<std::string>& keys) {
    for (const auto& one : voters_) {
        for (const std::string& key : keys) {
            if (const std::string token = one->holder_of(key); !token.empty()) {
                world_.violation("gone after the ttl",
                                 one->who() + " still has " + key + " of " + token);
            }
        }
    }
}

void checker::expect_no_keys(const std::vector<std::string>& keys) {
    for (const auto& one : voters_) {
        for (const std::string& key : keys) {
            if (one->holds_anything(key)) {
                world_.violation("gone after the ttl",
                                 one->who() + " still has " + key + " of " + one->holder_of(key));
            }
            if (one->server_of(key).has_anything_of_waiters(key)) {
                world_.violation("gone after the ttl",
                                 one->who() + " still has waiters for " + key);
            }
        }
    }
}

}  // namespace colock::simulation
