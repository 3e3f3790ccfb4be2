#ifndef COLOCK_INSTANCE_REDIS_FENCE_KEY_HPP
#define COLOCK_INSTANCE_REDIS_FENCE_KEY_HPP

#include <string>
#include <string_view>

namespace colock::instance::redis {

/// The name of the fence counter that belongs to a lock's key: `{key}:fence`, or, if the key has a
/// hash tag of its own, `key:fence`. A Redis Cluster has both in the slot of the key, where a script
/// can reach them together. (Not so for a key that has braces but no hash tag, as `a}b` or `{}a`: for
/// these there is no such name, and a cluster refuses the script.)
inline std::string fence_key(std::string_view key) {
    const std::size_t open = key.find('{');
    const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
    const bool has_tag = close != std::string_view::npos && close != open + 1;
    std::string result;
    result.reserve(key.size() + 8);
    result.append(has_tag ? "" : "{").append(key).append(has_tag ? ":fence" : "}:fence");
    return result;
}

}  // namespace colock::instance::redis

#endif
