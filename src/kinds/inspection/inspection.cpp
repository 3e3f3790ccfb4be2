// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/inspection/inspection.hpp"

#include "kinds/auxiliary_key.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/inspection/report.hpp"
#include "kinds/label.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "kinds/table.hpp"
#include "kinds/versioned/versioned.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>

namespace colock::kinds {
namespace {

using core::milliseconds;
using core::step;
using core::vote;
using resp::number;

constexpr std::string_view result_prefix = "done:";
constexpr std::string_view permit_prefix = "permit:";
constexpr std::string_view mark_prefix = "writer:";

/// Returns whether a text is 40 digits, and perhaps a label, as label_at in lock_key.lua does.
bool is_digits_and_label(std::string_view text) noexcept {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789abcdef"), text.size());
    return digits == token_digits && (text.size() == digits || !label_in(text).empty());
}

/// Removes a number in front of the text, and the character behind it.
std::optional<std::uint32_t> take_number(std::string_view& text, char end) {
    std::uint32_t result = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
    const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
    if (parsed.ec != std::errc() || length == text.size() || text[length] != end) {
        return std::nullopt;
    }
    text.remove_prefix(length + 1);
    return result;
}

}  // namespace

std::optional<permit_token> parse_permit(std::string_view token) {
    if (!token.starts_with(permit_prefix)) {
        return std::nullopt;
    }
    token.remove_prefix(permit_prefix.size());
    const auto limit = take_number(token, '*');
    const auto count = limit ? take_number(token, ':') : std::nullopt;
    if (!count || *count == 0 || *count > *limit || *limit > most_permits ||
        !is_digits_and_label(token)) {
        return std::nullopt;
    }
    return permit_token{*limit, *count, token};
}

namespace {

/// Makes the report about a name in memory, as report.lua does.
class memory_report {
public:
    memory_report(const kinds::command& command, table& keys, const instant& at)
        : key_(command.key), keys_(keys), now_(at.now) {}

    key_report make() {
        lock_key key(keys_, key_, now_);  // Removes readers and marks that have ended.
        if (table::entry* const entry = keys_.find(key_, now_)) {
            report_.ttl = remaining(entry->expires);
            report_entry(*entry, key);
        }
        report_fence();
        report_queue();
        report_order();
        report_.waiters.resize(std::min(report_.waiters.size(), most_listed));
        return std::move(report_);
    }

private:
    [[nodiscard]] milliseconds remaining(core::time_point end) const {
        return end == core::never ? milliseconds(-1)
                                  : std::chrono::duration_cast<milliseconds>(end - now_);
    }

    void report_entry(table::entry& entry, const lock_key& key) {
        if (const std::string* const token = key.token()) {
            report_string(*token);
        } else if (key.set() != nullptr) {
            report_readers(*key.set());
        } else if (const auto* const held = entry.as<permits>()) {
            report_permits(*held);
        } else if (const auto state = record_in(entry, now_)) {
            report_.content = "record";
            report_.version = state->version;
            report_.has_value = state->has_value;
        } else {
            report_.content = entry.lock_name() == "result_of_once" ? "result" : "value";
        }
    }

    void report_string(const std::string& token) {
        const bool is_ours = is_digits_and_label(token);
        report_.content = is_ours ? "token" : "string";
        report_.size = is_ours ? 0 : token.size();
        if (token.size() <= longest_token) {
            report_.holder_count = 1;
            report_.holders.push_back({token, 1, report_.ttl});
        }
    }

    void report_readers(const reader_set& set) {
        report_.content = "readers";
        report_.holder_count = set.shares.size();
        report_.writer_count = set.marks.size();
        for (const reader_set::share& one : set.shares) {
            report_.holders.push_back({one.token, 1, remaining(one.expires)});
        }
        std::ranges::sort(report_.holders, std::ranges::greater(),
                          [](const auto& one) { return std::tie(one.remaining, one.token); });
        for (const reader_set::mark& one : set.marks) {
            report_.writers.push_back({one.client, remaining(one.expires)});
        }
        report_.holders.resize(std::min(report_.holders.size(), most_listed));
        report_.writers.resize(std::min(report_.writers.size(), most_listed));
    }

    void report_permits(const permits& held) {
        report_.content = "permits";
        report_.limit = held.limit;
        std::map<std::string_view, key_report::holder> holders;
        for (const auto& [slot, one] : held.slots) {
            const milliseconds left = remaining(one.expires);
            const auto [found, is_new] =
                holders.try_emplace(one.token, key_report::holder{one.token, 0, left});
            ++found->second.permits;
            found->second.remaining = std::min(found->second.remaining, left);
        }
        for (const auto& [token, one] : holders) {
            if (one.remaining > milliseconds(0)) {
                ++report_.holder_count;
                report_.in_use += one.permits;
                if (report_.holders.size() != most_listed) {
                    report_.holders.push_back(one);
                }
            }
        }
    }

    void report_fence() {
        table::entry* const found = keys_.find(fence_key(key_), now_);
        const auto* const counter = found != nullptr ? found->as<std::uint64_t>() : nullptr;
        report_.fence = counter != nullptr ? *counter : 0;
    }

    void report_queue() {
        table::entry* const found = keys_.find(queue_key(key_), now_);
        const auto* const queue = found != nullptr ? found->as<waiting_clients>() : nullptr;
        const std::vector<std::uint64_t> clients =
            queue != nullptr ? queue->tickets : std::vector<std::uint64_t>();
        for (const std::uint64_t one : clients) {
            add_waiter({one, 0}, ticket_key(key_, one));
        }
    }

    void report_order() {
        table::entry* const found = keys_.find(waiters_key(key_), now_);
        const auto* const queue = found != nullptr ? found->as<waiters>() : nullptr;
        const std::vector<waiters::member> members =
            queue != nullptr ? queue->members : std::vector<waiters::member>();
        for (const waiters::member one : members) {
            add_waiter({one.client, one.place},
                       waiters_ticket_prefix(key_).append(std::to_string(one.client)));
        }
    }

    /// A waiter without a ticket is dead.
    void add_waiter(key_report::waiter one, const std::string& ticket) {
        if (keys_.find(ticket, now_) != nullptr) {
            ++report_.waiter_count;
            report_.waiters.push_back(one);
        }
    }

    std::string_view key_;
    table& keys_;
    core::time_point now_;
    key_report report_;
};

class inspection_kind final : public lock_kind {
public:
    constexpr inspection_kind() : lock_kind({.name = "inspection"}) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        assert(command.step == step::inspect);
        const number most(static_cast<long long>(most_listed));
        if (command.part == key_part || (server.is_clustered && !has_auxiliary_keys(command.key))) {
            write_script(scripts::report, form, to, {command.key}, most.text());
            return;
        }
        const std::string fence = fence_key(command.key);
        const std::string queue = queue_key(command.key);
        const std::string waiters = waiters_key(command.key);
        write_script(scripts::report, form, to, {command.key, fence, queue, waiters}, most.text(),
                     ticket_prefix(command.key), waiters_ticket_prefix(command.key));
    }

    [[nodiscard]] vote decode(const kinds::command& /*command*/,
                              const resp::value& reply) const override {
        if (reply.type != resp::type::bulk_string || !parse_report(reply.text)) {
            return unexpected(reply);
        }
        vote result = vote::granted();
        result.detail = std::make_shared<const std::string>(reply.text);
        return result;
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        vote result = vote::granted();
        result.detail =
            std::make_shared<const std::string>(to_text(memory_report(command, keys, at).make()));
        return result;
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return command.part != key_part && has_auxiliary_keys(command.key);
    }

    [[nodiscard]] std::vector<kinds::command> apart(const kinds::command& command) const override {
        kinds::command about_key = command;
        about_key.part = key_part;
        return {about_key};
    }
};

constexpr inspection_kind the_inspection;

}  // namespace

constinit const lock_kind& inspection = the_inspection;

std::optional<removal> removal_of(std::string_view token) {
    if (token.empty() || token.starts_with(result_prefix)) {
        return std::nullopt;
    }
    if (const auto permit = parse_permit(token)) {
        return removal{.kind = &semaphore(permit->limit, permit->count)};
    }
    if (token.starts_with(mark_prefix)) {
        const std::string_view digits = token.substr(mark_prefix.size());
        std::uint64_t client = 0;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), client);
        if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() &&
            client < core::value_limit) {
            return removal{.kind = &writer, .step = step::withdraw, .ticket = client};
        }
    }
    // The release of a reader also removes any other token. A server has no command of its own for it, so the
    // reply says whether another token has the key.
    return removal{.kind = &shared};
}

std::string_view label_of_holder(std::string_view token) noexcept {
    const auto permit = parse_permit(token);
    return label_in(permit ? permit->digits_and_label : token);
}

}  // namespace colock::kinds
