#ifndef COLOCK_INSTANCE_MEMORY_STORE_HPP
#define COLOCK_INSTANCE_MEMORY_STORE_HPP

#include "core/command.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace colock::instance::memory {

/// What a Redis server knows about locks: keys with tokens and the times at which they expire. The
/// clock is the caller's, so that a simulation can give each server its own.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class store {
public:
    /// Executes a command, and answers as a server would.
    core::vote execute(const core::command& command, core::time_point now);

    /// How many keys there are, the expired ones that were not yet collected included.
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

    /// Forgets everything, as a server that restarts without its data.
    void clear() noexcept { keys_.clear(); }

private:
    struct entry {
        std::string token;
        core::time_point expires;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept {
            return std::hash<std::string_view>{}(key);
        }
    };
    using key_map = std::unordered_map<std::string, entry, hash, std::equal_to<>>;

    [[nodiscard]] key_map::iterator find_live(std::string_view key, core::time_point now);
    void collect_expired(core::time_point now);

    key_map keys_;
    std::size_t collect_at_ = 1024;  // the size at which to look for expired keys again
};

}  // namespace colock::instance::memory

#endif
