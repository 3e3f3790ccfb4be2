// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_FENCED_FENCED_HPP
#define COLOCK_KINDS_FENCED_FENCED_HPP

#include "kinds/kind.hpp"

namespace colock::kinds {

/// Like `exclusive`, but each grant brings the next value of a counter next to the key. A quorum must agree
/// on the value. See `core::lease`.
extern const lock_kind& fenced;

}  // namespace colock::kinds

#endif
