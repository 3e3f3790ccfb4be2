// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_TABLE_HPP
#define COLOCK_KINDS_TABLE_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "kinds/fence.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock::kinds {

/// What a server's TIME tells: the time since 1970.
using wall_time = std::chrono::microseconds;

/// When a command is executed. The clocks are the caller's, so that a simulation can give each server its own.
struct instant {
    core::time_point now{};
    wall_time wall{};  ///< only for commands about fences
};

/// What a server knows of locks, in memory: keys with their holders and ends, and what is beside them.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class table {
public:
    struct reader {
        std::string token;
        core::time_point expires;
    };

    /// Of a waiting writer.
    struct mark {
        std::uint64_t client;
        core::time_point expires;
    };

    /// A key. It holds one token, or has readers; or neither, if they have all left and a writer waits.
    struct entry {
        std::string token;
        core::time_point expires;
        std::vector<reader> readers{};
        std::vector<mark> marks{};

        [[nodiscard]] bool is_exclusive() const noexcept {
            return readers.empty() && marks.empty();
        }
        /// Whether a token holds it, be it as one of the readers, or as the writer that a reader has been.
        [[nodiscard]] bool is_held_by(std::string_view holder) const noexcept;
        /// When the last of its readers expires; `time_point::min()` if there is none.
        [[nodiscard]] core::time_point last_reader_until() const noexcept;
        /// The vote on a command of another token, as held_by_another in parts/readers.lua. Of several readers, the last one counts.
        [[nodiscard]] core::vote denial(
            core::milliseconds remaining = core::unknown_remaining) const;
        /// That reader holds it for so long at least.
        void share(std::string_view holder, core::time_point until);
        void unshare(std::string_view holder);
        /// When the last mark expires; `time_point::min()` if there is none.
        [[nodiscard]] core::time_point marked_until() const noexcept;
        /// A writer of that client waits, for so long.
        void leave_mark(std::uint64_t client, core::time_point now, core::milliseconds life);
        /// No writer of that client waits. Returns whether there was a mark of it.
        bool unmark(std::uint64_t client);
        /// Readers and marks that have expired go, and marks that would live longer than one may: those were left before the
        /// clock was set back. Returns whether anything is left, if there was anything.
        bool drop_expired(core::time_point now);

    private:
        void set_expiry();
    };

    /// The clients that wait for a key, the longest waiting first. Each has a ticket, which is a key without a token.
    struct queue {
        std::vector<std::uint64_t> tickets;
        core::time_point expires;
    };

    /// Executes a command as its kind says, and answers as a server would.
    core::vote execute(const kinds::command& command, core::time_point now, wall_time wall = {});

    /// The keys that the last command has written or deleted: clients that have asked for one of them may want to know.
    [[nodiscard]] const std::vector<std::string>& changes() const noexcept { return changes_; }

    /// How many keys there are, the expired ones that were not yet collected included.
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

    /// When the last mark of waiting writers on that key ends; `time_point::min()` if there is none.
    [[nodiscard]] core::time_point mark_until(std::string_view key, core::time_point now) {
        const entry* const found = find(key, now);
        return found != nullptr ? found->marked_until() : core::time_point::min();
    }

    /// Forgets everything, as a server that restarts without its data.
    void clear() noexcept {
        keys_.clear();
        counters_.clear();
        queues_.clear();
    }

    /// Forgets the fence counter of a key.
    void forget_counter(std::string_view key);

    // For kinds:

    /// The key, unless it has expired; else null. Until the next `put` or `erase` of that key.
    [[nodiscard]] entry* find(std::string_view key, core::time_point now);
    entry& put(std::string_view key, std::string_view token, core::time_point expires);
    void erase(std::string_view key);
    /// Something was written to the key in place.
    void changed(std::string_view key) { changes_.emplace_back(key); }

    /// Moves the key's fence counter on, as parts/fence_counter.lua does: to `least` at least, or if that is 0, as `use` says.
    core::vote move_fence(std::string_view key, std::uint64_t least, fence_use use,
                          const instant& at);

    /// The remote queue of a key, empty if there was none.
    [[nodiscard]] queue& queue_of(std::string_view key, core::time_point now);
    void close_queue(std::string_view key);

private:
    struct counter {
        std::uint64_t value = 0;
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

    void collect_expired(core::time_point now);

    map<entry> keys_;
    map<counter> counters_;  // by the key
    map<queue> queues_;      // by the key that is waited for
    std::vector<std::string> changes_;
    std::size_t collect_at_ = 1024;  // the size at which to look for expired keys again
};

}  // namespace colock::kinds

#endif
