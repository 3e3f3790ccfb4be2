// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/versioned/versioned.hpp"

#include "kinds/label.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

/// The version and the value of a record at some time.
struct record_state {
    std::uint64_t version = 0;
    const std::string* value = nullptr;
};

/// A record in memory.
struct record {
    struct write {
        std::string id;
        std::uint64_t from;
        std::uint64_t to;
    };

    std::uint64_t version = 0;
    std::optional<std::string> value;
    core::time_point value_ends = core::never;
    std::deque<write> writes;  // The latest comes first.

    /// Returns the name under which the scripts report it to locks.
    [[nodiscard]] static std::string lock_name() { return "versioned_value"; }

    /// Returns the version and the value at that time. The end of a value is a change.
    [[nodiscard]] record_state state_at(core::time_point now) const noexcept {
        if (value && value_ends <= now) {
            return {version + 1, nullptr};
        }
        return {version, value ? &*value : nullptr};
    }
};

/// Returns the denial as one by a key that is not a record.
vote of_another(vote denial) {
    denial.key = key_state::other_kind;
    if (!denial.detail) {
        denial.detail = std::make_shared<const std::string>("a value that colock did not write");
    }
    return denial;
}

vote with_state(vote result, std::uint64_t version, std::string_view value, bool has_value) {
    result.value = version;
    result.detail = has_value ? std::make_shared<const std::string>(value) : nullptr;
    return result;
}

/// Decodes `<version>` or `<version> <value>`.
std::optional<vote> with_text(const vote& result, std::string_view text) {
    std::uint64_t version = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, version);
    const bool has_value = parsed.ptr != end;
    if (parsed.ec != std::errc() || version >= core::value_limit ||
        (has_value && *parsed.ptr != ' ')) {
        return std::nullopt;
    }
    const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
    return with_state(result, version, has_value ? text.substr(length + 1) : "", has_value);
}

vote decode_obstacle_of_record(const resp::value& reply) {
    if (reply.type == resp::type::number && is(reply.text, "-1")) {
        return of_another(vote::denied(key_state::foreign));
    }
    vote result = decode_obstacle(reply);
    return result.kind == core::vote_kind::denied ? of_another(std::move(result)) : result;
}

vote decode_read(const resp::value& reply) {
    if (reply.type != resp::type::bulk_string) {
        return decode_obstacle_of_record(reply);
    }
    return with_text(vote::granted(), reply.text).value_or(unexpected(reply));
}

vote decode_write(const resp::value& reply) {
    if (const auto version = number_in(reply)) {
        return *version > 0 && *version < core::value_limit ? vote::granted(*version)
                                                            : unexpected(reply);
    }
    if (reply.type != resp::type::bulk_string) {
        return decode_obstacle_of_record(reply);
    }
    const bool is_certain = reply.text.starts_with("r ");
    if (!is_certain && !reply.text.starts_with("u ")) {
        return unexpected(reply);
    }
    return with_text(vote::denied(is_certain ? key_state::foreign : key_state::unknown),
                     reply.text.substr(2))
        .value_or(unexpected(reply));
}

/// A record in memory, as the scripts see it.
class record_key {
public:
    record_key(table& keys, const kinds::command& command, const instant& at)
        : keys_(keys),
          command_(command),
          at_(at),
          entry_(keys.find(command.key, at.now)),
          record_(entry_ != nullptr ? entry_->as<record>() : nullptr) {}

    [[nodiscard]] bool is_foreign() const noexcept {
        return entry_ != nullptr && record_ == nullptr;
    }

    /// Returns the vote if the key is foreign, as written_by_another in other_lock.lua does.
    [[nodiscard]] vote denial() const {
        constexpr auto remaining = core::unknown_remaining;
        if (const std::string lock = entry_->lock_name(); !lock.empty()) {
            return denied_by_kind(lock, remaining);
        }
        const std::string* const token = entry_->as<std::string>();
        if (entry_->as<reader_set>() != nullptr || (token != nullptr && is_reader(*token))) {
            return denied_by_kind("shared_mutex", remaining);
        }
        const std::size_t digits =
            token == nullptr
                ? 0
                : std::min(token->find_first_not_of("0123456789abcdef"), token->size());
        return digits == token_digits ? denied_by_kind("mutex", remaining)
                                      : of_another(vote::denied(key_state::foreign));
    }

    /// Returns the current version and value.
    [[nodiscard]] record_state state() const noexcept {
        return record_ != nullptr ? record_->state_at(at_.now) : record_state();
    }

    /// Returns the version that this write has made, or 0 if the record does not remember the write.
    [[nodiscard]] std::uint64_t made() const {
        if (record_ == nullptr) {
            return 0;
        }
        const auto found = std::ranges::find(record_->writes, command_.token, &record::write::id);
        return found == record_->writes.end() ? 0 : found->to;
    }

    /// Returns whether the record would remember a write from that version.
    [[nodiscard]] bool remembers_since(std::uint64_t version) const {
        return record_ != nullptr && version < state().version &&
               version >= record_->writes.back().from;
    }

    vote write() {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(at_.wall);
        const auto clock = (static_cast<std::uint64_t>(seconds.count()) << 20U) +
                           static_cast<std::uint64_t>((at_.wall - seconds).count());
        const bool would_end = state().value != nullptr && record_->value_ends != core::never;
        const std::uint64_t version = std::max(command_.value + (would_end ? 2 : 1), clock);
        if (version >= core::value_limit - 1) {
            return vote::failed(core::failure::server_error,
                                std::make_shared<const std::string>(
                                    "RECORD the record has no version below 2^53 to go on with"));
        }
        record written = record_ != nullptr ? *record_ : record();
        written.version = version;
        written.writes.push_front({std::string(command_.token), command_.value, version});
        if (written.writes.size() > remembered_writes) {
            written.writes.pop_back();
        }
        core::time_point ends = at_.now + tombstone_life;
        if (command_.values == nullptr) {
            written.value.reset();
        } else {
            written.value = *command_.values;
            const bool is_lasting = command_.ttl == core::milliseconds(0);
            written.value_ends = is_lasting ? core::never : at_.now + command_.ttl;
            ends = is_lasting ? core::never : ends + command_.ttl;
        }
        keys_.put(command_.key, std::move(written), ends);
        return vote::granted(version);
    }

private:
    table& keys_;
    const kinds::command& command_;
    instant at_;
    table::entry* entry_;
    record* record_;
};

class versioned_kind final : public lock_kind {
public:
    constexpr versioned_kind() : lock_kind({.name = "versioned"}) {}

    void encode(const kinds::command& command, const capabilities& /*server*/, script_form form,
                resp::command_writer& to) const override {
        const std::uint64_t limit = command.ticket != 0 ? command.ticket : core::value_limit;
        const number longest(static_cast<long long>(limit));
        if (command.step == step::read) {
            write_script(scripts::read, form, to, {command.key}, longest.text());
            return;
        }
        assert(command.step == step::write);
        const number expected(static_cast<long long>(command.value));
        const number ttl(command.ttl.count());
        if (command.values == nullptr) {
            write_script(scripts::write, form, to, {command.key}, command.token, expected.text(),
                         ttl.text(), longest.text());
        } else {
            write_script(scripts::write, form, to, {command.key}, command.token, expected.text(),
                         ttl.text(), longest.text(), std::string_view(*command.values));
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return command.step == step::read ? decode_read(reply) : decode_write(reply);
    }

    [[nodiscard]] std::string why(const vote& denial, std::string_view detail) const override {
        return denial.key == key_state::other_kind
                   ? "the name belongs to " + std::string(detail)
                   : "refused, the record has version " + std::to_string(denial.value);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        record_key key(keys, command, at);
        if (key.is_foreign()) {
            return key.denial();
        }
        const record_state now = key.state();
        const auto with_now = [&](const vote& result) {
            return with_state(result, now.version, now.value != nullptr ? *now.value : "",
                              now.value != nullptr);
        };
        if (command.step == step::read) {
            return with_now(vote::granted());
        }
        if (command.value == now.version) {
            return key.write();
        }
        // Versions never recur. Therefore a write that was carried out always finds another version.
        if (const std::uint64_t made = key.made(); made != 0) {
            return vote::granted(made);
        }
        return with_now(vote::denied(key.remembers_since(command.value) ? key_state::foreign
                                                                        : key_state::unknown));
    }
};

constexpr versioned_kind the_versioned;

}  // namespace

constinit const lock_kind& versioned = the_versioned;

std::optional<record_summary> record_in(table::entry& entry, core::time_point now) {
    const record* const found = entry.as<record>();
    if (found == nullptr) {
        return std::nullopt;
    }
    const record_state state = found->state_at(now);
    return record_summary{state.version, state.value != nullptr};
}

}  // namespace colock::kinds
