#include "kinds/exclusive.hpp"

#include "kinds/auxiliary_key.hpp"
#include "kinds/fence.hpp"
#include "kinds/key_commands.hpp"
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
using resp::words;

class exclusive_kind final : public lock_kind {
public:
    constexpr exclusive_kind()
        : lock_kind({.name = "exclusive", .released_by_script = true, .released_natively = true}) {}

    void encode(const core::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        if (command.step == step::acquire) {
            write_set(command, to);
        } else {
            write_for_holder(command, server, form, to);
        }
    }

    [[nodiscard]] vote decode(step what, const resp::value& reply) const override {
        return what == step::acquire ? decode_taken(reply) : decode_for_holder(what, reply);
    }

    vote execute(const core::command& command, table& keys, const instant& at) const override {
        if (command.step != step::acquire) {
            return execute_for_holder(command, keys, at);
        }
        if (keys.find(command.key, at.now) != nullptr) {
            return vote::denied(key_state::foreign);
        }
        keys.put(command.key, command.token, at.now + command.ttl);
        return vote::granted();
    }
};

class fenced_kind final : public lock_kind {
public:
    constexpr fenced_kind()
        : lock_kind({.name = "fenced",
                     .fenced = true,
                     .released_by_script = true,
                     .released_natively = true}) {}

    void encode(const core::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        switch (command.step) {
            case step::acquire:
            case step::confirm:
                write_fence(command, form, to);
                break;
            case step::count:
                write_count(command, form, to);
                break;
            default:
                write_for_holder(command, server, form, to);
                break;
        }
    }

    [[nodiscard]] vote decode(step what, const resp::value& reply) const override {
        switch (what) {
            case step::acquire:
            case step::confirm:
            case step::count:
                return decode_fence(reply);
            default:
                return decode_for_holder(what, reply);
        }
    }

    vote execute(const core::command& command, table& keys, const instant& at) const override {
        const table::entry* const found = keys.find(command.key, at.now);
        switch (command.step) {
            case step::acquire: {
                if (found != nullptr) {
                    return vote::denied(key_state::foreign);
                }
                // The counter first, so that nobody has the key whom it has not counted.
                const vote counted = keys.count_fence(command.key, command.fence, at);
                if (counted.kind == core::vote_kind::granted) {
                    keys.put(command.key, command.token, at.now + command.ttl);
                }
                return counted;
            }
            case step::confirm:
                if (found == nullptr || !found->is_held_by(command.token)) {
                    return vote::denied(found == nullptr ? key_state::absent : key_state::foreign);
                }
                return keys.count_fence(command.key, command.fence, at);
            case step::count:
                return keys.count_fence(command.key, command.fence, at);
            default:
                return execute_for_holder(command, keys, at);
        }
    }

    [[nodiscard]] bool has_auxiliary_key(step what) const override {
        return what == step::acquire || what == step::confirm || what == step::count;
    }

    /// The key, and then the counter.
    [[nodiscard]] std::vector<core::command> one_key_at_a_time(
        const core::command& command) const override {
        core::command count = command;
        count.step = step::count;
        if (command.step == step::acquire) {
            core::command take = command;
            take.kind = &exclusive;
            return {take, count};
        }
        if (command.step == step::confirm && command.fence != 0) {
            return {count};
        }
        return {};
    }

private:
    static void write_fence(const core::command& command, script_form form,
                            resp::command_writer& to) {
        const number ttl(command.step == step::acquire ? command.ttl.count() : 0);
        const number fence(static_cast<long long>(command.fence));
        const number idle(std::chrono::milliseconds(fence_idle).count());
        write_script<"2">(scripts::fence, form, to, command.key, fence_key(command.key),
                          command.token, ttl.text(), fence.text(), idle.text());
    }

    static void write_count(const core::command& command, script_form form,
                            resp::command_writer& to) {
        const number fence(static_cast<long long>(command.fence));
        const number idle(std::chrono::milliseconds(fence_idle).count());
        write_script<"1">(scripts::count, form, to, fence_key(command.key), fence.text(),
                          idle.text());
    }
};

constexpr exclusive_kind the_exclusive;
constexpr fenced_kind the_fenced;

}  // namespace

constinit const lock_kind& exclusive = the_exclusive;
constinit const lock_kind& fenced = the_fenced;

}  // namespace colock::kinds
