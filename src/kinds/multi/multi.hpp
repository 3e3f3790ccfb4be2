// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_MULTI_MULTI_HPP
#define COLOCK_KINDS_MULTI_MULTI_HPP

#include "kinds/kind.hpp"

namespace colock::kinds {

/// A lock with several names. A token has all of them or none. Each name is a Redlock key, as that of
/// `exclusive`. A mutex of any library on one of the names therefore excludes it, and is excluded. The names
/// are `command::key` and `command::more_keys`.
///
/// A vote is about all names. An instance that has lost one of them has lost the lock.
extern const lock_kind& multi;

}  // namespace colock::kinds

#endif
