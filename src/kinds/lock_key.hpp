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

// What the key of a mutex or a read-write lock holds. An instance decides by one look at one key, and a cluster can move it at any
// time:
//
// - an exclusive holder has it as a string, its token;
// - one reader holds it as a string too, a token that begins with `reader:`;
// - several readers hold it as a sorted set of their tokens, by the times at which they expire on a clock of the key's own:
//   see lock_key.lua. So each reader's share has a life of its own, and the key lives as long as the last.
//
// So an exclusive lock of any library on the same name excludes readers, and is excluded by them.
//
// A writer that was denied and waits sets its client's mark in the set. While a mark lives, no further reader enters. The
// writer removes its mark when it stops waiting. The mark of a writer that has died expires soon.

namespace colock::kinds {

/// What the tokens of readers begin with.
inline constexpr std::string_view reader_prefix = "reader:";

/// Whether a token is a reader's.
[[nodiscard]] constexpr bool is_reader(std::string_view token) noexcept {
    return token.starts_with(reader_prefix);
}

/// The token without the prefix of readers, as a writer has it.
[[nodiscard]] constexpr std::string_view as_writers(std::string_view token) noexcept {
    return token.substr(is_reader(token) ? reader_prefix.size() : 0);
}

/// For how long a writer's mark keeps readers out, unless the writer attempts again.
inline constexpr core::milliseconds writer_mark_ttl{1000};

/// The readers of a key, and the writers that wait for it. In memory a single reader is a set, too.
struct reader_set {
    struct share {
        std::string token;
        core::time_point expires;
    };

    /// Of a client of which a writer waits.
    struct mark {
        std::uint64_t client;
        core::time_point expires;
    };

    std::vector<share> shares;
    std::vector<mark> marks;

    [[nodiscard]] bool is_empty() const noexcept { return shares.empty() && marks.empty(); }
    /// When the last reader's share ends; `time_point::min()` if there is none.
    [[nodiscard]] core::time_point shared_until() const noexcept;
    /// When the last mark ends; `time_point::min()` if there is none.
    [[nodiscard]] core::time_point marked_until() const noexcept;
    /// It lives as long as the last of its readers, and of its marks.
    [[nodiscard]] core::time_point ends() const noexcept;
    /// Shares and marks that have expired go. So do marks that would live longer than one may: those were left before the
    /// clock was set back.
    void drop_expired(core::time_point now);
};

/// The key of a lock in memory, as the scripts see it. It holds a token, or a set of readers, or a value that no lock wrote.
class lock_key {
public:
    /// The table must outlive it, and so must the name. No other object writes to that key in the meantime.
    lock_key(table& keys, std::string_view name, core::time_point now);

    [[nodiscard]] bool exists() const noexcept { return entry_ != nullptr; }
    /// Whether no reader can join: it exists, and is no set of readers.
    [[nodiscard]] bool is_exclusive() const noexcept { return exists() && set_ == nullptr; }
    /// The readers and marks; null if it is no set.
    [[nodiscard]] const reader_set* set() const noexcept { return set_; }
    /// The token of the one holder; null if it holds something else.
    [[nodiscard]] const std::string* token() const noexcept {
        return exists() ? entry_->as<std::string>() : nullptr;
    }

    /// Whether a token holds it, be it as one of the readers, or as the writer that a reader has been.
    [[nodiscard]] bool is_held_by(std::string_view holder) const noexcept;
    /// When the last mark ends; `time_point::min()` if there is none.
    [[nodiscard]] core::time_point marked_until() const noexcept {
        return set_ != nullptr ? set_->marked_until() : core::time_point::min();
    }
    /// When it ends. It must exist.
    [[nodiscard]] core::time_point expires() const noexcept { return entry_->expires; }

    /// The vote on a command of another token, as held_by_another in lock_key.lua. Of several readers, the last one counts.
    [[nodiscard]] core::vote denial(core::milliseconds remaining = core::unknown_remaining) const;

    /// The one holder keeps it until then.
    void prolong(core::time_point until);
    /// That reader holds it until then at least. What was its own token as a writer becomes a set.
    void share(std::string_view reader, core::time_point until);
    /// That holder has it no more.
    void release(std::string_view holder);
    /// A writer of that client waits. It must be a set.
    void mark(std::uint64_t client);
    /// No writer of that client waits. Returns whether there was a mark of it.
    bool unmark(std::uint64_t client);
    /// Nobody has it.
    void erase();

private:
    /// A share or a mark was added or removed.
    void keep_rest();

    table& keys_;
    std::string_view name_;
    core::time_point now_;
    table::entry* entry_;
    reader_set* set_ = nullptr;
};

}  // namespace colock::kinds

#endif
