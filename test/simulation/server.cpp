// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/server.hpp"

#include "instance/redis/key_slot.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"

#include <algorithm>
#include <iterator>
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
    const std::vector<share> before = shares_of(key, now);
    const auto was_held_by = [&before](std::string_view holder) {
        return std::ranges::find(before, holder, &share::token) != before.end();
    };
    slot& in = slot_with(key);
    const bool was_marked = std::ranges::any_of(in.marks[key], [now](const auto& of_client) {
        return of_client.second.is_known && of_client.second.until > now;
    });
    const bool has_mark = was_marked || kinds::lock_key(in.table, key, now).marked_until() > now;
    core::vote answer = in.table.execute(command, now, wall());
    expect_untouched(command, before, shares_of(key, now));
    for (const std::string& changed : std::vector<std::string>(in.table.changes())) {
        tell_of_change(changed, by);
    }
    if (answer.kind == core::vote_kind::denied && command.step == core::step::acquire) {
        expect_reason(command, before, has_mark);
    }
    if (command.step == core::step::withdraw) {
        in.marks[key].erase(command.ticket);
    } else if (is_behind_announcement(command) && before.empty()) {
        in.marks.erase(key);
    } else if (is_behind_announcement(command) && is_reader(before.front().token)) {
        expect_mark(command, in.marks[key]);
    }
    if (answer.kind == core::vote_kind::granted) {
        if (command.step == core::step::acquire) {
            expect_room(command, before);
            if (is_reader(token) && was_marked) {
                world_.violation("no reader before a waiting writer",
                                 name_ + " has let one in past a writer's mark");
            }
            auto& tokens = in.tokens[key];
            if (!is_reader(token) || tokens.empty() || !is_reader(*tokens.begin())) {
                tokens.clear();
            }
            tokens.insert(token);
        } else if (!is_of_queue && command.step != core::step::withdraw) {
            if (!was_held_by(token) && !was_held_by(kinds::as_writers(token))) {
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

/// A key is given to one that may hold it beside those that do.
void server::expect_room(const kinds::command& command, const std::vector<share>& before) {
    const bool beside_readers =
        is_reader(command.token) &&
        std::ranges::all_of(before, [](const auto& one) { return is_reader(one.token); });
    if (!before.empty() && !beside_readers) {
        world_.violation("instance", name_ + " gave away a key that was held");
    }
}

/// Nothing but a release has a share end sooner, and no command touches another token's.
void server::expect_untouched(const kinds::command& command, const std::vector<share>& before,
                              const std::vector<share>& after) {
    for (const share& one : before) {
        const std::string_view holder = kinds::as_writers(one.token);
        const auto left = std::ranges::find(
            after, holder, [](const share& other) { return kinds::as_writers(other.token); });
        if (holder != kinds::as_writers(command.token)) {
            if (left == after.end() || left->expires != one.expires) {
                world_.violation("token check", name_ + " changed what another token holds");
            }
        } else if (command.step != core::step::release &&
                   (left == after.end() || left->expires < one.expires)) {
            world_.violation("instance", name_ + " has a key expire sooner than it said");
        }
    }
}

/// An acquire is denied only if somebody is in its way.
void server::expect_reason(const kinds::command& command, const std::vector<share>& before,
                           bool has_mark) {
    const bool joins_readers =
        is_reader(command.token) &&
        (command.contended || command.heals || command.kind->traits().value_per_holder);
    const bool is_held = std::ranges::any_of(
        before, [&](const auto& one) { return !joins_readers || !is_reader(one.token); });
    if (!is_held && (!has_mark || is_behind_announcement(command))) {
        world_.violation("instance", name_ + " denied a key that it could have given");
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
    const std::string token = holder_of(key);
    if (token.empty() || is_reader(token)) {
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
    on_destroyed(token);
    slot_with(key).table.put(key, token, now + ttl);
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

bool server::holds_anything(const std::string& key) {
    return slot_with(key)
               .table.execute(about(core::step::remaining, key), clock_.at(world_.now()))
               .key == core::key_state::foreign;
}

true_time server::lasts_until(const std::string& key, const std::string& token) {
    const core::time_point now = clock_.at(world_.now());
    core::time_point until = now;
    if (const kinds::lock_key found(slot_with(key).table, key, now); found.exists()) {
        until = found.expires();
        for (const share& one : shares_of(key, now)) {
            until = one.token == token ? one.expires : until;
        }
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

std::vector<server::share> server::shares_of(const std::string& key, core::time_point now) {
    const kinds::lock_key found(slot_with(key).table, key, now);
    std::vector<share> result;
    if (found.set() != nullptr) {
        std::ranges::copy_if(found.set()->shares, std::back_inserter(result),
                             [now](const auto& one) { return one.expires > now; });
    } else if (found.token() != nullptr) {
        result.push_back({*found.token(), found.expires()});
    }
    return result;
}

std::string server::holder_of(const std::string& key) {
    const std::set<std::string> all = holders_of(key);
    return all.empty() ? std::string() : *all.begin();
}

bool server::holds(const std::string& key, const std::string& token) {
    const core::time_point now = clock_.at(world_.now());
    const kinds::lock_key found(slot_with(key).table, key, now);
    return found.is_held_by(token) &&
           (found.set() == nullptr ||
            std::ranges::none_of(found.set()->shares, [&](const share& one) {
                return one.token == token && one.expires <= now;
            }));
}

}  // namespace colock::simulation
