// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SHARED_HPP
#define COLOCK_KINDS_SHARED_HPP

#include "core/time.hpp"
#include "kinds/kind.hpp"

#include <string_view>

// The two sides of a read-write lock. All is in the one key of the lock, so that an instance decides by one look, and a
// cluster can move it at any time:
//
// - a writer holds it as an exclusive lock does: a string, its token;
// - one reader holds it as a string too, a token that begins with `reader:`;
// - several readers hold it as a sorted set of their tokens, by the times at which they expire on a clock of the key's own:
//   see scripts/parts/readers.lua. So each reader's share has a life of its own, and the key lives as long as the last.
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

/// A reader's side. The first attempt is a SET with NX, as cheap as an exclusive one. If it is denied, the next looks
/// whether only readers are in the way, and joins them.
extern const lock_kind& shared;
/// The same, and a grant brings the counter, on which a quorum has to agree. It is as the last writer has left it, or at the
/// current second: a server may have come back with older data, and a counter behind the last writer's.
extern const lock_kind& fenced_shared;

/// A writer's side: `exclusive`, but that an attempt after one that was denied first clears the way.
extern const lock_kind& writer;
/// `fenced`, likewise.
extern const lock_kind& fenced_writer;

}  // namespace colock::kinds

#endif
