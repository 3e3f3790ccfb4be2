// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/exclusive.hpp"

#include "kinds/auxiliary_key.hpp"
#include "kinds/fence.hpp"
#include "kinds/key_commands.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/shared.hpp"
#include "kinds/table.hpp"

#include <chrono>
#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

/// As claim.lua.
void claim(const kinds::command& command, table& keys, const instant& at) {
    if (!is_behind_announcement(command, script_form::shortest)) {
        return;
    }
    lock_key key(keys, command.key, at.now);
    if (key.set() == nullptr) {
        return;
    }
    if (key.set()->shares.empty()) {
        key.erase();
    } else if (command.announces) {
        key.mark(command.ticket);
    }
}

/// The writer's side of a read-write lock announces itself.
class announcing_kind : public lock_kind {
public:
    using lock_kind::lock_kind;

    /// In full: its reply is not read, so nothing would send it again after NOSCRIPT.
    void announce(const kinds::command& command, resp::command_writer& to) const override {
        write_script(scripts::claim, script_form::in_full, to, {command.key},
                     number(command.announces ? traits().announcement_ttl.count() : 0).text(),
                     number(static_cast<long long>(command.ticket)).text(),
                     new_set_key(command.key));
    }

    /// In full: its sender may close the client at once.
    void withdraw(const kinds::command& command, resp::command_writer& to) const override {
        write_script(scripts::unmark, script_form::in_full, to, {command.key},
                     number(static_cast<long long>(command.ticket)).text());
    }

    [[nodiscard]] vote decode_native(const kinds::command& /*command*/,
                                     const resp::value& reply) const override {
        return decode_native_release(reply);
    }

protected:
    ~announcing_kind() = default;
};

/// Of the kind itself, or of its writers' side.
constexpr core::milliseconds announcement_ttl_of(bool is_writers) noexcept {
    return is_writers ? writer_mark_ttl : core::milliseconds(0);
}

class exclusive_kind final : public announcing_kind {
public:
    constexpr exclusive_kind(std::string_view name, bool is_writers)
        : announcing_kind({.name = name,
                           .releases = &releases_together,
                           .released_natively = true,
                           .acquire_grants_by_ok = true,
                           .holder_grants_by_one = true,
                           .announcement_ttl = announcement_ttl_of(is_writers),
                           .is_downgradable = is_writers}) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        if (command.step == step::acquire) {
            write_set(command, to);
        } else {
            write_for_holder(command, server, form, to);
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return command.step == step::acquire ? decode_taken(reply)
                                             : decode_for_holder(command.step, reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.step != step::acquire) {
            return execute_for_holder(command, keys, at);
        }
        claim(command, keys, at);
        if (lock_key(keys, command.key, at.now).exists()) {
            return vote::denied(key_state::foreign);
        }
        keys.put(command.key, command.token, at.now + command.ttl);
        return vote::granted();
    }
};

class fenced_kind final : public announcing_kind {
public:
    constexpr fenced_kind(std::string_view name, bool is_writers)
        : announcing_kind({.name = name,
                           .agreement = core::agreement::largest,
                           .value_per_holder = true,
                           .releases = &releases_together,
                           .released_natively = true,
                           .holder_grants_by_one = true,
                           .announcement_ttl = announcement_ttl_of(is_writers),
                           .is_downgradable = is_writers}) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        if (!counts(command)) {
            write_for_holder(command, server, form, to);
        } else if (command.part == counter_part) {
            write_count(command, fence_use::count, form, to);
        } else {
            write_fence(command, form, to);
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return counts(command) ? decode_fence(reply) : decode_for_holder(command.step, reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.part == counter_part) {
            return move_fence(command, fence_use::count, keys, at);
        }
        claim(command, keys, at);
        const lock_key key(keys, command.key, at.now);
        switch (command.step) {
            case step::acquire: {
                if (key.exists()) {
                    return key.denial();
                }
                // The counter first: a token that has the key was counted.
                vote counted = move_fence(command, fence_use::count, keys, at);
                if (counted.kind == core::vote_kind::granted) {
                    keys.put(command.key, command.token, at.now + command.ttl);
                }
                return counted;
            }
            case step::confirm:
                if (!key.is_held_by(command.token)) {
                    return key.exists() ? key.denial() : vote::denied(key_state::absent);
                }
                return move_fence(command, fence_use::count, keys, at);
            default:
                return execute_for_holder(command, keys, at);
        }
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return counts(command);
    }

    /// The key, and then the counter.
    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        kinds::command count = command;
        count.part = counter_part;
        if (command.step == step::acquire) {
            kinds::command take = command;
            take.kind = announces() ? &writer : &exclusive;
            return {take, count};
        }
        if (command.step == step::confirm && command.value != 0) {
            return {count};
        }
        return {};
    }

private:
    /// Whether the fence counter has a part in it.
    static bool counts(const kinds::command& command) noexcept {
        return command.step == step::acquire || command.step == step::confirm;
    }

    static void write_fence(const kinds::command& command, script_form form,
                            resp::command_writer& to) {
        const number ttl(command.step == step::acquire ? command.ttl.count() : 0);
        const number fence(static_cast<long long>(command.value));
        const number idle(std::chrono::milliseconds(fence_idle).count());
        write_script(scripts::fence, form, to, {command.key, fence_key(command.key)}, command.token,
                     ttl.text(), fence.text(), idle.text());
    }
};

constexpr exclusive_kind the_exclusive("exclusive", false);
constexpr exclusive_kind the_writer("writer", true);
constexpr fenced_kind the_fenced("fenced", false);
constexpr fenced_kind the_fenced_writer("fenced writer", true);

}  // namespace

constinit const lock_kind& exclusive = the_exclusive;
constinit const lock_kind& fenced = the_fenced;
constinit const lock_kind& writer = the_writer;
constinit const lock_kind& fenced_writer = the_fenced_writer;

}  // namespace colock::kinds
