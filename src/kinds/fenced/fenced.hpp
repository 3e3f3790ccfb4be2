// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_FENCED_FENCED_HPP
#define COLOCK_KINDS_FENCED_FENCED_HPP

#include "kinds/kind.hpp"

namespace colock::kinds {

/// `exclusive`, and each grant counts: it brings the next value of a counter beside the key, which a quorum has to agree
/// on. See `core::lease`.
extern const lock_kind& fenced;

}  // namespace colock::kinds

#endif
