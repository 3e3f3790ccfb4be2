// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/fifo/fifo.hpp"

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

std::string name_of(std::uint64_t client, std::uint64_t place) {
    return std::to_string(client).append(".").append(std::to_string(place));
}

std::string ticket_of(std::string_view key, std::uint64_t client) {
    return waiters_ticket_prefix(key).append(std::to_string(client));
}

// As in waiters.lua.
constexpr core::duration minute = std::chrono::minutes(1);
constexpr std::size_t most_dead = 256;

/// The queue of a key and the ticket of a client, in memory.
class queue_in_memory {
public:
    queue_in_memory(const kinds::command& command, table& keys, const instant& at)
        : command_(command),
          keys_(keys),
          now_(at.now),
          name_(waiters_key(command.key)),
          ticket_(ticket_of(command.key, command.ticket)),
          entry_(keys.find(name_, now_)),
          all_(entry_ != nullptr ? entry_->as<waiters>() : nullptr),
          own_{command.ticket, command.place},
          ttl_(core::milliseconds(command.place_ttl)) {
        if (all_ != nullptr && command.step != step::leave) {
            notice();
        }
    }

    /// Returns the vote if colock did not write one of the two keys.
    [[nodiscard]] std::optional<vote> problem() const {
        if (entry_ != nullptr && all_ == nullptr) {
            return foreign_in_queue(name_);
        }
        table::entry* const found = keys_.find(ticket_, now_);
        const std::string* const text = found != nullptr ? found->as<std::string>() : nullptr;
        return found == nullptr || (text != nullptr && text->empty())
                   ? std::nullopt
                   : std::optional(foreign_in_queue(ticket_));
    }

    /// Removes dead waiters at the front. Returns whether a waiter of this client is next, as first_of in
    /// waiters.lua does.
    bool is_our_turn() {
        for (std::size_t i = 0; i != most_dead && all_ != nullptr; ++i) {
            const waiters::member first = all_->members.front();
            if (!is_dead(first)) {
                return first.client == own_.client;
            }
            erase(first);
        }
        return all_ == nullptr;
    }

    /// Returns what enter.lua returns.
    std::uint64_t enter() {
        if (has(own_.place)) {
            if (keys_.find(ticket_, now_) == nullptr) {
                write_ticket();
            }
            return 0;
        }
        if (all_ == nullptr) {
            entry_ = &keys_.put(name_, waiters(), now_ + minute);
            all_ = entry_->as<waiters>();
        }
        const waiters::member last = all_->members.empty() ? own_ : all_->members.back();
        all_->members.push_back(own_);
        write_ticket();
        return last.client == own_.client ? last.place : 0;
    }

    void leave() {
        if (has(own_.place)) {
            leave_as(own_);
        }
    }

    /// Does the same as stay.lua.
    vote stay() {
        table::entry* const ticket = keys_.find(ticket_, now_);
        if (ticket == nullptr || !has(own_.place) || !has(command_.value)) {
            return vote::denied(key_state::absent);
        }
        if (ticket->expires - now_ < ttl_ * 7 / 8) {
            write_ticket();
        }
        const std::size_t before = all_->members.size();
        const bool is_ours = is_our_turn();
        if (all_->members.size() != before) {
            write_ticket();
        }
        if (is_ours) {
            return vote::granted(0);
        }
        auto place = std::ranges::find(all_->members, own_);
        while (place != all_->members.begin() && before - all_->members.size() < most_dead) {
            --place;
            if (place->client != own_.client) {
                if (lives(place->client)) {
                    return vote::granted(place->client);
                }
                place = all_->members.erase(place);
            }
        }
        return vote::granted(0);
    }

private:
    [[nodiscard]] bool has(std::uint64_t place) const {
        return all_ != nullptr &&
               std::ranges::find(all_->members, waiters::member{own_.client, place}) !=
                   all_->members.end();
    }

    [[nodiscard]] bool lives(std::uint64_t client) const {
        return client == own_.client || is_settling_ ||
               keys_.find(ticket_of(command_.key, client), now_) != nullptr;
    }

    /// Does the same as notice in waiters.lua, and keeps the queue.
    void notice() {
        const core::duration part = std::max(ttl_ / 8, core::duration(1));
        const core::duration left = entry_->expires - now_;
        auto parts = (left - core::duration(1)) / minute;
        core::duration silence = (parts + 1) * minute - left;
        if (silence > 3 * part) {
            parts = parts <= 16 ? parts + 8 : 0;
            silence = {};
        }
        parts = std::max<core::duration::rep>(parts - silence / part, 0);
        is_settling_ = parts > 0;
        entry_->expires = now_ + (parts + 1) * minute - silence % part;
    }

    /// Returns whether a waiter is dead, as first_of in waiters.lua does. A smaller number of this client
    /// was left behind.
    [[nodiscard]] bool is_dead(waiters::member one) const {
        return one.client == own_.client ? one.place < own_.place : !lives(one.client);
    }

    /// Writes the ticket. This never shortens its remaining time.
    void write_ticket() {
        const table::entry* const ticket = keys_.find(ticket_, now_);
        const core::time_point end = now_ + ttl_;
        keys_.put(ticket_, {}, ticket != nullptr ? std::max(ticket->expires, end) : end);
    }

    void erase(const waiters::member one) {
        std::erase(all_->members, one);
        if (all_->members.empty()) {
            keys_.erase(name_);
            entry_ = nullptr;
            all_ = nullptr;
        }
    }

    void leave_as(waiters::member one) {
        erase(one);
        if (all_ != nullptr) {
            write_ticket();
        } else {
            keys_.erase(ticket_);
        }
    }

    const kinds::command& command_;
    table& keys_;
    core::time_point now_;
    std::string name_;
    std::string ticket_;
    table::entry* entry_;
    waiters* all_;
    waiters::member own_;
    core::duration ttl_;
    bool is_settling_ = false;  // Nobody counts as dead.
};

class waiters_kind final : public queue_kind {
public:
    constexpr waiters_kind() : queue_kind({.name = "queue of waiters"}) {}

    [[nodiscard]] std::string ticket_name(std::string_view key,
                                          std::uint64_t number) const override {
        return ticket_of(key, number);
    }

    void encode(const kinds::command& command, const capabilities& /*server*/, script_form form,
                resp::command_writer& to) const override {
        if (command.step == step::remaining) {
            to.write(resp::words<"PTTL">, command.key);
            return;
        }
        const std::string queue = waiters_key(command.key);
        const std::string ticket = ticket_of(command.key, command.ticket);
        const std::string member = name_of(command.ticket, command.place);
        const number life(command.place_ttl);
        if (command.step == step::leave) {
            write_script(scripts::give_up, form, to, {queue, ticket}, member, life.text());
        } else if (command.value == 0) {
            assert(command.step == step::join);
            write_script(scripts::enter, form, to, {queue, ticket}, member, life.text());
        } else {
            const number kept(form == script_form::asking ? -command.place_ttl : command.place_ttl);
            write_script(scripts::stay, form, to, {queue, ticket}, member,
                         name_of(command.ticket, command.value), kept.text());
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        if (command.step == step::remaining) {
            return decode_remaining(reply);
        }
        if (const auto client = number_in(reply)) {
            return vote::granted(*client);
        }
        return reply.type == resp::type::number && is(reply.text, "-1")
                   ? vote::denied(key_state::absent)
                   : unexpected(reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.step == step::remaining) {
            return execute_for_holder(command, keys, at);
        }
        queue_in_memory queue(command, keys, at);
        if (auto problem = queue.problem()) {
            return *std::move(problem);
        }
        if (command.step == step::join && command.value != 0) {
            return queue.stay();
        }
        if (command.step == step::join) {
            return vote::granted(queue.enter());
        }
        queue.leave();
        return vote::granted(0);
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return command.step != step::remaining;
    }
};

constexpr waiters_kind the_waiters;

/// Its acquire respects the order of the waiters. All other steps are those of the kind whose leases it has.
class fifo_kind final : public lock_kind {
public:
    constexpr fifo_kind(const kind_traits& traits, bool is_fenced)
        : lock_kind(traits), is_fenced_(is_fenced) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        if (!asks_for_turn(command)) {
            of_its_leases().encode(command, server, form, to);
            return;
        }
        const std::string queue = waiters_key(command.key);
        const std::string ticket = ticket_of(command.key, command.ticket);
        const std::string member = name_of(command.ticket, command.place);
        const number ttl(command.ttl.count());
        const number life(command.announces ? command.place_ttl : -command.place_ttl);
        if (is_fenced_) {
            write_script(scripts::count_turn, form, to,
                         {command.key, queue, ticket, fence_key(command.key)}, command.token,
                         ttl.text(), member, life.text(),
                         number(static_cast<long long>(command.value)).text(),
                         number(std::chrono::milliseconds(fence_idle).count()).text());
        } else {
            write_script(scripts::take_turn, form, to, {command.key, queue, ticket}, command.token,
                         ttl.text(), member, life.text());
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        if (!asks_for_turn(command)) {
            return of_its_leases().decode(command, reply);
        }
        const auto fence = number_in(reply);
        if (fence && *fence == 0) {
            return vote::denied(key_state::foreign);
        }
        return is_fenced_ ? decode_fence(reply) : decode_taken(reply);
    }

    [[nodiscard]] vote decode_native(const kinds::command& command,
                                     const resp::value& reply) const override {
        return of_its_leases().decode_native(command, reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (!asks_for_turn(command)) {
            return of_its_leases().execute(command, keys, at);
        }
        queue_in_memory queue(command, keys, at);
        if (auto problem = queue.problem()) {
            return *std::move(problem);
        }
        if (!lock_key(keys, command.key, at.now).exists() && queue.is_our_turn()) {
            vote result = of_its_leases().execute(command, keys, at);
            if (result.kind == core::vote_kind::granted) {
                queue.leave();
            }
            return result;
        }
        if (command.announces) {
            queue.enter();
        }
        return vote::denied(key_state::foreign);
    }

    [[nodiscard]] const queue_kind& queue() const noexcept override { return the_waiters; }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return asks_for_turn(command) || of_its_leases().has_auxiliary_key(command);
    }

    /// Without its queue, an acquire could overtake a waiter. It therefore waits until the slot has moved.
    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        return asks_for_turn(command) ? std::vector<kinds::command>()
                                      : of_its_leases().apart(command);
    }

private:
    /// Returns whether the command needs a turn. A command that heals restores a lock that is held,
    /// so it needs none.
    static bool asks_for_turn(const kinds::command& command) noexcept {
        return core::takes_key(command) && !command.heals;
    }

    [[nodiscard]] const lock_kind& of_its_leases() const noexcept {
        return is_fenced_ ? fenced : exclusive;
    }

    bool is_fenced_;
};

constexpr fifo_kind the_fifo({.name = "exclusive",
                              .releases = &releases_together,
                              .released_natively = true,
                              .acquire_grants_by_ok = true,
                              .holder_grants_by_one = true,
                              .joins_remote_queue = false,
                              .orders_waiters = true},
                             false);
constexpr fifo_kind the_fenced_fifo({.name = "fenced",
                                     .agreement = core::agreement::largest,
                                     .value_per_holder = true,
                                     .releases = &releases_together,
                                     .released_natively = true,
                                     .holder_grants_by_one = true,
                                     .joins_remote_queue = false,
                                     .orders_waiters = true},
                                    true);

}  // namespace

constinit const lock_kind& fifo = the_fifo;
constinit const lock_kind& fenced_fifo = the_fenced_fifo;

}  // namespace colock::kinds
