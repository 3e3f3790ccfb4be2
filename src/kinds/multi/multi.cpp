// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/multi/multi.hpp"

#include "kinds/coalescing.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;
using resp::words;

std::size_t count_of(const command& command) noexcept {
    return 1 + command.more_keys.size();
}

std::string_view name_at(const command& command, std::size_t index) noexcept {
    return index == 0 ? command.key : command.more_keys[index - 1];
}

void add_names(const command& command, std::vector<std::string_view>& to) {
    to.push_back(command.key);
    to.insert(to.end(), command.more_keys.begin(), command.more_keys.end());
}

std::vector<std::string_view> names_of(const command& command) {
    std::vector<std::string_view> result;
    result.reserve(count_of(command));
    add_names(command, result);
    return result;
}

/// Returns the vote of an instance on which something else has this name. `there` is the vote about
/// that name alone.
vote denied_at(std::string_view name, const vote& there) {
    const std::string_view what = there.detail ? std::string_view(*there.detail) : "";
    std::string text = "the name '" + std::string(name) + "' ";
    switch (there.key) {
        case key_state::labelled:
            text.append("is held by ").append(what);
            break;
        case key_state::other_kind:
            text.append("belongs to ").append(what);
            break;
        default:
            text += what.empty() ? "has another holder"
                                 : "holds " + std::string(what) + ", which is not a lock";
            break;
    }
    vote result = vote::denied(
        there.key == key_state::other_kind ? key_state::other_kind : key_state::foreign,
        there.remaining);
    result.detail = std::make_shared<const std::string>(std::move(text));
    return result;
}

/// Decodes the scripts' reply `at <number> <answer>`, as in names.lua. A PTTL may follow.
vote decode_denial(const command& command, const resp::value& reply) {
    constexpr std::string_view before = "at ";
    if (reply.type != resp::type::simple_string || !reply.text.starts_with(before)) {
        return unexpected(reply);
    }
    const char* const end = reply.text.data() + reply.text.size();
    std::size_t place = 0;
    const auto parsed = std::from_chars(reply.text.data() + before.size(), end, place);
    if (parsed.ptr == end || *parsed.ptr != ' ' || place == 0 || place > count_of(command)) {
        return unexpected(reply);
    }
    std::string_view answer(parsed.ptr + 1, static_cast<std::size_t>(end - parsed.ptr - 1));
    const vote there =
        !answer.starts_with('-')
            ? decode_obstacle({resp::type::simple_string, answer})
            : decode_remaining({resp::type::number, answer.size() > 2 ? answer.substr(2) : "0"});
    return there.kind == core::vote_kind::denied ? denied_at(name_at(command, place - 1), there)
                                                 : unexpected(reply);
}

/// Combines releases into one call of release_all.lua.
class release_names final : public coalescing {
public:
    constexpr release_names() = default;

    void encode(std::span<const command* const> commands, script_form form,
                resp::command_writer& to) const override {
        std::vector<std::string_view> names;
        std::vector<number> counts;
        std::vector<std::string_view> arguments;
        counts.reserve(commands.size());
        for (const command* const one : commands) {
            add_names(*one, names);
            counts.emplace_back(static_cast<long long>(count_of(*one)));
            arguments.push_back(one->token);
            arguments.push_back(counts.back().text());
        }
        write_script(scripts::release_all, form, to, names, std::span(arguments));
    }

    [[nodiscard]] vote decode(std::size_t index, std::size_t count,
                              const resp::value& reply) const override {
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
                default:
                    break;
            }
        }
        return unexpected(reply);
    }
};

constexpr release_names released_together;

class multi_kind final : public lock_kind {
public:
    constexpr multi_kind()
        : lock_kind(
              {.name = "multi",
               .releases = &released_together,
               .acquired_natively = true,
               .holder_grants_by_one = true,
               // A ticket at one name would keep others from that name during the wait for another one.
               .joins_remote_queue = false}) {}

    void encode(const command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        const number ttl(command.ttl.count());
        switch (command.step) {
            case step::acquire:
                if (is_native(command, server, form)) {
                    write_msetex(command, to);
                } else {
                    write_script(scripts::take_all, form, to, names_of(command), command.token,
                                 ttl.text(), command.heals ? "heal" : "take");
                }
                break;
            case step::extend:
                write_script(scripts::extend_all, form, to, names_of(command), command.token,
                             ttl.text());
                break;
            case step::release: {
                const kinds::command* const one = &command;
                released_together.encode(std::span(&one, 1), form, to);
                break;
            }
            default:
                assert(command.step == step::remaining);
                write_script(scripts::obstacle_all, form, to, names_of(command));
                break;
        }
    }

    [[nodiscard]] vote decode(const command& command, const resp::value& reply) const override {
        switch (command.step) {
            case step::release:
                return released_together.decode(0, 1, reply);
            case step::remaining:
                return reply.type == resp::type::number ? decode_remaining(reply)
                                                        : decode_denial(command, reply);
            default:
                return reply.type == resp::type::number ? decode_compare(reply)
                                                        : decode_denial(command, reply);
        }
    }

    [[nodiscard]] vote decode_native(const command& /*command*/,
                                     const resp::value& reply) const override {
        if (is_one(reply)) {
            return vote::granted();
        }
        return reply.type == resp::type::number && is(reply.text, "0")
                   ? vote::denied(key_state::foreign)
                   : unexpected(reply);
    }

    [[nodiscard]] std::string why(const vote& denial, std::string_view detail) const override {
        return detail.empty() ? lock_kind::why(denial, detail) : "denied, " + std::string(detail);
    }

    vote execute(const command& command, table& keys, const instant& at) const override {
        switch (command.step) {
            case step::acquire:
                return take(command, keys, at);
            case step::extend:
                return extend(command, keys, at);
            case step::release:
                return release(command, keys, at);
            default:
                assert(command.step == step::remaining);
                return remaining(command, keys, at);
        }
    }

    /// Returns one command for each name, or nothing if there is only one name.
    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        std::vector<kinds::command> result(count_of(command), command);
        for (std::size_t i = 0; i != result.size(); ++i) {
            result[i].key = name_at(command, i);
            result[i].more_keys = {};
        }
        return result.size() == 1 ? std::vector<kinds::command>() : result;
    }

private:
    /// See https://redis.io/docs/latest/commands/msetex/ and https://valkey.io/commands/msetex/.
    static void write_msetex(const command& command, resp::command_writer& to) {
        std::vector<std::string_view> pairs;
        for (std::size_t i = 0; i != count_of(command); ++i) {
            pairs.push_back(name_at(command, i));
            pairs.push_back(command.token);
        }
        to.write(words<"MSETEX">, number(static_cast<long long>(count_of(command))).text(),
                 std::span(pairs), words<"NX", "PX">, number(command.ttl.count()).text());
    }

    static bool holds(const lock_key& key, std::string_view token) noexcept {
        return key.token() != nullptr && *key.token() == token;
    }

    static vote take(const command& command, table& keys, const instant& at) {
        core::time_point until = at.now + command.ttl;
        for (const std::string_view name : names_of(command)) {
            const lock_key key(keys, name, at.now);
            if (key.exists() && !(command.heals && holds(key, command.token))) {
                return denied_at(name, key.denial());
            }
        }
        for (const std::string_view name : names_of(command)) {
            const lock_key key(keys, name, at.now);
            keys.put(name, command.token, key.exists() ? std::max(until, key.expires()) : until);
        }
        return vote::granted();
    }

    static vote extend(const command& command, table& keys, const instant& at) {
        bool all = true;
        for (const std::string_view name : names_of(command)) {
            const lock_key key(keys, name, at.now);
            if (key.exists() && !holds(key, command.token)) {
                return denied_at(name, key.denial());
            }
            all = all && key.exists();
        }
        if (!all) {
            return vote::denied(key_state::absent);
        }
        for (const std::string_view name : names_of(command)) {
            lock_key key(keys, name, at.now);
            key.prolong(std::max(key.expires(), at.now + command.ttl));
        }
        return vote::granted();
    }

    static vote release(const command& command, table& keys, const instant& at) {
        vote result = vote::granted();
        for (const std::string_view name : names_of(command)) {
            lock_key key(keys, name, at.now);
            if (holds(key, command.token)) {
                key.erase();
            } else if (key.exists()) {
                result = vote::denied(key_state::foreign);
            } else if (result.kind == core::vote_kind::granted) {
                result = vote::denied(key_state::absent);
            }
        }
        return result;
    }

    static vote remaining(const command& command, table& keys, const instant& at) {
        vote result = vote::denied(key_state::absent, core::milliseconds(0));
        core::milliseconds longest(0);
        for (const std::string_view name : names_of(command)) {
            const lock_key key(keys, name, at.now);
            if (key.exists()) {
                longest = std::max(longest, std::chrono::duration_cast<core::milliseconds>(
                                                key.expires() - at.now));
                result = core::is_absent(result) ? denied_at(name, key.denial()) : result;
            }
        }
        result.remaining = longest;
        return result;
    }
};

constexpr multi_kind the_multi;

}  // namespace

constinit const lock_kind& multi = the_multi;

}  // namespace colock::kinds
