#ifndef COLOCK_INSTANCE_MEMORY_STORE_HPP
#define COLOCK_INSTANCE_MEMORY_STORE_HPP

#include "core/command.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock::instance::memory {

/// What a Redis server knows about locks: keys with tokens and the times at which they expire. The
/// clock is the caller's, so that a simulation can give each server its own.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class store {
public:
    /// What a server's TIME tells: the time since 1970.
    using wall_time = std::chrono::microseconds;

    /// Executes a command, and answers as a server would. Only commands about fences need `wall`.
    core::vote execute(const core::command& command, core::time_point now, wall_time wall = {});

    /// The keys that the last command has written or deleted: clients that have asked for one of them may want to know.
    [[nodiscard]] const std::vector<std::string>& changes() const noexcept { return changes_; }

    /// How many keys there are, the expired ones that were not yet collected included.
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

    /// Forgets everything, as a server that restarts without its data.
    void clear() noexcept {
        keys_.clear();
        counters_.clear();
        queues_.clear();
    }

    /// Forgets the fence counter of a key.
    void forget_counter(std::string_view key);

private:
    struct entry {
        std::string token;
        core::time_point expires;
    };
    struct counter {
        std::uint64_t value = 0;
        core::time_point expires;
    };
    /// The clients that wait for a key, the longest waiting first. Each has a ticket, which is a key without a token.
    struct queue {
        std::vector<std::uint64_t> numbers;
        core::time_point expires;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept {
            return std::hash<std::string_view>{}(key);
        }
    };
    template <typename T>
    using map = std::unordered_map<std::string, T, hash, std::equal_to<>>;
    using key_map = map<entry>;

    [[nodiscard]] key_map::iterator find_live(std::string_view key, core::time_point now);
    [[nodiscard]] std::uint64_t next_fence(const core::command& command, core::time_point now,
                                           wall_time wall);
    std::uint64_t count(const core::command& command, core::time_point now, wall_time wall);
    core::vote take(const core::command& command, core::time_point now, wall_time wall);
    core::vote join(const core::command& command, core::time_point now);
    core::vote leave(const core::command& command, core::time_point now);
    void write(std::string_view key, std::string_view token, core::time_point expires);
    void collect_expired(core::time_point now);

    key_map keys_;
    map<counter> counters_;  // by the key whose fences they count
    map<queue> queues_;      // by the key that is waited for
    std::vector<std::string> changes_;
    std::size_t collect_at_ = 1024;  // the size at which to look for expired keys again
};

}  // namespace colock::instance::memory

#endif
