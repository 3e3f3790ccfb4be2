// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/server.hpp"

#include "core/lease_step.hpp"
#include "instance/redis/key_slot.hpp"
#include "kinds/kind.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/once/once.hpp"
#include "kinds/script_commands.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace colock::simulation {
namespace {

using kinds::is_reader;

/// Returns the token that a former writer had before it became a reader.
std::string as_writers(const std::string& token) {
    return std::string(kinds::as_writers(token));
}

double some_rate(world& w) {
    const double wrong = w.faults().clock_rates;
    // The extremes are the most likely to violate the bounds.
    const double rate = w.random.chance(0.3) ? (w.random.chance(0.5) ? 1 + wrong : 1 - wrong)
                                             : w.random.between(1 - wrong, 1 + wrong);
    if (rate > 1.001 || rate < 0.999) {
        w.count(fault::clock_drift);
    }
    return rate;
}

/// The name part of auxiliary keys, as in auxiliary_key.hpp.
constexpr std::string_view beside = ":colock:";
constexpr std::array<std::string_view, 2> places_of_new_sets = {"}:colock:readers",
                                                                "}:colock:permits"};

/// No lock uses a hash. The ttl of a record is checked by `record_checker`.
constexpr std::size_t of_records =
    small_redis::key_value(std::in_place_type<small_redis::hash>).index();

std::string counter_of(const std::string& key) {
    return "{" + key + "}:colock:fence";
}

}  // namespace

server::server(world& w, std::string name, const small_redis::dialect& speaks, std::size_t slots)
    : world_(w),
      name_(std::move(name)),
      clock_(some_rate(w), w.random.up_to(100h)),
      clock_start_(clock_.at(true_time())),
      host_(speaks),
      slots_(slots),
      started_(clock_.at(w.now()) - 1h) {
    begin();
}

server::server(const server& other, std::string name)
    : world_(other.world_),
      name_(std::move(name)),
      clock_(other.clock_),
      clock_start_(other.clock_start_),
      host_(other.host_.dialect()),
      slots_(other.slots_),
      started_(other.started_) {
    host_.access = other.host_.access;
    begin();
}

void server::begin() {
    host_.observer = this;
    host_.on_push = [this](small_redis::session& to) { tellers_.at (&to)(); };
    if (slots_ > 1) {
        host_.cluster.emplace().serve(0, instance::redis::slot_count - 1);
    }
}

std::size_t server::slot_of(std::string_view key) const {
    return slots_ == 1 ? 0 : instance::redis::key_slot(key) % slots_;
}

/// Returns the server's wall clock. All wall clocks agree at the start of the world.
wall_microseconds server::wall() const {
    constexpr std::chrono::seconds begin(1'800'000'000);
    const duration since = begin + (clock_.at(world_.now()) - clock_start_);
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

/// Returns a time until which a value with this expiry certainly exists. A value without a ttl gets a long
/// time.
true_time server::when(wall_milliseconds t) const {
    constexpr core::milliseconds for_long = 1h;
    const core::milliseconds left(t == small_redis::no_expiry ? for_long.count()
                                                              : t - wall_in_ms());
    return clock_.when(clock_.at(world_.now()) + left);
}

stored_key server::read(std::string_view key) const {
    return read_key(host_.keys(), key, wall_in_ms());
}

std::unique_ptr<redis_session> server::open(std::function<void()> tell) {
    const probed_server& probed = probe(host_);
    if (!probed.objection.empty()) {
        return nullptr;
    }
    auto result = std::make_unique<redis_session>(host_, probed);
    tellers_[&result->at_server()] = std::move(tell);
    return result;
}

/// Executes a command of a third party with all rights.
void server::order(std::initializer_list<std::string_view> command) {
    is_strangers_ = true;
    const small_redis::conditions former = std::exchange(host_.state, {});
    small_redis::access_rules access = std::exchange(host_.access, {});
    host_.execute(wall(), command);
    host_.state = former;
    host_.access = std::move(access);
    is_strangers_ = false;
}

/// Removes expired keys. Any later change is therefore caused by a command.
void server::expire() {
    host_.expire_due(wall());
    last_keys_ = host_.keys();
    last_version_ = host_.version();
}

/// Called for each command. Commands of third parties and calls from scripts are ignored.
void server::on_executed(const small_redis::executed& what) {
    if (is_strangers_ || what.is_in_script) {
        return;
    }
    failures_.push_back(what.has_failed);
    if (host_.version() == last_version_) {
        return;
    }
    if (what.has_failed && host_.keys() != last_keys_) {
        world_.violation("all or nothing", name_ + " has changed " + what.changed.front() +
                                               " by a command that it answers with an error");
    }
    for (const std::string& name : what.changed) {
        const small_redis::record* const found = host_.keys().find(name);
        const bool is_record = found != nullptr && found->content.index() == of_records;
        if (found != nullptr && found->expires == small_redis::no_expiry && !is_record &&
            !of_strangers_.contains(name)) {
            world_.violation("ttl", name_ + " has " + name + " without a ttl");
        }
        const bool is_place = std::ranges::any_of(
            places_of_new_sets, [&name](std::string_view end) { return name.ends_with(end); });
        if (found != nullptr && is_place && !of_strangers_.contains(name)) {
            world_.violation("all or nothing", name_ + " has left " + name);
        }
    }
    last_keys_ = host_.keys();
    last_version_ = host_.version();
}

std::span<const outcome> server::execute(std::span<const sent_request> all, script_form form,
                                         redis_session& by) {
    world_.tally.commands += all.size();
    const request& first = all.front().what;
    if (first.command.step != core::step::remaining && world_.faults().rollbacks > 0) {
        checkpoint();
    }
    expire();
    failures_.clear();
    const small_redis::keyspace keys = last_keys_;
    const std::uint64_t version = last_version_;
    const std::span<const outcome> outcomes = by.execute(all, form, wall());
    expect_strangers_left_alone(keys);
    for (std::size_t i = 0; i != all.size(); ++i) {
        const request& one = all[i].what;
        if (one.record != nullptr) {
            if (!outcomes[i].again && !outcomes[i].elsewhere) {
                on_record(one, read_record(keys, one.key(), wall_in_ms()),
                          read_record(host_.keys(), one.key(), wall_in_ms()));
            }
            continue;
        }
        const bool is_claimed =
            kinds::is_behind_announcement(one.command, form) && !failures_.front();
        const bool is_executed = !outcomes[i].again && !outcomes[i].elsewhere;
        if (is_executed && one.command.kind == &kinds::once) {
            const result_change seen{read_result(keys, one.key(), wall_in_ms()),
                                     result_of(one.key()), lasts_until(one.key())};
            on_result(one, outcomes[i].vote, seen);
        }
        for (const std::string_view name : names_of(one.command)) {
            kinds::command of_name = one.command;
            of_name.key = name;
            const change c{of_name, outcomes[i].vote, read_key(keys, name, wall_in_ms()),
                           read(name)};
            const bool adopts =
                core::lease_tag::from(one.tag).purpose() == core::lease_tag::purpose_type::adopt &&
                one.life != nullptr;
            if (is_executed && adopts && c.answer.kind == core::vote_kind::granted &&
                !c.before.is_held_by(one.token())) {
                world_.violation("adopted", name_ + " has given " + std::string(name) +
                                                " to a lease that did not have it");
            }
            if (is_executed) {
                order_.on_executed(one.command, c.answer, keys, host_.keys(), wall_in_ms());
                expect_reason_to_wait(one.command, c.answer, keys);
                look_at(c, all, is_claimed);
            } else if (is_claimed) {
                note_claim(c);
            }
        }
        if (is_executed && !one.command.more_keys.empty()) {
            expect_all_or_none(one.command, outcomes[i].vote, keys);
        }
    }
    if (first.command.step == core::step::remaining &&
        by.probed().facts.capabilities.tells_changes) {
        for (const std::string_view name : names_of(first.command)) {
            if (host_.keys().contains(name)) {
                world_.at(lasts_until(std::string(name)) + 2ms, [this] { expire(); });
            }
        }
    }
    if (host_.version() != version) {
        ++written_;
        if (on_written) {
            on_written();
        }
    }
    return outcomes;
}

void server::look_at(const change& c, std::span<const sent_request> all, bool is_claimed) {
    const kinds::command& command = c.command;
    const std::string key(command.key);
    const std::string token(command.token);
    const wall_milliseconds now = wall_in_ms();
    const auto found = marks_.find(key);
    const bool was_marked =
        found != marks_.end() && std::ranges::any_of(found->second, [now](const auto& of_client) {
            return of_client.second.is_known && of_client.second.until > now;
        });
    expect_untouched(c, all);
    if (is_of_result(command.step)) {
        return;  // See once_checker.
    }
    expect_permits(c);
    if (host_.state.is_out_of_memory && troubles_ == 1 &&
        c.answer.kind == core::vote_kind::failed &&
        (command.step == core::step::extend || command.step == core::step::release)) {
        world_.violation("no memory needed", name_ + " cannot renew or release a lock");
    }
    if (command.part != 0) {
        return;  // It only concerns the fence counter.
    }
    if (c.answer.kind == core::vote_kind::denied && command.step == core::step::acquire) {
        expect_reason(c, was_marked || c.before.marked_until() > now, is_claimed);
    }
    if (is_claimed) {
        note_claim(c);
    } else if (command.step == core::step::withdraw && c.answer.kind != core::vote_kind::failed &&
               found != marks_.end()) {
        found->second.erase(command.ticket);
    }
    if (c.answer.kind != core::vote_kind::granted) {
        return;
    }
    const auto was_held_by = [&c](std::string_view name) { return c.before.find(name) != nullptr; };
    const bool is_of_queue = command.step == core::step::join || command.step == core::step::leave;
    if (command.step == core::step::acquire) {
        expect_room(c);
        if (is_reader(token) && was_marked) {
            world_.violation("no reader before a waiting writer",
                             name_ + " has let one in past a writer's mark");
        }
        note_holder(c);
    } else if (!is_of_queue && command.step != core::step::withdraw) {
        // An expired permit still belongs to its token until another token takes the slot.
        const bool may_have_ended = command.step == core::step::release &&
                                    command.kind->traits().admission.counts_holders();
        if (!may_have_ended && !was_held_by(token) && !was_held_by(kinds::as_writers(token))) {
            world_.violation("token check", name_ + " changed the key of another token");
        }
        auto& tokens = tokens_[key];
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
}

/// Records that a claim was executed before the command.
void server::note_claim(const change& c) {
    const std::string key(c.command.key);
    if (c.before.holders.empty()) {
        marks_.erase(key);
    } else if (is_reader(c.before.holders.front().token)) {
        expect_mark(c, marks_[key]);
    }
}

/// Checks a writer mark. It must keep readers out while a denied writer waits, from its attempt on and for a
/// second at most.
void server::expect_mark(const change& c, marks_by_client& expected) {
    constexpr wall_milliseconds no_mark = std::numeric_limits<wall_milliseconds>::min();
    const wall_milliseconds now = wall_in_ms();
    const wall_milliseconds there = c.after.marked_until();
    wall_milliseconds last = c.command.announces ? now + longest_mark : no_mark;
    for (auto& [client, of_client] : expected) {
        if (!of_client.is_known) {
            of_client = {c.after.mark_of(client)};
        }
        if (of_client.until > now + longest_mark) {
            of_client.until = no_mark;  // From before the clock was set back.
        }
        if (client != c.command.ticket || !c.command.announces) {
            last = std::max(last, of_client.until);
        }
    }
    if (c.command.announces) {
        expected[c.command.ticket] = {now + longest_mark};
    }
    if (last > now && there < last) {
        world_.violation("no reader before a waiting writer",
                         name_ + " has denied a writer, and has no mark of it");
    } else if (there > now && there > last) {
        world_.violation("no reader before a waiting writer",
                         name_ + " keeps readers out for longer than a writer waits");
    }
}

/// Records that the token has the key now, together with any compatible holders.
void server::note_holder(const change& c) {
    auto& tokens = tokens_[std::string(c.command.key)];
    if (c.before.limit != 0 && wish_of(c.command.token).limit == c.before.limit) {
        std::erase_if(tokens, [&](const auto& one) { return c.before.find(one) == nullptr; });
    } else if (!is_reader(c.command.token) || tokens.empty() || !is_reader(*tokens.begin())) {
        tokens.clear();
    }
    tokens.emplace(c.command.token);
}

/// Checks a grant. The token must be compatible with all current holders.
void server::expect_room(const change& c) {
    const bool beside_readers =
        is_reader(c.command.token) &&
        std::ranges::all_of(c.before.holders, [](const auto& one) { return is_reader(one.token); });
    const bool beside_permits = c.before.limit != 0 && wish_of(c.command.token).limit ==
                                                           c.before.limit;  // See expect_permits.
    // An instance that has lost one of several names gets all of them back.
    const bool is_its_own = !c.before.holders.empty() && c.command.heals &&
                            c.command.kind == &kinds::multi &&
                            c.before.holders.front().token == c.command.token;
    if (!c.before.holders.empty() && !beside_readers && !beside_permits && !is_its_own) {
        world_.violation("instance", name_ + " gave away a key that was held");
    }
}

/// Checks that no command changes another token's share, and that only a release ends a share early. A denied
/// acquire of permits leaves the token none. Several releases may have arrived as one command. In its last
/// millisecond a key exists without a holder.
void server::expect_untouched(const change& c, std::span<const sent_request> all) {
    const bool takes_own = c.command.step == core::step::release ||
                           c.command.step == core::step::complete ||
                           (c.answer.kind == core::vote_kind::denied &&
                            c.command.step == core::step::acquire && c.before.limit != 0);
    for (const stored_holder& one : c.before.holders) {
        const std::string_view name = kinds::as_writers(one.token);
        const bool is_named = std::ranges::any_of(all, [name](const sent_request& other) {
            return kinds::as_writers(other.what.command.token) == name;
        });
        const auto left = std::ranges::find(c.after.holders, name, [](const stored_holder& other) {
            return kinds::as_writers(other.token);
        });
        if (one.expires <= wall_in_ms()) {
            continue;
        }
        if (!is_named) {
            if (left == c.after.holders.end() || left->expires != one.expires ||
                left->slots != one.slots) {
                const std::string left_over =
                    left == c.after.holders.end()
                        ? "nothing"
                        : std::to_string(left->expires - one.expires) + " ms more";
                world_.violation("token check", name_ + " changed what another token holds: " +
                                                    std::string(one.token) + " has " + left_over);
            }
        } else if (name == kinds::as_writers(c.command.token) && !takes_own &&
                   (left == c.after.holders.end() || left->expires < one.expires)) {
            world_.violation("instance", name_ + " has a key expire sooner than it said");
        }
    }
}

/// Checks a command for several names. The token must have all of them afterwards, or the same as before.
/// After a release it must have none.
void server::expect_all_or_none(const kinds::command& command, const core::vote& answer,
                                const small_redis::keyspace& keys) {
    const wall_milliseconds now = wall_in_ms();
    const bool is_granted = answer.kind == core::vote_kind::granted;
    const bool takes = command.step == core::step::acquire;
    bool is_in_its_way = false;
    for (const std::string_view name : names_of(command)) {
        const stored_key before = read_key(keys, name, now);
        const stored_key after = read(name);
        const stored_holder* const had = before.find(command.token);
        const stored_holder* const has = after.find(command.token);
        is_in_its_way = is_in_its_way || (before.exists && (had == nullptr || !command.heals));
        const auto fail = [&](const std::string& what) {
            world_.violation("all or none", name_ + " " + what + " " + std::string(name) + " of " +
                                                std::string(command.token));
        };
        if (command.step == core::step::release) {
            if (has != nullptr && answer.kind != core::vote_kind::failed) {
                fail("has not released");
            }
        } else if (is_granted && (takes || command.step == core::step::extend)) {
            if (has == nullptr || has->expires < now + command.ttl.count()) {
                fail("has granted all names, and the key ends too early:");
            }
        } else if ((had == nullptr) != (has == nullptr) ||
                   (had != nullptr && had->expires != has->expires && had->expires > now)) {
            fail("has not granted all names, and changed");
        }
    }
    if (takes && answer.kind == core::vote_kind::denied && !is_in_its_way) {
        world_.violation("instance", name_ + " denied names that it could have given");
    }
}

/// Checks that a denied acquire has a reason. A server keeps a key for up to a millisecond after its holders
/// have expired.
void server::expect_reason(const change& c, bool has_mark, bool is_cleared) {
    const bool is_over = c.before.exists && c.before.expires <= wall_in_ms();
    if (wish_of(c.command.token).limit != 0 || c.before.is_foreign || is_over ||
        !c.command.more_keys.empty() || asks_for_turn(c.command)) {
        return;  // See expect_permits, expect_all_or_none and expect_reason_to_wait.
    }
    const bool joins_readers =
        is_reader(c.command.token) &&
        (c.command.contended || c.command.heals || c.command.kind->traits().value_per_holder);
    const bool is_held =
        c.before.limit != 0 || std::ranges::any_of(c.before.holders, [&](const auto& one) {
            return !joins_readers || !is_reader(one.token);
        });
    // A writer mark from before the clock was set back does not count. It remains until an attempt removes it
    // or it expires.
    const bool clears = c.command.contended && c.command.kind->announces();
    const bool has_old_mark = c.before.exists && c.before.marks.empty() && !clears;
    if (!is_held && !has_old_mark && (!has_mark || is_cleared)) {
        world_.violation("instance", name_ + " denied a key that it could have given");
    }
}

/// Checks a denied turn. The lock must be held, or a living waiter must be ahead. While a slot moves, a
/// ticket may be elsewhere. After a standstill, dead waiters count as alive for a while.
void server::expect_reason_to_wait(const kinds::command& command, const core::vote& answer,
                                   const small_redis::keyspace& before) {
    if (asks_for_turn(command) && answer.kind == core::vote_kind::denied && !moves_slot_ &&
        !read_key(before, command.key, wall_in_ms()).exists &&
        read_waiters(host_.keys(), command.key, wall_in_ms()).remaining <=
            stored_waiters::usual_life &&
        read_waiters(before, command.key, wall_in_ms()).is_turn_of(sender_of(command))) {
        world_.violation("instance", name_ + " denied a key that is free, and whose turn has come");
    }
}

namespace {

/// Returns whether the command only checks for an existing key, as the first attempt for one permit does.
bool is_first_look(const kinds::command& c, const permit_wish& wish) {
    return wish.count == 1 && !c.contended && !c.heals && c.value == 0;
}

/// Returns the numbers that a token may get, given the taken slots, by the specification of
/// `kinds::semaphore`. They are its own if these are at least `least`, and otherwise the nearest free ones.
/// Empty if too few are free.
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

/// Checks that a token has all or none of the permits that it may have, for at least its ttl.
void server::expect_permits(const change& c) {
    const auto& [command, answer, before, after] = c;
    const permit_wish wish = wish_of(command.token);
    if (command.step == core::step::remaining) {
        expect_vacancy(c);
    }
    if (wish.limit == 0 || answer.kind == core::vote_kind::failed ||
        command.step == core::step::remaining) {
        return;
    }
    const auto fail = [this](const std::string& what) {
        world_.violation("instance", name_ + " " + what);
    };
    const stored_holder* const had = before.find(command.token);
    const stored_holder* const has = after.find(command.token);
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
    const wall_milliseconds until = wall_in_ms() + command.ttl.count();
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

/// Checks the reported time until enough permits are free.
void server::expect_vacancy(const change& c) {
    const auto& [command, answer, before, after] = c;
    const permit_wish wish = wish_of(command.kind->traits().token_prefix);
    if (wish.limit == 0 || answer.kind == core::vote_kind::failed ||
        (before.exists && before.limit != wish.limit)) {
        return;
    }
    std::vector<wall_milliseconds> ends;
    for (const stored_holder& one : before.holders) {
        ends.insert(ends.end(), numbers_of(wish, one.slots).size(), one.expires);
    }
    std::ranges::sort(ends);
    const std::size_t missing =
        ends.size() + wish.count - std::min(ends.size() + wish.count, std::size_t{wish.limit});
    const core::milliseconds left(missing == 0 ? 0 : ends[missing - 1] - wall_in_ms());
    const bool is_free = core::is_absent(answer);
    if (is_free ? left > core::milliseconds(0) : answer.remaining != left) {
        world_.violation("instance", name_ + " tells a wrong time at which permits are free");
    }
}

void server::checkpoint() {
    constexpr std::size_t most_lost = 3;
    if (checkpoints_.size() == most_lost) {
        checkpoints_.erase(checkpoints_.begin());
    }
    checkpoints_.push_back(*copy());
}

/// Returns a copy of the state. Foreign values are left out, because they would not be removed later.
std::shared_ptr<const server::state> server::copy() const {
    auto result = std::make_shared<state>(state{host_.keys(), tokens_, marks_});
    for (const auto& [name, content] : of_strangers_) {
        const small_redis::record* const found = result->keys.find(name);
        if (found != nullptr && found->content == content) {
            result->keys.erase(name);
        }
    }
    return result;
}

void server::replace(const state& all) {
    order_.forget();
    host_.replace_keys(all.keys);
    tokens_ = all.tokens;
    marks_ = all.marks;
}

/// Loses all data, including the scripts.
void server::forget_all() {
    forgot_at_ = world_.now();
    has_forgotten_ = true;
    replace({});
    host_.restart();
    checkpoints_.clear();
}

void server::pause(duration how_long) {
    world_.count(fault::instance_pause);
    if (world_.tracing()) {
        world_.tell(name_, "stands still for " + in_ms(how_long));
    }
    paused_until_ = std::max(paused_until_, world_.now() + how_long);
    order_.on_standstill(host_.keys(), wall_in_ms(), paused_until_);
}

void server::become_another() {
    on_down();
    destroy_all(world_.faults().quarantine > duration::zero() ? on_forgotten : on_destroyed);
    forget_all();
}

void server::restart(duration how_long, data d) {
    if (d == data::rolled_back && world_.faults().rollbacks == 0) {
        throw std::logic_error("a server that keeps no earlier states cannot be rolled back");
    }
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
        forgot_at_ = world_.now();
        destroy_all(world_.faults().quarantine > duration::zero() ? on_forgotten : on_destroyed);
    }
    if (d == data::lost) {
        forget_all();
    } else if (d == data::rolled_back && !checkpoints_.empty()) {
        replace(checkpoints_[world_.random.below(checkpoints_.size())]);
        rolled_back_ = true;
    }
    host_.restart();
    checkpoints_.clear();
    started_ = clock_.at(world_.now() + how_long);
    world_.after(how_long, [this] { up_ = true; });
}

void server::demote() {
    is_master_ = false;
    host_.state.is_replica = true;
    on_down();
}

void server::hand_off(std::size_t which, server& to) {
    move_keys(to, [this, which](const std::string& name) { return slot_of(name) == which; });
}

void server::begin_to_export(std::size_t slot, std::size_t to) {
    moves_slot_ = true;
    host_.cluster->migrate(slot, "node:" + std::to_string(to));
}

void server::begin_to_import(std::size_t slot, std::size_t from) {
    moves_slot_ = true;
    const std::string address = "node:" + std::to_string(from);
    host_.cluster->assign(slot, slot, address);
    host_.cluster->import(slot, address);
}

void server::move_key(std::size_t slot, server& to) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i != host_.keys().size(); ++i) {
        if (instance::redis::key_slot(host_.keys()[i].name) == slot) {
            all.push_back(host_.keys()[i].name);
        }
    }
    if (!all.empty()) {
        const std::string& moved = all[world_.random.below(all.size())];
        move_keys(to, [&moved](const std::string& name) { return name == moved; });
    }
}

void server::end_movement(std::size_t slot) {
    moves_slot_ = false;
    host_.cluster->serve(slot, slot);
}

template <typename Predicate>
void server::move_keys(server& to, const Predicate& is_moved) {
    order_.forget();
    to.order_.forget();
    small_redis::keyspace rest = host_.keys();
    small_redis::keyspace theirs = to.host_.keys();
    for (std::size_t i = 0; i != host_.keys().size(); ++i) {
        const small_redis::record& one = host_.keys()[i];
        if (is_moved(one.name)) {
            theirs.make(one.name) = one;
            rest.erase(one.name);
        }
    }
    host_.replace_keys(std::move(rest));
    to.host_.replace_keys(std::move(theirs));
    const auto move_notes = [&is_moved](auto& from, auto& into) {
        for (auto at = from.begin(); at != from.end();) {
            const auto one = at++;
            if (is_moved(one->first)) {
                into.erase(one->first);
                into.insert(from.extract(one));
            }
        }
    };
    move_notes(tokens_, to.tokens_);
    move_notes(marks_, to.marks_);
    ++written_;
    ++to.written_;
    if (on_written) {
        on_written();
        to.on_written();
    }
}

void server::jump(duration by) {
    order_.forget();
    const bool forward = by > duration::zero();
    world_.count(forward ? fault::clock_jump_forward : fault::clock_jump_back);
    if (world_.tracing()) {
        world_.tell(name_, "its clock jumps by " + in_ms(by));
    }
    if (forward) {
        forgot_at_ = world_.now();
        destroy_all(on_destroyed);
    } else {
        set_back_ -= by;
        // The server may have dropped a writer mark that becomes valid again.
        const auto forget_marks = [](std::map<std::string, marks_by_client>& all) {
            for (auto& [key, of_key] : all) {
                for (auto& [client, of_client] : of_key) {
                    of_client.is_known = false;
                }
            }
        };
        forget_marks(marks_);
        for (state& one : checkpoints_) {
            forget_marks(one.marks);
        }
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
    const stored_record record = read_record(host_.keys(), key, wall_in_ms());
    const bool is_record = !record.is_foreign && record.version != 0;
    const bool is_result = !result_of(key).record.empty();
    has_forgotten_ = has_forgotten_ || is_record || is_result;
    if (is_result) {
        forgot_at_ = world_.now();
    }
    if (tokens.empty() && !is_record && !is_result) {
        return;
    }
    world_.count(fault::foreign_delete);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger deletes " + key);
    }
    for (const std::string& token : tokens) {
        on_destroyed(token);
    }
    order({"DEL", key});
    tokens_.erase(key);
    marks_.erase(key);
}

void server::shorten_key(const std::string& key) {
    const std::set<std::string> tokens = holders_of(key);
    if (tokens.empty() || is_reader(*tokens.begin())) {
        return;
    }
    const core::milliseconds ttl(1 + static_cast<int>(world_.random.below(20)));
    if (read(key).expires <= wall_in_ms() + ttl.count()) {
        return;  // The library does not handle third parties that extend a ttl.
    }
    world_.count(fault::foreign_expiry);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger has " + key + " expire in " + in_ms(ttl));
    }
    if (!result_of(key).record.empty()) {
        forgot_at_ = world_.now();
    }
    std::ranges::for_each(tokens, on_destroyed);
    order({"PEXPIRE", key, std::to_string(ttl.count())});
}

void server::lose_counter(const std::string& key) {
    world_.count(fault::counter_lost);
    if (world_.tracing()) {
        world_.tell(name_, "forgets the fence counter of " + key);
    }
    order({"DEL", counter_of(key)});
}

void server::spoil_counter(const std::string& key) {
    if (holder_of(key).empty()) {
        return;
    }
    world_.count(fault::counter_spoiled);
    if (world_.tracing()) {
        world_.tell(name_, "a stranger spoils the fence counter of " + key);
    }
    order({"SET", counter_of(key), "9007199254740991", "PX", "86400000"});
    world_.after(50ms, [this, key] {
        lose_counter(key);
        checkpoints_.clear();  // A later rollback must not restore it.
    });
}

void server::expect_strangers_left_alone(const small_redis::keyspace& before) {
    for (const auto& [name, content] : of_strangers_) {
        const small_redis::record* const had = before.find(name);
        const small_redis::record* const has = host_.keys().find(name);
        if (had != nullptr && had->content == content && (has == nullptr || *has != *had)) {
            world_.violation("foreign key", name_ + " has changed " + name + " of a stranger");
        }
    }
}

void server::begin_trouble(fault f, const std::string& what, duration how_long,
                           std::function<void()> end) {
    world_.count(f);
    if (world_.tracing()) {
        world_.tell(name_, what + " for " + in_ms(how_long));
    }
    ++troubles_;
    world_.after(how_long, [this, end = std::move(end)] {
        --troubles_;
        end();
    });
}

void server::run_out_of_memory(duration how_long) {
    if (host_.state.is_out_of_memory) {
        return;
    }
    host_.state.is_out_of_memory = true;
    begin_trouble(fault::out_of_memory, "is out of memory", how_long,
                  [this] { host_.state.is_out_of_memory = false; });
}

/// Refuses a command for a while. A client that connected in that time probes again later, on another
/// connection. Here this happens immediately.
void server::refuse(const std::string& command, duration how_long) {
    host_.access.denied_commands.push_back(command);
    begin_trouble(fault::right_lost, "refuses " + command, how_long, [this, command] {
        auto& denied = host_.access.denied_commands;
        denied.erase(std::ranges::find(denied, command));
        on_down();
    });
}

void server::lose_right(duration how_long) {
    static constexpr std::array<std::string_view, 4> of_clients = {"eval", "evalsha", "delex",
                                                                   "delifeq"};
    const std::size_t which =
        world_.random.below(kinds::script_commands.size() + of_clients.size());
    refuse(std::string(which < of_clients.size()
                           ? of_clients[which]
                           : kinds::script_commands[which - of_clients.size()].name),
           how_long);
}

void server::refuse_writes(duration how_long) {
    bool& reason = world_.random.chance(0.5) ? host_.state.cannot_save : host_.state.is_loading;
    if (!std::exchange(reason, true)) {
        begin_trouble(fault::writes_refused, "refuses to write", how_long,
                      [&reason] { reason = false; });
    }
}

void server::become_replica(duration how_long) {
    if (!std::exchange(is_master_, false)) {
        return;
    }
    host_.state.is_replica = true;
    begin_trouble(fault::writes_refused, "is a replica", how_long, [this] {
        is_master_ = true;
        host_.state.is_replica = false;
    });
}

void server::lose_scripts() {
    world_.count(fault::scripts_lost);
    if (world_.tracing()) {
        world_.tell(name_, "loses its scripts");
    }
    host_.forget_scripts();
}

void server::take_name_of(const std::string& key, duration how_long) {
    const std::array<std::string, 5> names = {key, counter_of(key), "{" + key + "}:colock:readers",
                                              "{" + key + "}:colock:permits",
                                              "{" + key + "}:colock:queue"};
    take_name(names[world_.random.below(names.size())], how_long);
}

void server::take_name(const std::string& name, duration how_long) {
    if (host_.keys().contains(name) || of_strangers_.contains(name)) {
        return;
    }
    switch (world_.random.below(4)) {
        case 0:
            order({"RPUSH", name, "x"});
            break;
        case 1:
            order({"ZADD", name, "1", "x", "2", "y"});
            break;
        case 2:
            order({"HSET", name, "x", "y"});
            break;
        default:
            order({"SET", name, "x"});
            break;
    }
    const small_redis::record* const made = host_.keys().find(name);
    if (made == nullptr) {
        return;  // Its slot moves, so new keys are created elsewhere.
    }
    of_strangers_[name] = made->content;
    begin_trouble(fault::name_taken, "a stranger has " + name, how_long, [this, name] {
        const small_redis::record* const found = host_.keys().find(name);
        if (found != nullptr && found->content == of_strangers_.at(name)) {
            order({"DEL", name});
        }
        of_strangers_.erase(name);
    });
}

void server::destroy_all(const std::function<void(const std::string& token)>& told) {
    for (const auto& [key, token] : holders()) {
        told(token);
    }
}

std::vector<std::pair<std::string, std::string>> server::holders() const {
    std::vector<std::pair<std::string, std::string>> result;
    for (std::size_t i = 0; i != host_.keys().size(); ++i) {
        const std::string& key = host_.keys()[i].name;
        if (key.find(beside) == std::string::npos) {
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

// --- The content of a key -----------------------------------------------------------------------------

bool server::holds(const std::string& key, const std::string& token) const {
    return read(key).is_held_by(token);
}

slot_set server::slots_of(const std::string& key, const std::string& token) const {
    const stored_key found = read(key);
    const stored_holder* const one = found.find(token);
    return one != nullptr ? one->slots : 0;
}

slot_set server::free_slots(const std::string& key, std::uint32_t limit) const {
    const stored_key found = read(key);
    const slot_set all = permit_wish{limit, 1, 0}.all();
    return !found.exists ? all : found.limit == limit ? all & ~found.taken() : 0;
}

bool server::holds_anything(const std::string& key) const {
    return read(key).exists;
}

bool server::has_anything_of_waiters(const std::string& key) const {
    const std::string queue = waiters_of(key);
    for (std::size_t i = 0; i != host_.keys().size(); ++i) {
        const small_redis::record& one = host_.keys()[i];
        const wall_milliseconds longest = one.name == queue ? stored_waiters::longest_life : -1;
        if (one.name.starts_with(queue) && one.expires > wall_in_ms() + longest) {
            return true;
        }
    }
    return false;
}

true_time server::lasts_until(const std::string& key, const std::string& token) const {
    const stored_key found = read(key);
    const stored_holder* const one = found.find(token);
    return when(!found.exists ? wall_in_ms() : one != nullptr ? one->expires : found.expires);
}

bool server::was_last_held_by(const std::string& key, const std::string& token) const {
    const auto found = tokens_.find(key);
    return found != tokens_.end() &&
           (found->second.contains(token) || found->second.contains(as_writers(token)));
}

/// Returns the holders. If a record has replaced a token, this is that token.
std::set<std::string> server::holders_of(const std::string& key) const {
    std::set<std::string> result;
    if (const auto found = tokens_.find(key);
        found != tokens_.end() && !result_of(key).record.empty()) {
        return found->second;
    }
    for (const stored_holder& one : read(key).holders) {
        result.emplace(one.token);
    }
    return result;
}

std::string server::holder_of(const std::string& key) const {
    const std::set<std::string> all = holders_of(key);
    return all.empty() ? std::string() : *all.begin();
}

}  // namespace colock::simulation
