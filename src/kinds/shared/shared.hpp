// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SHARED_SHARED_HPP
#define COLOCK_KINDS_SHARED_SHARED_HPP

#include "kinds/auxiliary_key.hpp"
#include "kinds/kind.hpp"
#include "kinds/lock_key.hpp"

#include <string>
#include <string_view>

// The two sides of a read-write lock. Its key is a `lock_key`.

namespace colock::kinds {

/// Returns the name under which a set of readers is made before it replaces the key. It exists only
/// inside a script.
inline std::string new_set_key(std::string_view key) {
    return auxiliary_key(key, "readers");
}

/// A reader's side. The first attempt is a SET with NX, as cheap as an exclusive one. If it is denied, the
/// next attempt joins the readers, if only readers block it.
extern const lock_kind& shared;
/// Like `shared`, but a grant brings the counter, on which a quorum must agree. The counter is that of the
/// last writer, or at the current second. A server may have come back with older data, and a counter behind
/// the last writer's.
extern const lock_kind& fenced_shared;

/// A writer's side. It is like `exclusive`, but an attempt after a denied one first clears the way.
extern const lock_kind& writer;
/// Like `fenced`, with the same difference.
extern const lock_kind& fenced_writer;

}  // namespace colock::kinds

#endif
