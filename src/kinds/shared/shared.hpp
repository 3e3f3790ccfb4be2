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

/// Where a set of readers is made before it takes the place of the key. It exists inside a script only.
inline std::string new_set_key(std::string_view key) {
    return auxiliary_key(key, "readers");
}

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
