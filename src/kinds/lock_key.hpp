// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_LOCK_KEY_HPP
#define COLOCK_KINDS_LOCK_KEY_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "kinds/table.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The value of the key of a mutex or a read-write lock. An instance decides by one look at one key, and a
// cluster can move the key at any time.
//
// - An exclusive holder has the key as a string, its token.
// - A single reader also has it as a string, a token that begins with `reader:`.
// - Several readers have it as a sorted set of their tokens. The scores are the times at which their shares
//   expire, on the key's own clock: see lock_key.lua. Each share expires separately, and the key lives as
//   long as the last one.
//
// An exclusive lock of any library on the same name therefore excludes readers, and readers exclude it.
//
// A writer that was denied and waits sets its client's mark in the set. While a mark lives, no new reader
// enters. The writer removes its mark when it stops waiting. If the writer has died, its mark expires soon.

namespace colock::kinds {

/// Prefix of the tokens of readers.
inline constexpr std::string_view reader_prefix = "reader:";

/// Returns whether a token is a reader's.
[[nodiscard]] constexpr bool is_reader(std::string_view token) noexcept {
    return token.starts_with(reader_prefix);
}

/// Returns the token without the prefix of readers, as a writer has it.
[[nodiscard]] constexpr std::string_view as_writers(std::string_view token) noexcept {
    return token.substr(is_reader(token) ? reader_prefix.size() : 0);
}

/// How long a writer's mark keeps readers out, unless the writer attempts again.
inline constexpr core::milliseconds writer_mark_ttl{1000};

/// The readers of a key, and the writers that wait for it. In memory a single reader is also a set.
struct reader_set {
    struct share {
        std::string token;
        core::time_point expires;
    };

    /// The mark of a client that has a waiting writer.
    struct mark {
        std::uint64_t client;
        core::time_point expires;
    };

    std::vector<share> shares;
    std::vector<mark> marks;

    [[nodiscard]] bool is_empty() const noexcept { return shares.empty() && marks.empty(); }
    /// Returns when the last reader's share ends, or `time_point::min()` if there is none.
    [[nodiscard]] core::time_point shared_until() const noexcept;
    /// Returns when the last mark ends, or `time_point::min()` if there is none.
    [[nodiscard]] core::time_point marked_until() const noexcept;
    /// Returns when the last share or mark ends.
    [[nodiscard]] core::time_point ends() const noexcept;
    /// Removes shares and marks that have expired. Also removes marks that would live longer than
    /// `writer_mark_ttl`. They date from before the clock was set back.
    void drop_expired(core::time_point now);
};

/// The key of a lock in memory, as the scripts see it. It holds a token, a set of readers, or a value
/// that no lock wrote.
class lock_key {
public:
    /// The table and the name must outlive this object. Until then, no other object may write to the key.
    lock_key(table& keys, std::string_view name, core::time_point now);

    [[nodiscard]] bool exists() const noexcept { return entry_ != nullptr; }
    /// Returns whether the key exists and is not a set of readers. No reader can join it then.
    [[nodiscard]] bool is_exclusive() const noexcept { return exists() && set_ == nullptr; }
    /// Returns the readers and marks, or null if the value is not a set.
    [[nodiscard]] const reader_set* set() const noexcept { return set_; }
    /// Returns the token of the only holder, or null if the value is not a token.
    [[nodiscard]] const std::string* token() const noexcept {
        return exists() ? entry_->as<std::string>() : nullptr;
    }

    /// Returns whether a token holds the key. A reader's token also does if the key has the token that it
    /// had as a writer.
    [[nodiscard]] bool is_held_by(std::string_view holder) const noexcept;
    /// Returns when the last mark ends, or `time_point::min()` if there is none.
    [[nodiscard]] core::time_point marked_until() const noexcept {
        return set_ != nullptr ? set_->marked_until() : core::time_point::min();
    }
    /// Returns when the key expires. It must exist.
    [[nodiscard]] core::time_point expires() const noexcept { return entry_->expires; }

    /// Returns the vote on a command of another token, as held_by_another in lock_key.lua does. If there are
    /// several readers, the vote is about the last one.
    [[nodiscard]] core::vote denial(core::milliseconds remaining = core::unknown_remaining) const;

    /// Sets the time until which the only holder has the key.
    void prolong(core::time_point until);
    /// Makes the reader hold the key until this time at least. If the key has the reader's former token as a
    /// writer, it becomes a set.
    void share(std::string_view reader, core::time_point until);
    /// Removes this holder, and deletes the key if nothing remains.
    void release(std::string_view holder);
    /// Sets the mark of a client that has a waiting writer. The key must be a set.
    void mark(std::uint64_t client);
    /// Removes the mark of a client. Returns whether there was one.
    bool unmark(std::uint64_t client);
    /// Deletes the key.
    void erase();

private:
    /// Updates the end of the set after a share or a mark was added or removed. Deletes the key if
    /// the set is empty.
    void keep_rest();

    table& keys_;
    std::string_view name_;
    core::time_point now_;
    table::entry* entry_;
    reader_set* set_ = nullptr;
};

}  // namespace colock::kinds

#endif
