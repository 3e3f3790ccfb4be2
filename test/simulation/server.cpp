// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/server.hpp"

#include "instance/redis/key_slot.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"

#include <algorithm>
#include <utility>

namespace colock::simulation {
namespace {

using kinds::is_reader;

kinds::command about(core::step step, const std::string& key, std::string_view token = {},
                     core::milliseconds ttl = {}) {
    kinds::command c;
    c.kind = step == core::step::confirm ? &kinds::fenced : &kinds::exclusive;
    c.step = step;
    c.key = key;
    c.token = token;
    c.ttl = ttl;
    return c;
}

/// That a reader's lease had as a writer's, if it was one.
std::string as_writers(const std::string& token) {
    return std::string(kinds::as_writers(token));
}

/// As a writer does that was denied before.
bool is_behind_announcement(const kinds::command& c) {
    return c.step == core::step::acquire && c.contended && c.kind->announces();
}

double some_rate(world& w) {
    const double wrong = w.faults().clock_rates;
    // The extremes are where the bounds are.
    const double rate = w.random.chance(0.3) ? (w.random.chance(0.5) ? 1 + wrong : 1 - wrong)
                                             : w.random.between(1 - wrong, 1 + wrong);
    if (rate > 1.001 || rate < 0.999) {
        w.count(fault::clock_drift);
    }
    return rate;
}

/// When the mark of a client at that key ends; `time_point::min()` if there is none.
core::time_point mark_of(std::uint64_t client, const kinds::lock_key& at) {
    if (const kinds::reader_set* const set = at.set()) {
        const auto found = std::ranges::find(set->marks, client, &kinds::reader_set::mark::client);
        if (found != set->marks.end()) {
            return found->expires;
        }
    }
    return core::time_point::min();
}

}  // namespace

server::server(world& w, std::string name, std::size_t slots)
    : world_(w),
      name_(std::move(name)),
      clock_(some_rate(w), w.random.up_to(100h)),
      clock_start_(clock_.at(true_time())),
      state_(slots),
      started_(clock_.at(w.now()) - 1h) {}

server::server(const server& other, std::string name)
    : world_(other.world_),
      name_(std::move(name)),
      clock_(other.clock_),
      clock_start_(other.clock_start_),
      state_(other.state_.size()),
      started_(other.started_) {}

std::size_t server::slot_of(std::string_view key) const {
    return state_.size() == 1 ? 0 : instance::redis::key_slot(key) % state_.size();
}

/// As its clock, but that all agree when the world begins.
kinds::wall_time server::wall() const {
    constexpr std::chrono::seconds begin(1'800'000'000);
    return std::chrono::duration_cast<kinds::wall_time>(begin +
                                                        (clock_.at(world_.now()) - clock_start_));
}

core::vote server::execute(const kinds::command& command, const void* by) {
    ++world_.tally.commands;
    const bool is_of_queue = command.step == core::step::join || command.step == core::step::leave;
    if (command.step != core::step::remaining && world_.faults().rollbacks > 0) {
        checkpoint();
    }
    const std::string key(command.key);
    const std::string token(command.token);
    const core::time_point now = clock_.at(world_.now());
    const contents before = contents_of(key, now);
    const auto was_held_by = [&before](std::string_view name) {
        return before.find(name) != nullptr;
    };
    slot& in = slot_with(key);
    const bool was_marked = std::ranges::any_of(in.marks[key], [now](const auto& of_client) {
        return of_client.second.is_known && of_client.second.until > now;
    });
    const bool has_mark = was_marked || kinds::lock_key(in.table, key, now).marked_until() > now;
    core::vote answer = in.table.execute(command, now, wall());
    const contents after = contents_of(key, now);
    expect_untouched(command, answer, before, after);
    expect_permits(command, answer, before, after);
    for (const std::string& changed : std::vector<std::string>(in.table.changes())) {
        tell_of_change(changed, by);
    }
    if (answer.kind == core::vote_kind::denied && command.step == core::step::acquire) {
        expect_reason(command, before, has_mark);
    }
    if (command.step == core::step::withdraw) {
        in.marks[key].erase(command.ticket);
    } else if (is_behind_announcement(command) && before.holders.empty()) {
        in.marks.erase(key);
    } else if (is_behind_announcement(command) && is_reader(before.holders.front().token)) {
        expect_mark(command, in.marks[key]);
    }
    if (answer.kind == core::vote_kind::granted) {
        if (command.step == core::step::acquire) {
            expect_room(command, before);
            if (is_reader(token) && was_marked) {
                world_.violation("no reader before a waiting writer",
                                 name_ + " has let one in past a writer's mark");
            }
            note_holder(command, before);
        } else if (!is_of_queue && command.step != core::step::withdraw) {
            // A permit that has ended is still its token's, until somebody takes the slot.
            const bool may_have_ended = command.step == core::step::release &&
                                        command.kind->traits().admission.counts_holders();
            if (!may_have_ended && !was_held_by(token) && !was_held_by(kinds::as_writers(token))) {
                world_.violation("token check", name_ + " changed the key of another token");
            }
            auto& tokens = in.tokens[key];
            if (command.step == core::step::release) {
                tokens.erase(token);
                tokens.erase(as_writers(token));
            } else if (command.step == core::step::extend && !was_held_by(token)) {
                tokens.erase(as_writers(token));
                tokens.insert(token);
            }
        }
        if (command.step == core::step::acquire || command.step == core::step::extend) {
            on_granted(key, token);
        }
        ++written_;
        if (on_written) {
            on_written();
        }
    }
    return answer;
}

/// It keeps readers out for as long as a writer waits that was denied: from its attempt on, and for a second at most.
void server::expect_mark(const kinds::command& claim, marks_by_client& expected) {
    const core::time_point now = clock_.at(world_.now());
    const kinds::lock_key key(slot_with(claim.key).table, claim.key, now);
    const core::time_point there = key.marked_until();
    core::time_point last =
        claim.announces ? now + kinds::writer_mark_ttl : core::time_point::min();
    for (auto& [client, of_client] : expected) {
        if (!of_client.is_known) {
            of_client = {mark_of(client, key)};
        }
        if (of_client.until > now + kinds::writer_mark_ttl) {
            of_client.until = core::time_point::min();  // from before the clock was set back
        }
        if (client != claim.ticket || !claim.announces) {
            last = std::max(last, of_client.until);
        }
    }
    if (claim.announces) {
        expected[claim.ticket] = {now + kinds::writer_mark_ttl};
    }
    if (last > now && there < last) {
        world_.violation("no reader before a waiting writer",
                         name_ + " has denied a writer, and has no mark of it");
    } else if (there > now && there > last) {
        world_.violation("no reader before a waiting writer",
                         name_ + " keeps readers out for longer than a writer waits");
    }
}

/// It has the key now, beside those that may have it at the same time.
void server::note_holder(const kinds::command& command, const contents& before) {
    auto& tokens = slot_with(command.key).tokens[std::string(command.key)];
    if (before.limit != 0 && wish_of(command.token).limit == before.limit) {
        std::erase_if(tokens, [&](const auto& one) { return before.find(one) == nullptr; });
    } else if (!is_reader(command.token) || tokens.empty() || !is_reader(*tokens.begin())) {
        tokens.clear();
    }
    tokens.emplace(command.token);
}

/// A key is given to one that may hold it beside those that do.
void server::expect_room(const kinds::command& command, const contents& before) {
    const bool beside_readers =
        is_reader(command.token) &&
        std::ranges::all_of(before.holders, [](const auto& one) { return is_reader(one.token); });
    const bool beside_permits =
        before.limit != 0 && wish_of(command.token).limit == before.limit;  // see expect_permits
    if (!before.holders.empty() && !beside_readers && !beside_permits) {
        world_.violation("instance", name_ + " gave away a key that was held");
    }
}

/// Nothing but a release has a share end sooner, and no command touches another token's. An acquire of permits that is denied leaves
/// the token none.
void server::expect_untouched(const kinds::command& command, const core::vote& answer,
                              const contents& before, const contents& after) {
    const bool takes_own = command.step == core::step::release ||
                           (answer.kind == core::vote_kind::denied &&
                            command.step == core::step::acquire && before.limit != 0);
    for (const holder& one : before.holders) {
        const std::string_view name = kinds::as_writers(one.token);
        const auto left = std::ranges::find(after.holders, name, [](const holder& other) {
            return kinds::as_writers(other.token);
        });
        if (name != kinds::as_writers(command.token)) {
            if (left == after.holders.end() || left->expires != one.expires ||
                left->slots != one.slots) {
                world_.violation("token check", name_ + " changed what another token holds");
            }
        } else if (!takes_own && (left == after.holders.end() || left->expires < one.expires)) {
            world_.violation("instance", name_ + " has a key expire sooner than it said");
        }
    }
}

/// An acquire is denied only if somebody is in its way.
void server::expect_reason(const kinds::command& command, const contents& before, bool has_mark) {
    if (wish_of(command.token).limit != 0) {
        return;  // see expect_permits
    }
    const bool joins_readers =
        is_reader(command.token) &&
        (command.contended || command.heals || command.kind->traits().value_per_holder);
    const bool is_held =
        before.limit != 0 || std::ranges::any_of(before.holders, [&](const auto& one) {
            return !joins_readers || !is_reader(one.token);
        });
    if (!is_held && (!has_mark || is_behind_announcement(command))) {
        world_.violation("instance", name_ + " denied a key that it could have given");
    }
}

namespace {

/// Whether it only looks for a key that nobody has, as the first attempt of one permit does.
bool is_first_look(const kinds::command& c, const permit_wish& wish) {
    return wish.count == 1 && !c.contended && !c.heals && c.value == 0;
}

/// What a token may have of a semaphore of which those slots are taken, by the words of `kinds::semaphore`: what it has, if that is
/// no less than `least`; else the nearest. Empty if too few are free.
slot_numbers nearest(const permit_wish& wish, slot_set taken, const slot_numbers& own,
                     const slot_numbers& least) {
    const auto is_enough = [&](std::size_t i) { return least.empty() || own[i] >= least[i]; };
    bool keeps = !own.empty();
    for (std::size_t i = 0; i != own.size(); ++i) {
        keeps = keeps && is_enough(i);
    }
    if (keeps) {
        return own;
    }
    slot_numbers result;
    for (std::uint32_t i = 0; i != wish.count; ++i) {
        std::uint32_t one = std::max(least.empty() ? 1 : least[i], i == 0 ? 1 : result.back() + 1);
        while (one <= wish.limit && (wish.slot_of(one) & taken) != 0) {
            ++one;
        }
        if (one > wish.limit) {
            return {};
        }
        result.push_back(one);
    }
    return result;
}

slot_numbers numbers_of(const permit_wish& wish, slot_set slots) {
    slot_numbers result;
    for (std::uint32_t one = 1; one <= wish.limit; ++one) {
        if ((wish.slot_of(one) & slots) != 0) {
            result.push_back(one);
        }
    }
    return result;
}

}  // namespace

/// A token has the permits that it may have, all or none, for its ttl at least.
void server::expect_permits(const kinds::command& command, const core::vote& answer,
                            const contents& before, const contents& after) {
    const permit_wish wish = wish_of(command.token);
    if (command.step == core::step::remaining) {
        expect_vacancy(command, answer, before);
    }
    if (wish.limit == 0 || answer.kind == core::vote_kind::failed ||
        command.step == core::step::remaining) {
        return;
    }
    const auto fail = [this](const std::string& what) {
        world_.violation("instance", name_ + " " + what);
    };
    const holder* const had = before.find(command.token);
    const holder* const has = after.find(command.token);
    const slot_set slots = has != nullptr ? has->slots : 0;
    const bool is_granted = answer.kind == core::vote_kind::granted;
    const slot_numbers asked_for = numbers_of(command);
    if (before.exists && before.limit != wish.limit) {
        if (is_granted && command.step != core::step::release) {
            fail("gave permits although another lock has the key");
        }
        return;
    }
    slot_set expected = 0;
    if (command.step == core::step::acquire && !is_first_look(command, wish)) {
        const slot_set taken = before.taken(command.token);
        const slot_set wanted = wish.slots_of(asked_for);
        expected =
            !command.heals
                ? wish.slots_of(nearest(
                      wish, taken, had != nullptr ? numbers_of(wish, had->slots) : slot_numbers(),
                      asked_for))
            : (wanted & taken) == 0 ? wanted
                                    : 0;
    } else if (command.step == core::step::acquire) {
        expected = !before.exists ? wish.slot_of(1) : had != nullptr ? had->slots : 0;
    } else if (command.step == core::step::extend) {
        expected = had != nullptr ? had->slots : 0;
        if (is_granted != (had != nullptr && had->slots == wish.slots_of(asked_for))) {
            fail("renewed other permits than those of the lease, or did not renew these");
        }
    }
    if (slots != expected) {
        fail("has left " + std::string(command.token) + " other slots than it should have");
    }
    const bool gets_slots =
        is_granted && (command.step == core::step::acquire || command.step == core::step::extend);
    if (command.step == core::step::acquire && is_granted &&
        slots != wish.slots_of(simulation::numbers_of(answer))) {
        fail("told of other permits than it gave");
    }
    const core::time_point until = clock_.at(world_.now()) + command.ttl;
    if (gets_slots && (has == nullptr || has->expires < until)) {
        fail("has a permit end sooner than its ttl");
    }
    if (command.step == core::step::acquire && !is_granted && slots != 0 &&
        !is_first_look(command, wish)) {
        fail("denied a token that has permits");
    }
    if (command.step == core::step::acquire && !is_granted && expected == 0 &&
        is_first_look(command, wish) && !before.exists) {
        fail("denied a permit that is free");
    }
}

/// It says when so many permits are free.
void server::expect_vacancy(const kinds::command& command, const core::vote& answer,
                            const contents& before) {
    const permit_wish wish = wish_of(command.kind->traits().token_prefix);
    if (wish.limit == 0 || (before.exists && before.limit != wish.limit)) {
        return;
    }
    std::vector<core::time_point> ends;
    for (const holder& one : before.holders) {
        ends.insert(ends.end(), numbers_of(wish, one.slots).size(), one.expires);
    }
    std::ranges::sort(ends);
    const core::time_point now = clock_.at(world_.now());
    const std::size_t missing =
        ends.size() + wish.count - std::min(ends.size() + wish.count, std::size_t{wish.limit});
    const auto left = std::chrono::duration_cast<core::milliseconds>(
        missing == 0 ? core::duration{} : ends[missing - 1] - now);
    const bool is_free = core::is_absent(answer);
    if (is_free != (left <= core::milliseconds(0)) || (!is_free && answer.remaining != left)) {
        world_.violation("instance", name_ + " tells a wrong time at which permits are free");
    }
}

void server::track(const std::string& key, const void* who, std::function<void()> tell) {
    if (!holds_anything(key)) {
        return;  // unlike a real one, it does not tell of a key that was not there: the client has been told that
    }
    auto& all = trackers_[key];
    std::erase_if(all, [who](const tracker& one) { return one.who == who; });
    all.push_back({who, std::move(tell)});
    world_.at(lasts_until(key) + 2ms, [this, key] {
        if (!holds_anything(key)) {
            tell_of_change(key, nullptr);
        }
    });
}

/// A key that has expired has changed, too.
void server::tell_of_change(const std::string& key, const void* by) {
    const auto found = trackers_.extract(key);
    if (!found.empty()) {
        for (const tracker& one : found.mapped()) {
            if (one.who != by) {
                one.tell();
            }
        }
    }
}

void server::checkpoint() {
    constexpr std::size_t most_lost = 3;
    if (checkpoints_.size() == most_lost) {
        checkpoints_.erase(checkpoints_.begin());
    }
    checkpoints_.push_back(state_);
}

void server::pause(duration how_long) {
    world_.count(fault::instance_pause);
    if (world_.tracing()) {
        world_.tell(name_, "stands still for " + in_ms(how_long));
    }
    paused_until_ = std::max(paused_until_, world_.now() + how_long);
}

void server::become_another() {
    on_down();
    destroy_all(world_.faults().quarantine > duration::zero() ? on_forgotten : on_destroyed);
    state_.assign(state_.size(), slot());
    checkpoints_.clear();
    trackers_.clear();
}

void server::restart(duration how_long, data d) {
    if (!up_) {
        return;
    }
    static constexpr const char* words[] = {"with its data", "without its data",
                                            "without its last writes"};
    static constexpr fault kinds[] = {fault::restart_with_data, fault::restart_without_data,
                                      fault::rollback};
    world_.count(kinds[static_cast<std::size_t>(d)]);
    if (world_.tracing()) {
        world_.tell(name_, std::string("restarts ") + words[static_cast<std::size_t>(d)] +
                               ", for " + in_ms(how_long));
    }
    up_ = false;
    on_down();
    if (d != data::kept) {
        destroy_all(world_.faults().quarantine > duration::zero() ? on_forgotten : on_destroyed);
    }
    if (d == data::lost) {
        state_.assign(state_.size(), slot());
    } else if (d == data::rolled_back && !checkpoints_.empty()) {
        state_ = checkpoints_[world_.random.below(checkpoints_.size())];
        rolled_back_ = true;
    }
    checkpoints_.clear();
    trackers_.clear();
    started_ = clock_.at(world_.now() + how_long);
    world_.after(how_long, [this] { up_ = true; });
}

void server::demote() {
    is_master_ = false;
    on_down();
}

void server::hand_off(std::size_t which, server& to) {
    to.state_[which] = std::exchange(state_[which], slot());
    ++written_;
    ++to.written_;
    if (on_written) {
        on_written();
        to.on_written();
    }
}

void server::jump(duration by) {
    const bool forward = by > duration::zero();
    world_.count(forward ? fault::clock_jump_forward : fault::clock_jump_back);
    if (world_.tracing()) {
        world_.tell(name_, "its clock jumps by " + in_ms(by));
    }
    if (forward) {
        destroy_all(on_destroyed);
    } else {
        set_back_ -= by;
        // The table may have dropped a mark whose time is to come once more.
        const auto forget_marks = [](state& of) {
            for (slot& one : of) {
                for (auto& [key, of_key] : one.marks) {
                    for (auto& [client, of_client] : of_key) {
                        of_client.is_known = false;
                    }
                }
            }
        };
        forget_marks(state_);
        std::ranges::for_each(checkpoints_, forget_marks);
    }
    clock_.jump(world_.now(), by);
}

void server::set_rate(double rate) {
    world_.count(fault::clock_drift);
    if (world_.tracing()) {
        world_.tell(name_, "its clock runs at " + std::to_string(rate));
    }
    clock_.set_rate(world_.now(), rate);
}

void server::delete_key(const std::string& key) {
    const std::set<std::string> tokens = holders_of(key);
    if (tokens.empty()) {
        return;
    }
    world_.count(fault::foreign_delete);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger deletes " + key);
    }
    for (const std::string& token : tokens) {
        on_destroyed(token);
    }
    slot_with(key).table.erase(key);
    slot_with(key).tokens.erase(key);
    slot_with(key).marks.erase(key);
    tell_of_change(key, nullptr);
}

void server::shorten_key(const std::string& key) {
    const std::set<std::string> tokens = holders_of(key);
    if (tokens.empty() || is_reader(*tokens.begin())) {
        return;
    }
    const core::milliseconds ttl(1 + static_cast<int>(world_.random.below(20)));
    const core::time_point now = clock_.at(world_.now());
    if (lasts_until(key) <= clock_.when(now + ttl)) {
        return;  // no owner of a key allows for strangers who prolong it
    }
    world_.count(fault::foreign_expiry);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger has " + key + " expire in " + in_ms(ttl));
    }
    std::ranges::for_each(tokens, on_destroyed);
    have_end(key, now + ttl);
    tell_of_change(key, nullptr);
}

void server::lose_counter(const std::string& key) {
    world_.count(fault::counter_lost);
    if (world_.tracing()) {
        world_.tell(name_, "forgets the fence counter of " + key);
    }
    slot_with(key).table.erase(kinds::fence_key(key));
}

void server::spoil_counter(const std::string& key) {
    const std::string token = holder_of(key);
    if (token.empty()) {
        return;
    }
    world_.count(fault::counter_spoiled);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger spoils the fence counter of " + key);
    }
    kinds::command raise = about(core::step::confirm, key, token);
    raise.value = core::value_limit - 1;
    slot_with(key).table.execute(raise, clock_.at(world_.now()), wall());
    world_.after(50ms, [this, key] {
        lose_counter(key);
        checkpoints_.clear();  // nothing that is put back brings it back
    });
}

void server::destroy_all(const std::function<void(const std::string& token)>& told) {
    for (const auto& [key, token] : holders()) {
        told(token);
    }
}

std::vector<std::pair<std::string, std::string>> server::holders() {
    std::vector<std::pair<std::string, std::string>> result;
    for (const slot& one : state(state_)) {
        for (const auto& [key, tokens] : one.tokens) {
            for (const std::string& token : holders_of(key)) {
                result.emplace_back(key, token);
            }
        }
    }
    return result;
}

std::chrono::seconds server::uptime() const {
    const auto whole = [](core::time_point t) {
        return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch());
    };
    return whole(clock_.at(world_.now())) - whole(started_);
}

true_time server::next_second() const {
    const core::time_point now = clock_.at(world_.now());
    return clock_.when(std::chrono::ceil<std::chrono::seconds>(now.time_since_epoch()) +
                       core::time_point());
}

true_time server::quarantined_until() const {
    return clock_.when(started_ + world_.faults().quarantine);
}

// --- What a key holds -------------------------------------------------------------------------------

const server::holder* server::contents::find(std::string_view token) const {
    const auto found = std::ranges::find(holders, token, &holder::token);
    return found == holders.end() ? nullptr : &*found;
}

slot_set server::contents::taken(std::string_view but) const {
    slot_set result = 0;
    for (const holder& one : holders) {
        result |= one.token == but ? 0 : one.slots;
    }
    return result;
}

kinds::permits* server::permits_at(const std::string& key, core::time_point now) {
    kinds::table::entry* const found = slot_with(key).table.find(key, now);
    return found != nullptr ? found->as<kinds::permits>() : nullptr;
}

/// No permit outlives the key.
server::contents server::contents_of(const std::string& key, core::time_point now) {
    contents result;
    const kinds::lock_key found(slot_with(key).table, key, now);
    if (!found.exists()) {
        return result;
    }
    result.exists = true;
    result.expires = found.expires();
    if (found.set() != nullptr) {
        for (const kinds::reader_set::share& one : found.set()->shares) {
            if (one.expires > now) {
                result.holders.push_back({one.token, one.expires});
            }
        }
    } else if (found.token() != nullptr) {
        result.holders.push_back({*found.token(), found.expires()});
    } else if (const kinds::permits* const permits = permits_at(key, now)) {
        result.limit = permits->limit;
        for (const auto& [place, its] : permits->slots) {
            if (its.expires <= now) {
                continue;
            }
            auto one = std::ranges::find(result.holders, its.token, &holder::token);
            if (one == result.holders.end()) {
                one = result.holders.insert(one, {its.token, result.expires});
            }
            one->expires = std::min(one->expires, its.expires);
            one->slots |= slot_set{1} << place;
        }
    }
    return result;
}

bool server::holds(const std::string& key, const std::string& token) {
    if (wish_of(token).limit != 0) {
        return slots_of(key, token) != 0;
    }
    const core::time_point now = clock_.at(world_.now());
    const kinds::lock_key found(slot_with(key).table, key, now);
    return found.is_held_by(token) &&
           (found.set() == nullptr ||
            std::ranges::none_of(found.set()->shares, [&](const kinds::reader_set::share& one) {
                return one.token == token && one.expires <= now;
            }));
}

slot_set server::slots_of(const std::string& key, const std::string& token) {
    const core::time_point now = clock_.at(world_.now());
    slot_set result = 0;
    if (const kinds::permits* const permits = permits_at(key, now)) {
        for (const auto& [place, its] : permits->slots) {
            result |= its.expires > now && its.token == token ? slot_set{1} << place : 0;
        }
    }
    return result;
}

slot_set server::free_slots(const std::string& key, std::uint32_t limit) {
    const contents found = contents_of(key, clock_.at(world_.now()));
    const slot_set all = permit_wish{limit, 1, 0}.all();
    return !found.exists ? all : found.limit == limit ? all & ~found.taken() : 0;
}

bool server::holds_anything(const std::string& key) {
    const core::time_point now = clock_.at(world_.now());
    return permits_at(key, now) != nullptr ||
           slot_with(key).table.execute(about(core::step::remaining, key), now).key ==
               core::key_state::foreign;
}

true_time server::lasts_until(const std::string& key, const std::string& token) {
    const core::time_point now = clock_.at(world_.now());
    core::time_point until = now;
    if (const contents found = contents_of(key, now); found.exists) {
        const holder* const one = found.find(token);
        until = one != nullptr ? one->expires : found.expires;
    }
    return clock_.when(now + std::chrono::floor<core::milliseconds>(until - now));
}

bool server::was_last_held_by(const std::string& key, const std::string& token) const {
    const auto& tokens = state_[slot_of(key)].tokens;
    const auto found = tokens.find(key);
    return found != tokens.end() &&
           (found->second.contains(token) || found->second.contains(as_writers(token)));
}

std::set<std::string> server::holders_of(const std::string& key) {
    std::set<std::string> result;
    for (const std::string& token : slot_with(key).tokens[key]) {
        if (holds(key, token)) {
            result.insert(token);
        }
    }
    return result;
}

std::string server::holder_of(const std::string& key) {
    const std::set<std::string> all = holders_of(key);
    return all.empty() ? std::string() : *all.begin();
}

/// Of a key that somebody has. Nobody but readers shares a lock with another.
void server::have_end(const std::string& key, core::time_point until) {
    const core::time_point now = clock_.at(world_.now());
    kinds::table& table = slot_with(key).table;
    if (const kinds::permits* const permits = permits_at(key, now)) {
        kinds::permits shortened = *permits;
        for (auto& [place, its] : shortened.slots) {
            its.expires = std::min(its.expires, until);
        }
        table.put(key, std::move(shortened), until);
    } else {
        table.put(key, holder_of(key), until);
    }
}

}  // namespace colock::simulation
