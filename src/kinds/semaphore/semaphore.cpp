// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/semaphore/semaphore.hpp"

#include "kinds/coalescing.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/label.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "kinds/table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace colock::kinds {
namespace {

using core::key_state;
using core::step;
using core::vote;
using resp::number;

using numbers = std::vector<std::uint32_t>;  // The numbers of slots, in increasing order.

std::string text_of(const numbers& all) {
    std::string text;
    for (const std::uint32_t one : all) {
        text += std::to_string(one) + ' ';
    }
    return text;
}

/// Returns the numbers in a text, or nothing if the text has another form or the numbers do not increase.
numbers numbers_in(std::string_view text) {
    numbers result;
    while (!text.empty()) {
        std::uint32_t one = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), one);
        const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
        if (parsed.ec != std::errc() || length == text.size() || text[length] != ' ' ||
            one <= (result.empty() ? 0 : result.back())) {
            return {};
        }
        result.push_back(one);
        text.remove_prefix(length + 1);
    }
    return result;
}

/// Returns a grant of these permits.
vote granted(const numbers& all) {
    vote result = vote::granted(all.front());
    if (all.size() > 1) {
        result.detail = std::make_shared<const std::string>(text_of(all));
    }
    return result;
}

/// Returns the slot that has this number in the order of the token.
std::uint32_t slot_in_order(std::string_view token, std::uint64_t one, std::uint32_t limit) {
    const std::size_t digits = token.find(':', token.find(':') + 1) + 1;
    std::uint64_t preferred = 0;
    const char* const first = token.data() + digits;
    std::from_chars(first, first + std::min<std::size_t>(8, token.size() - digits), preferred, 16);
    return static_cast<std::uint32_t>((preferred + one - 1) % limit);
}

/// The smallest and the largest score of a slot: see permits.lua.
struct slot_range {
    explicit slot_range(std::uint32_t slot)
        : first(static_cast<long long>(slot) << 42U), last(((slot + 1LL) << 42U) - 1) {}
    number first;
    number last;
};

/// Combines releases into one call of release_permits.lua.
class release_permits final : public coalescing {
public:
    constexpr release_permits() = default;

    void encode(std::span<const command* const> commands, script_form form,
                resp::command_writer& to) const override {
        std::array<std::string_view, most> keys;
        std::array<std::string_view, most> tokens;
        std::ranges::transform(commands, keys.begin(), &command::key);
        std::ranges::transform(commands, tokens.begin(), &command::token);
        write_script(scripts::release_permits, form, to, std::span(keys).first(commands.size()),
                     std::span(tokens).first(commands.size()));
    }

    [[nodiscard]] vote decode(std::size_t index, std::size_t count,
                              const resp::value& reply) const override {
        return releases_together.decode(index, count, reply);
    }
};
constexpr release_permits releases_permits_together;

/// The key of a semaphore in memory, as the scripts see it.
class permits_key {
public:
    permits_key(table& keys, const kinds::command& command, std::uint32_t limit,
                std::uint32_t count, core::time_point now)
        : keys_(keys),
          command_(command),
          limit_(limit),
          now_(now),
          entry_(keys.find(command.key, now)),
          held_(entry_ != nullptr ? entry_->as<permits>() : nullptr) {
        if (!is_foreign()) {
            own_ = numbers_of_token(count);
        }
    }

    [[nodiscard]] bool exists() const noexcept { return entry_ != nullptr; }

    /// Returns whether the key exists and is not a semaphore with this limit.
    [[nodiscard]] bool is_foreign() const noexcept {
        return entry_ != nullptr && (held_ == nullptr || held_->limit != limit_);
    }

    /// Returns the vote if the key is foreign, as written_by_another in other_lock.lua does.
    [[nodiscard]] vote denial(core::milliseconds remaining) const {
        if (const std::string lock = entry_->lock_name(); !lock.empty()) {
            return denied_by_kind(lock, remaining);
        }
        const std::string* const token = entry_->as<std::string>();
        if (entry_->as<reader_set>() != nullptr || (token != nullptr && is_reader(*token))) {
            return denied_by_kind("shared_mutex", remaining);
        }
        if (token == nullptr) {
            return denied_by_value({}, remaining);
        }
        const std::size_t digits =
            std::min(token->find_first_not_of("0123456789abcdef"), token->size());
        return digits == token_digits ? denied_by_kind("mutex", remaining)
                                      : vote::denied(key_state::foreign, remaining);
    }

    [[nodiscard]] core::milliseconds remaining() const {
        return std::chrono::duration_cast<core::milliseconds>(entry_->expires - now_);
    }

    /// Returns the numbers that the token has, or nothing if it does not have as many as it wants.
    [[nodiscard]] const numbers& own() const noexcept { return own_; }

    /// Returns the nearest free numbers that are no less than `least`, or nothing if there are too few.
    [[nodiscard]] numbers nearest(const numbers& least, std::uint32_t count) const {
        numbers result;
        for (std::uint32_t i = 0; i != count; ++i) {
            std::uint32_t one =
                std::max(least.empty() ? 1 : least[i], result.empty() ? 1 : result.back() + 1);
            while (one <= limit_ && !is_free(one)) {
                ++one;
            }
            if (one > limit_) {
                return {};
            }
            result.push_back(one);
        }
        return result;
    }

    [[nodiscard]] bool is_free(std::uint32_t one) const {
        const permits::holder* const there = holder_of(one);
        return one <= limit_ && (there == nullptr || there->expires <= now_ ||
                                 (!own_.empty() && there->token == command_.token));
    }

    /// Gives the token exactly these permits, for at least the command's ttl. Returns how many it had,
    /// including ended ones.
    std::size_t put(const numbers& all) {
        core::time_point until = now_ + command_.ttl;
        permits written = held_ != nullptr ? *held_ : permits{limit_, false, {}};
        const std::size_t removed = std::erase_if(
            written.slots, [&](const auto& one) { return one.second.token == command_.token; });
        for (const std::uint32_t one : own_) {
            until = std::max(until, holder_of(one)->expires);
        }
        for (const std::uint32_t one : all) {
            written.slots[slot_of(one)] = {std::string(command_.token), until};
        }
        if (removed == 0 && all.empty()) {
            return removed;
        }
        if (written.slots.empty()) {
            keys_.erase(command_.key);
            return removed;
        }
        core::time_point ends = entry_ != nullptr ? entry_->expires : now_;
        const bool is_sole = written.slots.size() == 1 && all == numbers{1};
        if (!written.is_set && is_sole) {
            ends = std::max(ends, until);
        } else if (!all.empty() && (!written.is_set || until > ends)) {  // As in permits.lua.
            ends = std::max(ends, until + (until - now_));
            written.is_set = true;
        }
        keys_.put(command_.key, std::move(written), ends);
        return removed;
    }

    /// Returns when this many permits are free, if no holder renews its lease.
    [[nodiscard]] core::time_point free_at(std::uint32_t count) const {
        std::vector<core::time_point> ends;
        if (held_ != nullptr) {
            for (const auto& [slot, holder] : held_->slots) {
                if (holder.expires > now_) {
                    ends.push_back(holder.expires);
                }
            }
        }
        if (ends.size() + count <= limit_) {
            return now_;
        }
        std::ranges::sort(ends);
        return ends[ends.size() + count - limit_ - 1];
    }

private:
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t one) const {
        return slot_in_order(command_.token, one, limit_);
    }

    [[nodiscard]] const permits::holder* holder_of(std::uint32_t one) const {
        if (held_ == nullptr) {
            return nullptr;
        }
        const auto found = held_->slots.find(slot_of(one));
        return found == held_->slots.end() ? nullptr : &found->second;
    }

    [[nodiscard]] numbers numbers_of_token(std::uint32_t count) const {
        numbers result;
        for (std::uint32_t one = 1; one <= limit_; ++one) {
            const permits::holder* const there = holder_of(one);
            if (there != nullptr && there->token == command_.token && there->expires > now_) {
                result.push_back(one);
            }
        }
        return result.size() == count ? result : numbers();
    }

    table& keys_;
    const kinds::command& command_;
    std::uint32_t limit_;
    core::time_point now_;
    table::entry* entry_;
    permits* held_;
    numbers own_;
};

/// A base class, because the prefix must exist before the kind that refers to it.
struct token_prefix {
    std::string prefix;
};

class semaphore_kind final : private token_prefix, public lock_kind {
public:
    semaphore_kind(std::uint32_t limit, std::uint32_t count)
        : token_prefix{"permit:" + std::to_string(limit) + "*" + std::to_string(count) + ":"},
          lock_kind({.name = "semaphore",
                     .admission = admission::counted(),
                     .token_prefix = prefix,
                     .agreement = core::agreement::same,
                     .releases = &releases_permits_together,
                     .released_natively = limit == 1,
                     .holder_grants_by_one = true,
                     .tries_twice = limit != 1}),
          limit_(limit),
          count_(count),
          clock_("semaphore:" + std::to_string(limit)) {}

    void encode(const kinds::command& command, const capabilities& server, script_form form,
                resp::command_writer& to) const override {
        switch (command.step) {
            case step::acquire:
                if (looks_first(command)) {
                    write_set(command, to);
                } else {
                    write_take(command, form, to);
                }
                break;
            case step::extend:
                write_extend(command, form, to);
                break;
            case step::release:
                if (command.kind->is_native(command, server, form)) {
                    write_native_release(command, server, to);
                } else {
                    write_script(scripts::release_permits, form, to, {command.key}, command.token);
                }
                break;
            default:
                assert(command.step == step::remaining);
                write_script(scripts::vacancy, form, to, {command.key}, prefix);
                break;
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        switch (command.step) {
            case step::acquire:
                return named(decode_acquire(reply));
            case step::release:
                return releases_permits_together.decode(0, 1, reply);
            case step::extend:
                return named(decode_compare(reply));
            default:
                return named(decode_remaining(reply));
        }
    }

    [[nodiscard]] vote decode_native(const kinds::command& /*command*/,
                                     const resp::value& reply) const override {
        return decode_native_release(reply);
    }

    [[nodiscard]] std::string why(const vote& denial, std::string_view detail) const override {
        return denial.key == key_state::foreign && detail.empty()
                   ? "denied, too few permits are free"
                   : lock_kind::why(denial, detail);
    }

    vote execute(const kinds::command& command, table& keys, const instant& at) const override {
        permits_key key(keys, command, limit_, count_, at.now);
        if (key.is_foreign()) {
            const bool says_whose = command.step != step::release && !looks_first(command);
            return !says_whose ? vote::denied(key_state::foreign)
                               : named(key.denial(command.step == step::remaining
                                                      ? key.remaining()
                                                      : core::unknown_remaining));
        }
        switch (command.step) {
            case step::acquire:
                return take(key, command);
            case step::extend:
                if (key.own().empty() || key.own() != numbers_in(values_of(command))) {
                    return vote::denied(key_state::absent);
                }
                key.put(key.own());
                return vote::granted();
            case step::release: {
                const std::size_t removed = key.put({});
                return removed == count_ ? vote::granted() : vote::denied(key_state::absent);
            }
            default: {
                const auto left =
                    std::chrono::duration_cast<core::milliseconds>(key.free_at(count_) - at.now);
                return left <= core::milliseconds(0)
                           ? vote::denied(key_state::absent, core::milliseconds(0))
                           : vote::denied(key_state::foreign, left);
            }
        }
    }

    [[nodiscard]] bool has_auxiliary_key(const kinds::command& command) const override {
        return command.step == step::acquire && !looks_first(command);
    }

private:
    /// Returns whether the acquire is only a SET with NX. This first attempt is as cheap as for a mutex.
    [[nodiscard]] bool looks_first(const kinds::command& command) const noexcept {
        return command.step == step::acquire && count_ == 1 && !command.contended &&
               !command.heals && command.value == 0;
    }

    /// Returns the numbers that the lease has or asks for, or an empty text for any numbers.
    [[nodiscard]] std::string values_of(const kinds::command& command) const {
        if (count_ != 1) {
            return command.values != nullptr ? *command.values : std::string();
        }
        return command.value == 0 ? std::string() : std::to_string(command.value) + ' ';
    }

    [[nodiscard]] vote decode_acquire(const resp::value& reply) const {
        if (is_ok(reply)) {
            return vote::granted(1);
        }
        if (reply.type == resp::type::null) {
            return vote::denied(key_state::foreign);
        }
        if (reply.type == resp::type::bulk_string) {
            const numbers all = numbers_in(reply.text);
            return all.size() == count_ && all.back() <= limit_ ? granted(all) : unexpected(reply);
        }
        const auto one = number_in(reply);
        return one && *one > 0 && *one <= limit_ ? vote::granted(*one) : decode_compare(reply);
    }

    void write_take(const kinds::command& command, script_form form,
                    resp::command_writer& to) const {
        const number ttl(command.ttl.count());
        const std::string beside = new_permits_key(command.key);
        const std::string values = values_of(command);
        if (command.heals || count_ != 1 || command.value > limit_) {
            write_script(scripts::permit, form, to, {command.key}, command.token, ttl.text(),
                         command.heals ? "hold" : "take", values, beside, clock_);
            return;
        }
        const std::uint64_t least = std::max<std::uint64_t>(command.value, 1);
        const slot_range range(slot_in_order(command.token, least, limit_));
        write_script(scripts::permit, form, to, {command.key}, command.token, ttl.text(), "take",
                     values.empty() ? "1 " : values, beside, clock_, range.first.text(),
                     range.last.text(), number(limit_).text());
    }

    void write_extend(const kinds::command& command, script_form form,
                      resp::command_writer& to) const {
        const number ttl(command.ttl.count());
        if (count_ != 1) {
            write_script(scripts::extend_permit, form, to, {command.key}, command.token, ttl.text(),
                         values_of(command), clock_);
            return;
        }
        const slot_range range(slot_in_order(command.token, command.value, limit_));
        write_script(scripts::extend_permit, form, to, {command.key}, command.token, ttl.text(),
                     values_of(command), clock_, range.first.text(), range.last.text());
    }

    /// Marks a denial by a semaphore with another limit, which is not a lock of another kind.
    [[nodiscard]] static vote named(vote denial) {
        if (denial.kind == core::vote_kind::denied && denial.key == key_state::other_kind &&
            denial.detail->starts_with("a semaphore ")) {
            denial.key = key_state::other_limit;
        }
        return denial;
    }

    [[nodiscard]] vote take(permits_key& key, const kinds::command& command) const {
        if (looks_first(command) && key.exists()) {
            return vote::denied(key_state::foreign);
        }
        const numbers wanted = numbers_in(values_of(command));
        const bool keeps =
            !key.own().empty() &&
            (wanted.empty() || std::ranges::equal(key.own(), wanted, std::ranges::greater_equal()));
        numbers got = key.own();
        if (command.heals) {
            got = std::ranges::all_of(wanted, [&](auto one) { return key.is_free(one); })
                      ? wanted
                      : numbers();
        } else if (!keeps) {
            got = key.nearest(wanted, count_);
        }
        key.put(got);
        return got.empty() ? vote::denied(key_state::foreign) : granted(got);
    }

    std::uint32_t limit_;
    std::uint32_t count_;
    std::string clock_;  // The member of a set for its clock.
};

}  // namespace

const lock_kind& semaphore(std::uint32_t limit, std::uint32_t count) {
    assert(count != 0 && count <= limit && limit <= most_permits);
    using made_kinds =
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<const semaphore_kind>>;
    // Both outlive all static objects.
    // NOLINTBEGIN(bugprone-unhandled-exception-at-new)
    static std::mutex& mutex = *new std::mutex;
    static made_kinds& made = *new made_kinds;
    // NOLINTEND(bugprone-unhandled-exception-at-new)
    const std::lock_guard guard(mutex);
    auto& kind = made[{limit, count}];
    if (!kind) {
        kind = std::make_unique<const semaphore_kind>(limit, count);
    }
    return *kind;
}

}  // namespace colock::kinds
