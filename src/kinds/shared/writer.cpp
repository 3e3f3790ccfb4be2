// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/shared/shared.hpp"
#include "kinds/table.hpp"

#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

/// Does the same as claim.lua.
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

class writer_kind final : public lock_kind {
public:
    explicit constexpr writer_kind(bool counts)
        : lock_kind({.name = counts ? "fenced writer" : "writer",
                     .agreement = counts ? core::agreement::largest : core::agreement::none,
                     .value_per_holder = counts,
                     .releases = &releases_together,
                     .released_natively = true,
                     .acquire_grants_by_ok = !counts,
                     .holder_grants_by_one = true,
                     .announcement_ttl = writer_mark_ttl,
                     .is_downgradable = true}) {}

    /// Writes the script in full. Its reply is not read, so nothing would send it again after NOSCRIPT.
    void announce(const kinds::command& command, resp::command_writer& to) const override {
        write_script(scripts::claim, script_form::in_full, to, {command.key},
                     number(command.announces ? traits().announcement_ttl.count() : 0).text(),
                     number(static_cast<long long>(command.ticket)).text(),
                     new_set_key(command.key));
    }

    /// Writes the script in full, because the sender may close the client immediately.
    void withdraw(const kinds::command& command, resp::command_writer& to) const override {
        write_script(scripts::unmark, script_form::in_full, to, {command.key},
                     number(static_cast<long long>(command.ticket)).text());
    }

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        holder().encode(command, server, form, to);
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return holder().decode(command, reply);
    }

    [[nodiscard]] vote decode_native(const kinds::command& command,
                                     const resp::value& reply) const override {
        return holder().decode_native(command, reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        if (command.step == step::withdraw) {
            return lock_key(keys, command.key, at.now).unmark(command.ticket)
                       ? vote::granted()
                       : vote::denied(key_state::absent);
        }
        claim(command, keys, at);
        return holder().execute(command, keys, at);
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return holder().has_auxiliary_key(command);
    }

    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        std::vector<kinds::command> result = holder().apart(command);
        for (kinds::command& one : result) {
            one.kind = one.kind == &exclusive ? &writer : one.kind;
        }
        return result;
    }

private:
    /// Returns the kind of its lease.
    [[nodiscard]] const lock_kind& holder() const noexcept {
        return traits().value_per_holder ? fenced : exclusive;
    }
};

constexpr writer_kind the_writer(false);
constexpr writer_kind the_fenced_writer(true);

}  // namespace

constinit const lock_kind& writer = the_writer;
constinit const lock_kind& fenced_writer = the_fenced_writer;

}  // namespace colock::kinds
