// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_REPLIES_HPP
#define COLOCK_KINDS_REPLIES_HPP

#include "core/vote.hpp"
#include "resp/value.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace colock::kinds {

/// Returns whether a reply's text is this word. A lock on five servers needs ten such checks. Each takes only
/// a few instructions because it calls no function, as `==` would call `memcmp`.
template <std::size_t Size>
constexpr bool is(std::string_view text, const char (&word)[Size]) noexcept {
    bool same = text.size() == Size - 1;
    for (std::size_t i = 0; same && i != Size - 1; ++i) {
        same = text[i] == word[i];
    }
    return same;
}

/// Returns whether the reply is `+OK`.
inline bool is_ok(const resp::value& reply) noexcept {
    return reply.type == resp::type::simple_string && is(reply.text, "OK");
}

/// Returns whether the reply is `:1`.
inline bool is_one(const resp::value& reply) noexcept {
    return reply.type == resp::type::number && is(reply.text, "1");
}

/// Returns the number in the reply, or nothing if it is negative or not a number.
std::optional<std::uint64_t> number_in(const resp::value& reply) noexcept;

/// Returns the vote for a reply that is not an answer to the command.
core::vote unexpected(const resp::value& reply);

/// Returns the vote for a key that no lock wrote. The key counts as another holder's. The detail names its
/// content, such as "a list".
core::vote denied_by_value(std::string_view type, core::milliseconds remaining);

/// Returns the vote for a key whose holder has this label.
core::vote denied_by_label(std::string_view label, core::milliseconds remaining);

/// Returns the vote for a key that a lock of another kind has. `lock` names that lock, with
/// underscores for spaces.
core::vote denied_by_kind(std::string_view lock, core::milliseconds remaining);

/// Returns the failure for a key of a queue that colock did not write. The scripts of queues reply the same.
core::vote foreign_in_queue(std::string_view key);

/// Decodes the reply of a script whose token does not hold the key. The key's PTTL may follow each of these
/// forms. Any other reply is unexpected.
///
/// - `@` and the label of the holder.
/// - `of` and a lock of another kind.
/// - `holds` and the type of a value that no lock wrote.
core::vote decode_obstacle(const resp::value& reply);

/// Decodes the reply to SET with NX: OK, or null if the key exists. Accepts the replies of
/// `decode_obstacle` too.
core::vote decode_taken(const resp::value& reply);

/// Decodes the reply of a script that works on the hold of a token. The reply 1 means that it is done. The
/// reply 0 means that the token holds nothing there, and -1 that another token holds the key. Accepts the
/// replies of `decode_obstacle` too.
core::vote decode_compare(const resp::value& reply);

/// Decodes the reply of a script that counts fences: the counter, which is positive. Accepts the replies of
/// `decode_compare` too.
core::vote decode_fence(const resp::value& reply);

/// Decodes the reply to PTTL or obstacle.lua in milliseconds. -1 stands for a key without ttl, and -2 for no
/// key. Accepts the replies of `decode_obstacle` too.
core::vote decode_remaining(const resp::value& reply);

}  // namespace colock::kinds

#endif
