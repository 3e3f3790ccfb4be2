// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/exclusive/exclusive.hpp"

#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/table.hpp"

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;

class exclusive_kind final : public lock_kind {
public:
    constexpr exclusive_kind()
        : lock_kind({.name = "exclusive",
                     .releases = &releases_together,
                     .released_natively = true,
                     .acquire_grants_by_ok = true,
                     .holder_grants_by_one = true}) {}

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

    [[nodiscard]] vote decode_native(const kinds::command& /*command*/,
                                     const resp::value& reply) const override {
        return decode_native_release(reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.step != step::acquire) {
            return execute_for_holder(command, keys, at);
        }
        if (lock_key(keys, command.key, at.now).exists()) {
            return vote::denied(key_state::foreign);
        }
        keys.put(command.key, command.token, at.now + command.ttl);
        return vote::granted();
    }
};

constexpr exclusive_kind the_exclusive;

}  // namespace

constinit const lock_kind& exclusive = the_exclusive;

}  // namespace colock::kinds
