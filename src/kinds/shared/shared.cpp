// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/shared/shared.hpp"

#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

class shared_kind final : public lock_kind {
public:
    explicit constexpr shared_kind(bool counts)
        : lock_kind({.name = counts ? "fenced shared" : "shared",
                     .admission = admission::shared(),
                     .token_prefix = reader_prefix,
                     .agreement = counts ? core::agreement::largest : core::agreement::none,
                     .value_per_holder = counts,
                     .releases = &releases_together,
                     .acquire_grants_by_ok = !counts,
                     .holder_grants_by_one = true,
                     .tries_twice = !counts}) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        if (command.part == counter_part) {
            write_count(command, fence_use::read, form, to);
        } else if (command.step == step::acquire) {
            write_acquire(command, form, to);
        } else if (command.step == step::confirm) {
            fenced.encode(command, server, form, to);
        } else {
            write_for_holder(command, server, form, to);
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        if (command.part == counter_part) {
            return decode_fence(reply);
        }
        switch (command.step) {
            case step::acquire:
                return decode_acquire(reply);
            case step::confirm:
                return decode_fence(reply);
            case step::extend:
                return reply.type == resp::type::number && is(reply.text, "2")
                           ? vote::announced()
                           : decode_compare(reply);
            default:
                return decode_for_holder(command.step, reply);
        }
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.part == counter_part) {
            return move_fence(command, fence_use::read, keys, at);
        }
        if (command.step == step::confirm) {
            return fenced.execute(command, keys, at);
        }
        if (command.step != step::acquire) {
            return execute_for_holder(command, keys, at);
        }
        lock_key key(keys, command.key, at.now);
        if (key.exists() && !joins(command)) {
            return vote::denied(key_state::foreign);
        }
        if (key.is_exclusive()) {
            return key.denial();
        }
        if (key.marked_until() > at.now) {
            return vote::denied(key_state::announced);
        }
        vote granted = vote::granted();
        if (is_fenced()) {
            granted = move_fence(command, fence_use::read, keys, at);
            if (granted.kind != core::vote_kind::granted) {
                return granted;
            }
        }
        key.share(command.token, at.now + command.ttl);
        return granted;
    }

    [[nodiscard]] std::string why(const vote& denial, std::string_view detail) const override {
        return denial.key == key_state::announced ? "denied, a writer is waiting"
                                                  : lock_kind::why(denial, detail);
    }

    /// Returns whether the command uses the counter, or a set of readers next to the key. A reader that joins
    /// another makes such a set.
    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return is_fenced() ? command.step == step::acquire || command.step == step::confirm
                           : command.step == step::acquire && joins(command);
    }

    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        if (!is_fenced()) {
            return {};
        }
        kinds::command take = command;
        take.kind = &shared;
        take.contended = true;
        return key_and_counter(command, take);
    }

private:
    [[nodiscard]] bool is_fenced() const noexcept {
        return traits().agreement == core::agreement::largest;
    }

    /// Returns whether an acquire joins other readers. The first attempt only acquires a key
    /// that does not exist.
    [[nodiscard]] bool joins(const kinds::command& command) const noexcept {
        // mutant: readers_enter_one_by_one
        return command.contended || command.heals || is_fenced();
    }

    [[nodiscard]] vote decode_acquire(const resp::value& reply) const {
        if (reply.type == resp::type::number && is(reply.text, "-2")) {
            return vote::denied(key_state::announced);
        }
        if (is_fenced()) {
            return decode_fence(reply);
        }
        return reply.type == resp::type::number && is(reply.text, "-1")
                   ? vote::denied(key_state::foreign)
                   : decode_taken(reply);
    }

    void write_acquire(const kinds::command& command, script_form form,
                       resp::command_writer& to) const {
        const number ttl(command.ttl.count());
        if (!joins(command)) {
            write_set(command, to);
        } else if (!is_fenced()) {
            write_script(scripts::share, form, to, {command.key}, command.token, ttl.text(),
                         new_set_key(command.key));
        } else {
            const number least(static_cast<long long>(command.value));
            const number idle(std::chrono::milliseconds(fence_idle).count());
            write_script(scripts::share, form, to, {command.key, fence_key(command.key)},
                         command.token, ttl.text(), new_set_key(command.key), least.text(),
                         idle.text());
        }
    }
};

constexpr shared_kind the_shared(false);
constexpr shared_kind the_fenced_shared(true);

}  // namespace

constinit const lock_kind& shared = the_shared;
constinit const lock_kind& fenced_shared = the_fenced_shared;

}  // namespace colock::kinds
