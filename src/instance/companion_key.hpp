#ifndef COLOCK_INSTANCE_COMPANION_KEY_HPP
#define COLOCK_INSTANCE_COMPANION_KEY_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace colock::instance {

/// The name of a key that belongs to a lock's key: `{key}:role`, or, if the key has a hash tag of its own,
/// `key:role`. A Redis Cluster has both in the slot of the key, where a script can reach them together.
/// (Not so for a key that has braces but no hash tag, as `a}b` or `{}a`: for these there is no such name,
/// and a cluster refuses the script.)
inline std::string companion_key(std::string_view key, std::string_view role) {
    const std::size_t open = key.find('{');
    const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
    const bool has_tag = close != std::string_view::npos && close != open + 1;
    std::string result;
    result.reserve(key.size() + role.size() + 3);
    result.append(has_tag ? "" : "{").append(key).append(has_tag ? ":" : "}:").append(role);
    return result;
}

/// Of the counter of its fences.
inline std::string fence_key(std::string_view key) {
    return companion_key(key, "fence");
}

/// Of the list of those who wait for it.
inline std::string line_key(std::string_view key) {
    return companion_key(key, "line");
}

/// Of the ticket of the one with that number in the list.
inline std::string ticket_key(std::string_view key, std::uint64_t number) {
    return line_key(key) + ':' + std::to_string(number);
}

}  // namespace colock::instance

#endif
