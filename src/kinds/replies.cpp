// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/replies.hpp"

#include "kinds/command.hpp"
#include "kinds/label.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace colock::kinds {

using core::key_state;
using core::vote;
using resp::type;
using resp::value;

namespace {

template <typename Number>
std::optional<Number> parse(const value& reply) noexcept {
    Number number = 0;
    const char* const end = reply.text.data() + reply.text.size();
    const auto parsed = std::from_chars(reply.text.data(), end, number);
    if (reply.type != type::number || parsed.ec != std::errc() || parsed.ptr != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace

std::optional<std::uint64_t> number_in(const value& reply) noexcept {
    return parse<std::uint64_t>(reply);
}

vote unexpected(const value& reply) {
    return vote::failed(core::failure::unexpected_reply,
                        std::make_shared<const std::string>(reply.text));
}

vote denied_by_value(std::string_view type, core::milliseconds remaining) {
    using name = std::pair<std::string_view, std::string_view>;
    static constexpr name names[] = {
        {"list", "a list"}, {"set", "a set"},       {"zset", "a sorted set"},
        {"hash", "a hash"}, {"stream", "a stream"}, {"", "a value"},
    };
    const auto* const known = std::ranges::find(names, type, &name::first);
    vote result = vote::denied(key_state::foreign, remaining);
    result.detail = std::make_shared<const std::string>(
        known != std::end(names) ? std::string(known->second)
                                 : "a value of the type " + std::string(type));
    return result;
}

vote denied_by_label(std::string_view label, core::milliseconds remaining) {
    vote result = vote::denied(key_state::labelled, remaining);
    result.detail = std::make_shared<const std::string>(label);
    return result;
}

vote denied_by_kind(std::string_view lock, core::milliseconds remaining) {
    std::string text("a ");
    text += lock;
    std::ranges::replace(text, '_', ' ');
    vote result = vote::denied(key_state::other_kind, remaining);
    result.detail = std::make_shared<const std::string>(std::move(text));
    return result;
}

vote foreign_in_queue(std::string_view key) {
    return vote::failed(core::failure::server_error,
                        std::make_shared<const std::string>("QUEUE the key " + std::string(key) +
                                                            " was not written by colock"));
}

vote decode_obstacle(const value& reply) {
    struct form {
        std::string_view before;
        vote (*meaning)(std::string_view, core::milliseconds);
    };
    static constexpr form forms[] = {
        {"@", denied_by_label}, {"of ", denied_by_kind}, {"holds ", denied_by_value}};
    const auto* const found = std::ranges::find_if(
        forms, [&](const form& one) { return reply.text.starts_with(one.before); });
    if (reply.type != type::simple_string || found == std::end(forms)) {
        return unexpected(reply);
    }
    const std::string_view rest = reply.text.substr(found->before.size());
    const std::size_t end = std::min(rest.find(' '), rest.size());
    core::milliseconds remaining = core::unknown_remaining;
    if (end != rest.size()) {
        const auto left = parse<std::int64_t>({type::number, rest.substr(end + 1)});
        if (!left || *left < -1) {
            return unexpected(reply);
        }
        remaining = *left < 0 ? core::milliseconds::max() : core::milliseconds(*left);
    }
    const std::string_view word = rest.substr(0, end);
    return word.empty() ? unexpected(reply) : found->meaning(word, remaining);
}

vote decode_taken(const value& reply) {
    if (is_ok(reply)) {
        return vote::granted();
    }
    return reply.type == type::null ? vote::denied(key_state::foreign) : decode_obstacle(reply);
}

vote decode_compare(const value& reply) {
    if (is_one(reply)) {
        return vote::granted();
    }
    if (reply.type != type::number) {
        return decode_obstacle(reply);
    }
    if (is(reply.text, "0")) {
        return vote::denied(key_state::absent);
    }
    if (is(reply.text, "-1")) {
        return vote::denied(key_state::foreign);
    }
    return unexpected(reply);
}

vote decode_fence(const value& reply) {
    const auto fence = number_in(reply);
    return fence && *fence > 0 && *fence < core::value_limit ? vote::granted(*fence)
                                                             : decode_compare(reply);
}

vote decode_remaining(const value& reply) {
    if (reply.type != type::number) {
        return decode_obstacle(reply);
    }
    const auto number = parse<std::int64_t>(reply);
    if (!number || *number < -2) {
        return unexpected(reply);
    }
    if (*number >= 0) {
        return vote::denied(key_state::foreign, core::milliseconds(*number));
    }
    return *number == -1 ? vote::denied(key_state::foreign, core::milliseconds::max())
                         : vote::denied(key_state::absent, core::milliseconds(0));
}

}  // namespace colock::kinds
