// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/fenced/fenced.hpp"

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <chrono>
#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

class fenced_kind final : public lock_kind {
public:
    constexpr fenced_kind()
        : lock_kind({.name = "fenced",
                     .agreement = core::agreement::largest,
                     .value_per_holder = true,
                     .releases = &releases_together,
                     .released_natively = true,
                     .holder_grants_by_one = true}) {}

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

    [[nodiscard]] vote decode_native(const kinds::command& /*command*/,
                                     const resp::value& reply) const override {
        return decode_native_release(reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.part == counter_part) {
            return move_fence(command, fence_use::count, keys, at);
        }
        const lock_key key(keys, command.key, at.now);
        switch (command.step) {
            case step::acquire: {
                if (key.exists()) {
                    return key.denial();
                }
                // The counter comes first, so that a token that has the key was counted.
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

    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        kinds::command take = command;
        take.kind = &exclusive;
        return key_and_counter(command, take);
    }

private:
    /// Returns whether the command uses the fence counter.
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

constexpr fenced_kind the_fenced;

}  // namespace

constinit const lock_kind& fenced = the_fenced;

}  // namespace colock::kinds
