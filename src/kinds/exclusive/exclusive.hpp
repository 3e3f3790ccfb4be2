// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_EXCLUSIVE_EXCLUSIVE_HPP
#define COLOCK_KINDS_EXCLUSIVE_EXCLUSIVE_HPP

#include "kinds/kind.hpp"

namespace colock::kinds {

/// The key of Redlock: a string that holds the token of the only holder and lives for its ttl. Locks of other
/// libraries on the same name exclude it, and it excludes them.
///
/// Algorithm: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
extern const lock_kind& exclusive;

}  // namespace colock::kinds

#endif
