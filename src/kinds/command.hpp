// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_COMMAND_HPP
#define COLOCK_KINDS_COMMAND_HPP

#include "core/command.hpp"

namespace colock::kinds {

class lock_kind;

/// A command, and the lock kind that defines how it is executed.
struct command : core::command {
    const lock_kind* kind = nullptr;
};

}  // namespace colock::kinds

#endif
