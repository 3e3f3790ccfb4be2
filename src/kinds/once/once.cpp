// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/once/once.hpp"

#include "kinds/holder_steps.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <system_error>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;
using resp::words;

constexpr std::string_view record_prefix = "done:";
constexpr std::size_t longest_record =
    record_prefix.size() + 5 + longest_fingerprint + longest_result;

/// A record in memory.
struct stored_record {
    std::string text;

    /// Returns the name under which the scripts report it to locks.
    [[nodiscard]] static std::string lock_name() { return "result_of_once"; }
};

vote completed(std::string_view record, core::milliseconds remaining) {
    vote result = vote::denied(key_state::completed, remaining);
    result.detail = std::make_shared<const std::string>(record);
    return result;
}

/// Decodes `<PTTL> <record>`.
vote decode_state(const resp::value& reply) {
    std::int64_t left = 0;
    const char* const end = reply.text.data() + reply.text.size();
    const auto parsed = std::from_chars(reply.text.data(), end, left);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ' ') {
        return unexpected(reply);
    }
    const std::string_view record =
        reply.text.substr(static_cast<std::size_t>(parsed.ptr - reply.text.data()) + 1);
    if (!parse_record(record)) {  // Another program may write anything.
        return denied_by_kind("damaged_result_of_once", core::unknown_remaining);
    }
    return completed(record, left < 0 ? core::milliseconds::max() : core::milliseconds(left));
}

/// Decodes the reply to GETRANGE. A missing key and an empty string look the same. No lock writes
/// an empty string.
vote decode_look(const resp::value& reply) {
    if (reply.type != resp::type::bulk_string) {
        return unexpected(reply);
    }
    if (reply.text.empty()) {
        return vote::denied(key_state::absent);
    }
    return reply.text.size() <= longest_record && parse_record(reply.text)
               ? completed(reply.text, core::unknown_remaining)
               : vote::denied(key_state::foreign);
}

/// The name in memory, as the scripts see it.
class once_key {
public:
    once_key(table& keys, const kinds::command& command, const instant& at)
        : keys_(keys),
          command_(command),
          at_(at),
          entry_(keys.find(command.key, at.now)),
          record_(entry_ != nullptr ? entry_->as<stored_record>() : nullptr) {}

    [[nodiscard]] bool exists() const noexcept { return entry_ != nullptr; }
    [[nodiscard]] bool has_record() const noexcept { return record_ != nullptr; }
    [[nodiscard]] bool has_this_record() const noexcept {
        return record_ != nullptr && record_->text == *command_.values;
    }
    [[nodiscard]] bool is_held_by_token() const noexcept {
        const std::string* const token = exists() ? entry_->as<std::string>() : nullptr;
        return token != nullptr && !command_.token.empty() && *token == command_.token;
    }

    /// Returns the vote about the record, as state_of in record.lua does.
    [[nodiscard]] vote state() const {
        const auto left = std::chrono::duration_cast<core::milliseconds>(entry_->expires - at_.now);
        return completed(record_->text, left);
    }
    [[nodiscard]] vote denial() const { return lock_key(keys_, command_.key, at_.now).denial(); }

    void take() { keys_.put(command_.key, command_.token, at_.now + command_.ttl); }
    void store() {
        keys_.put(command_.key, stored_record{*command_.values}, at_.now + command_.ttl);
    }

private:
    table& keys_;
    const kinds::command& command_;
    instant at_;
    table::entry* entry_;
    stored_record* record_;
};

vote execute_look(const once_key& key, bool explains) {
    if (!key.exists()) {
        return vote::denied(key_state::absent);
    }
    if (key.has_record()) {
        vote result = key.state();
        result.remaining = explains ? result.remaining : core::unknown_remaining;
        return result;
    }
    if (!explains) {
        return vote::denied(key_state::foreign);
    }
    return key.is_held_by_token() ? vote::granted() : key.denial();
}

vote execute_complete(once_key& key, bool heals) {
    if (key.exists() && key.has_this_record()) {
        return vote::granted();
    }
    if (!key.exists() && !heals) {
        return vote::denied(key_state::absent);
    }
    if (key.exists() && !key.is_held_by_token()) {
        return key.denial();
    }
    key.store();
    return vote::granted();
}

class once_kind final : public lock_kind {
public:
    /// A record is for all waiters, and they are notified at the same time. In a remote queue they would look
    /// one after the other.
    constexpr once_kind()
        : lock_kind({.name = "once",
                     .releases = &releases_together,
                     .released_natively = true,
                     .acquire_grants_by_ok = true,
                     .holder_grants_by_one = true,
                     .joins_remote_queue = false}) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        switch (command.step) {
            case step::acquire:
                write_script(scripts::take, form, to, {command.key}, command.token,
                             number(command.ttl.count()).text());
                break;
            case step::look:
                if (command.explains) {
                    write_script(scripts::inspect, form, to, {command.key}, command.token);
                } else {  // Like GET, but limits the length of another program's value.
                    to.write(words<"GETRANGE">, command.key, words<"0">,
                             number(longest_record).text());
                }
                break;
            case step::complete:
                write_script(scripts::complete, form, to, {command.key}, command.token,
                             std::string_view(*command.values), number(command.ttl.count()).text(),
                             std::string_view(command.heals ? "1" : "0"));
                break;
            default:
                write_for_holder(command, server, form, to);
                break;
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        switch (command.step) {
            case step::acquire:
                return is_ok(reply)                            ? vote::granted()
                       : reply.type == resp::type::bulk_string ? decode_state(reply)
                                                               : decode_compare(reply);
            case step::look:
                if (!command.explains) {
                    return decode_look(reply);
                }
                return reply.type == resp::type::bulk_string ? decode_state(reply)
                                                             : decode_compare(reply);
            case step::complete:
                return decode_compare(reply);
            default:
                return decode_for_holder(command.step, reply);
        }
    }

    [[nodiscard]] vote decode_native(const kinds::command& /*command*/,
                                     const resp::value& reply) const override {
        return decode_native_release(reply);
    }

    /// A record may be long, and is not meant for people.
    [[nodiscard]] std::string why(const vote& denial, std::string_view detail) const override {
        return lock_kind::why(denial,
                              denial.key == key_state::completed ? std::string_view() : detail);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        once_key key(keys, command, at);
        switch (command.step) {
            case step::acquire:
                if (key.exists()) {
                    return key.has_record() ? key.state() : key.denial();
                }
                key.take();
                return vote::granted();
            case step::look:
                return execute_look(key, command.explains);
            case step::complete:
                return execute_complete(key, command.heals);
            default:
                return execute_for_holder(command, keys, at);
        }
    }
};

constexpr once_kind the_once;

}  // namespace

constinit const lock_kind& once = the_once;

std::string make_record(const once_record& of) {
    std::string text(record_prefix);
    text.append(of.is_refusal ? "-" : "")
        .append(std::to_string(of.fingerprint.size()))
        .append(":")
        .append(of.fingerprint)
        .append(of.result);
    return text;
}

std::optional<once_record> parse_record(std::string_view text) noexcept {
    if (!text.starts_with(record_prefix)) {
        return std::nullopt;
    }
    text.remove_prefix(record_prefix.size());
    const bool is_refusal = text.starts_with('-');
    text.remove_prefix(is_refusal ? 1 : 0);
    std::size_t length = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, length);
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':') {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()) + 1);
    if (length > text.size() || length > longest_fingerprint ||
        text.size() - length > longest_result) {
        return std::nullopt;
    }
    return once_record{text.substr(0, length), text.substr(length), is_refusal};
}

}  // namespace colock::kinds
