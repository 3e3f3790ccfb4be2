// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_AUXILIARY_KEY_HPP
#define COLOCK_KINDS_AUXILIARY_KEY_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace colock::kinds {

/// Returns the part of a key that a Redis Cluster hashes. This is the hash tag, the text between the first
/// opening brace and the next closing brace. If there is no such text, it is the whole key.
constexpr std::string_view hashed_part(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
    return close == std::string_view::npos || close == open + 1
               ? key
               : key.substr(open + 1, close - open - 1);
}

/// Returns whether a cluster keeps the auxiliary keys of this key in the key's slot.
constexpr bool has_auxiliary_keys(std::string_view key) noexcept {
    return key.find('}') == std::string_view::npos || hashed_part(key).size() != key.size();
}

/// Returns the name of an auxiliary key of a lock's key: `{key}:colock:role`, or `key:colock::role` if the
/// key has a hash tag. A Redis Cluster keeps both in the slot of the key, so a script can use them together.
/// Two keys never share such a name, because a role never begins with a colon.
///
/// A key that contains a `}` but no hash tag, such as `a}b` or `{}a`, has no such name in its slot. See
/// `has_auxiliary_keys`.
inline std::string auxiliary_key(std::string_view key, std::string_view role) {
    const bool has_tag = hashed_part(key).size() != key.size();
    const std::string_view before = has_tag ? "" : "{";
    const std::string_view after = has_tag ? ":colock::" : "}:colock:";
    std::string result;
    result.reserve(before.size() + key.size() + after.size() + role.size());
    result.append(before).append(key).append(after).append(role);
    return result;
}

}  // namespace colock::kinds

#endif
