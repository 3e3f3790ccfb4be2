// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_REPLIES_HPP
#define COLOCK_KINDS_REPLIES_HPP

#include "core/vote.hpp"
#include "resp/value.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace colock::kinds {

/// Whether a reply's text is this word. There are ten such questions in the life of a lock on five
/// servers, and each is a few instructions only if it calls nothing, as `==` would `memcmp`.
template <std::size_t Size>
constexpr bool is(std::string_view text, const char (&word)[Size]) noexcept {
    bool same = text.size() == Size - 1;
    for (std::size_t i = 0; same && i != Size - 1; ++i) {
        same = text[i] == word[i];
    }
    return same;
}

/// `+OK`.
inline bool is_ok(const resp::value& reply) noexcept {
    return reply.type == resp::type::simple_string && is(reply.text, "OK");
}

/// `:1`.
inline bool is_one(const resp::value& reply) noexcept {
    return reply.type == resp::type::number && is(reply.text, "1");
}

/// A number that is not negative.
std::optional<std::uint64_t> number_in(const resp::value& reply) noexcept;

/// The vote for a reply that is no answer to the command.
core::vote unexpected(const resp::value& reply);

/// The vote for a key that no lock wrote: it is another's, and the detail says what it holds, such as "a list".
core::vote denied_by_value(std::string_view type, core::milliseconds remaining);

/// The vote for a key whose holder has that label.
core::vote denied_by_label(std::string_view label, core::milliseconds remaining);

/// The vote for a key of a lock of another kind. `lock` names that one, with underscores in place of spaces.
core::vote denied_by_kind(std::string_view lock, core::milliseconds remaining);

/// Of a script whose token does not hold the key: `@` and the label of the holder; or `of` and a lock of another kind; or `holds` and
/// the type of a value that no lock wrote. Behind that there may be the key's PTTL. Any other reply is unexpected.
core::vote decode_obstacle(const resp::value& reply);

/// Of SET with NX: OK, or null for a key that exists.
core::vote decode_taken(const resp::value& reply);

/// Of the scripts that work on what the token holds: 1 done, 0 the token holds nothing there, -1 another one
/// does, or as `decode_obstacle`.
core::vote decode_compare(const resp::value& reply);

/// Of the scripts that count fences: the counter, which is positive; else as `decode_compare`.
core::vote decode_fence(const resp::value& reply);

/// Of PTTL, and obstacle.lua: milliseconds, -1 for a key without ttl, -2 for no key, or as `decode_obstacle`.
core::vote decode_remaining(const resp::value& reply);

}  // namespace colock::kinds

#endif
