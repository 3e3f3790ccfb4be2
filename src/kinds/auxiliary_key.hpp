// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_AUXILIARY_KEY_HPP
#define COLOCK_KINDS_AUXILIARY_KEY_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace colock::kinds {

/// What a Redis Cluster hashes of a key: what is between the first brace and the next that closes it, its hash tag,
/// if there is anything; else the whole key.
constexpr std::string_view hashed_part(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
    return close == std::string_view::npos || close == open + 1
               ? key
               : key.substr(open + 1, close - open - 1);
}

/// Whether a cluster has the auxiliary keys of a key in its slot.
constexpr bool has_auxiliary_keys(std::string_view key) noexcept {
    return key.find('}') == std::string_view::npos || hashed_part(key).size() != key.size();
}

/// The name of a key of our own that belongs to a lock's key: `{key}:colock:role`, or `key:colock::role` if
/// the key has a hash tag. A Redis Cluster keeps both in the slot of the key, where a script can reach them
/// together. No two keys share such a name, as a role never begins with a colon.
/// (A key that has a `}` but no hash tag, as `a}b` or `{}a`, has no such name in its slot: see `has_auxiliary_keys`.)
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
