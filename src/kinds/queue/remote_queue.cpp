// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/queue/remote_queue.hpp"

#include "kinds/holder_steps.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace colock::kinds {
namespace {

using core::step;
using core::vote;
using resp::number;

class remote_queue_kind final : public queue_kind {
public:
    constexpr remote_queue_kind() : queue_kind({.name = "remote queue"}) {}

    [[nodiscard]] std::string ticket_name(std::string_view key,
                                          std::uint64_t number) const override {
        return ticket_key(key, number);
    }

    void encode(const kinds::command& command, const capabilities& /*server*/, script_form form,
                resp::command_writer& to) const override {
        if (command.step == step::remaining) {
            to.write(resp::words<"PTTL">, command.key);
            return;
        }
        const std::string queue = queue_key(command.key);
        const std::string ticket = ticket_key(command.key, command.ticket);
        const number own(static_cast<long long>(command.ticket));
        if (command.step == step::join) {
            write_script(scripts::join, form, to, {queue, ticket}, own.text(),
                         number(command.ttl.count()).text(), ticket_prefix(command.key));
        } else {
            assert(command.step == step::leave);
            write_script(scripts::leave, form, to, {queue, ticket}, own.text());
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        if (command.step == step::remaining) {
            return decode_remaining(reply);
        }
        const auto ticket = number_in(reply);
        return ticket ? vote::granted(*ticket) : unexpected(reply);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        switch (command.step) {
            case step::join:
                return join(command, keys, at);
            case step::leave:
                return leave(command, keys, at);
            default:
                return execute_for_holder(command, keys, at);
        }
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return command.step != step::remaining;
    }

private:
    static bool is_ticket(table::entry& found) noexcept {
        const std::string* const text = found.as<std::string>();
        return text != nullptr && text->empty();
    }

    /// Does the same as join.lua.
    static vote join(const kinds::command& command, table& keys, const instant& at) {
        const std::string ticket = ticket_key(command.key, command.ticket);
        const std::string name = queue_key(command.key);
        const core::time_point end = at.now + command.ttl;
        table::entry* const ours = keys.find(ticket, at.now);
        table::entry* queue = keys.find(name, at.now);
        auto* waiting = queue != nullptr ? queue->as<waiting_clients>() : nullptr;
        if (queue != nullptr && waiting == nullptr) {
            return foreign_in_queue(name);
        }
        const bool is_new =
            waiting == nullptr ||
            std::ranges::find(waiting->tickets, command.ticket) == waiting->tickets.end();
        if (is_new || ours == nullptr || ours->expires - at.now < command.ttl / 2) {
            if (ours != nullptr && !is_ticket(*ours)) {
                return foreign_in_queue(ticket);
            }
            keys.put(ticket, {}, end);
            if (waiting == nullptr) {
                queue = &keys.put(name, waiting_clients(), end);
                waiting = queue->as<waiting_clients>();
            }
            queue->expires = std::max(queue->expires, end);
        }
        if (is_new) {
            waiting->tickets.push_back(command.ticket);
        }
        auto place = std::ranges::find(waiting->tickets, command.ticket);
        while (place != waiting->tickets.begin()) {
            --place;
            if (keys.find(ticket_key(command.key, *place), at.now) != nullptr) {
                return vote::granted(*place);
            }
            place = waiting->tickets.erase(place);  // Its client has died.
        }
        return vote::granted(0);
    }

    /// Does the same as leave.lua.
    static vote leave(const kinds::command& command, table& keys, const instant& at) {
        const std::string ticket = ticket_key(command.key, command.ticket);
        if (table::entry* const ours = keys.find(ticket, at.now);
            ours != nullptr && is_ticket(*ours)) {
            keys.erase(ticket);
        }
        const std::string name = queue_key(command.key);
        table::entry* const queue = keys.find(name, at.now);
        auto* const waiting = queue != nullptr ? queue->as<waiting_clients>() : nullptr;
        if (waiting == nullptr) {
            return vote::granted(0);
        }
        std::erase(waiting->tickets, command.ticket);
        const std::size_t left = waiting->tickets.size();
        if (left == 0) {
            keys.erase(name);
        }
        return vote::granted(left);
    }
};

constexpr remote_queue_kind the_remote_queue;

}  // namespace

constinit const queue_kind& remote_queue = the_remote_queue;

const queue_kind& lock_kind::queue() const noexcept {
    return remote_queue;
}

}  // namespace colock::kinds
