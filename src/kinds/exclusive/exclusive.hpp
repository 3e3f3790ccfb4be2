// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_EXCLUSIVE_EXCLUSIVE_HPP
#define COLOCK_KINDS_EXCLUSIVE_EXCLUSIVE_HPP

#include "kinds/kind.hpp"

namespace colock::kinds {

/// Redlock's key: a string that holds the token of the one holder, and lives for its ttl. The locks of other libraries
/// on the same name exclude it, and are excluded.
///
/// Algorithm: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
extern const lock_kind& exclusive;

}  // namespace colock::kinds

#endif
