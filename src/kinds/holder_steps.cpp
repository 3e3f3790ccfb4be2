// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/holder_steps.hpp"

#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace colock::kinds {

using core::key_state;
using core::step;
using core::vote;
using resp::number;
using resp::words;

namespace {

void write_release(const kinds::command& command, const capabilities& server, script_form form,
                   resp::command_writer& to) {
    if (!command.kind->is_native(command, server, form)) {
        write_script(scripts::release, form, to, {command.key}, command.token);
    } else {
        write_native_release(command, server, to);
    }
}

/// Returns whether `remaining` uses obstacle.lua, which reports more than PTTL.
bool asks_by_script(const kinds::command& command) noexcept {
    return command.kind->announces() || command.explains;
}

/// Extends the lease like extend.lua. The token must hold the key.
vote extend(lock_key& held, const kinds::command& command, const instant& at) {
    const core::time_point until = std::max(held.expires(), at.now + command.ttl);
    if (!is_reader(command.token)) {
        held.prolong(until);
        return vote::granted();
    }
    // A writer's lease that has become a reader's keeps its remaining time.
    held.share(command.token, held.is_exclusive() ? until : at.now + command.ttl);
    return held.marked_until() > at.now ? vote::announced() : vote::granted();
}

/// Returns when nothing blocks the acquire any more. For a writer, marks do not block, as in obstacle.lua.
/// Otherwise this is the end of the key.
core::time_point free_at(const lock_key& key, const lock_kind& wanted) {
    return key.is_exclusive() || !wanted.announces() ? key.expires() : key.set()->shared_until();
}

}  // namespace

void release_many::encode(std::span<const command* const> commands, script_form form,
                          resp::command_writer& to) const {
    std::array<std::string_view, most> keys;
    std::array<std::string_view, most> tokens;
    std::ranges::transform(commands, keys.begin(), &command::key);
    std::ranges::transform(commands, tokens.begin(), &command::token);
    write_script(scripts::release_many, form, to, std::span(keys).first(commands.size()),
                 std::span(tokens).first(commands.size()));
}

vote release_many::decode(std::size_t index, std::size_t count, const resp::value& reply) const {
    if (is_one(reply)) {
        return vote::granted();
    }
    if (reply.type == resp::type::bulk_string && reply.text.size() == count) {
        switch (reply.text[index]) {
            case '1':
                return vote::granted();
            case '0':
                return vote::denied(key_state::absent);
            case '-':
                return vote::denied(key_state::foreign);
            case '!':
                return denied_by_value({}, core::unknown_remaining);
            case 'e':
                return vote::failed(core::failure::server_error);
            default:
                break;
        }
    }
    return unexpected(reply);
}

void write_native_release(const kinds::command& command, const capabilities& server,
                          resp::command_writer& to) {
    if (server.native_delete == native_delete::delifeq) {
        to.write(words<"DELIFEQ">, command.key, command.token);
    } else {
        to.write(words<"DELEX">, command.key, words<"IFEQ">, command.token);
    }
}

vote decode_native_release(const resp::value& reply) {
    if (is_one(reply)) {
        return vote::granted();
    }
    return reply.type == resp::type::number && is(reply.text, "0")
               ? vote::denied(key_state::unknown)
               : unexpected(reply);
}

void write_set(const kinds::command& command, resp::command_writer& to) {
    // mutant: acquire_overwrites
    to.write(words<"SET">, command.key, command.token, words<"NX", "PX">,
             number(command.ttl.count()).text());
}

void write_for_holder(const kinds::command& command, const capabilities& server, script_form form,
                      resp::command_writer& to) {
    switch (command.step) {
        case step::extend:
            write_script(scripts::extend, form, to, {command.key}, command.token,
                         number(command.ttl.count()).text());
            break;
        case step::release:
            write_release(command, server, form, to);
            break;
        default:
            assert(command.step == step::remaining);
            if (asks_by_script(command)) {
                write_script(scripts::obstacle, form, to, {command.key});
            } else {
                to.write(words<"PTTL">, command.key);
            }
            break;
    }
}

vote decode_for_holder(step what, const resp::value& reply) {
    return what == step::remaining ? decode_remaining(reply) : decode_compare(reply);
}

vote execute_for_holder(const kinds::command& command, table& keys, const instant& at) {
    lock_key key(keys, command.key, at.now);
    const bool ours = key.is_held_by(command.token);
    switch (command.step) {
        case step::extend:
            if (ours) {
                return extend(key, command, at);
            }
            break;

        case step::release:
            if (ours) {
                key.release(command.token);
                return vote::granted();
            }
            break;

        default: {
            assert(command.step == step::remaining);
            const core::time_point end = key.exists() ? free_at(key, *command.kind) : at.now;
            if (end <= at.now) {
                return vote::denied(key_state::absent, core::milliseconds(0));
            }
            const auto left = std::chrono::duration_cast<core::milliseconds>(end - at.now);
            return asks_by_script(command) ? key.denial(left)
                                           : vote::denied(key_state::foreign, left);
        }
    }
    // For a reader that has lost its share, other readers do not count as holders.
    const bool is_foreign = key.exists() && (key.is_exclusive() || !is_reader(command.token));
    return is_foreign ? key.denial() : vote::denied(key_state::absent);
}

}  // namespace colock::kinds
