// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_DECODE_HPP
#define COLOCK_INSTANCE_REDIS_DECODE_HPP

#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "kinds/kind.hpp"
#include "kinds/replies.hpp"
#include "resp/value.hpp"

#include <cstddef>

namespace colock::instance::redis {

/// Decodes a server's reply into a vote. `root` is the outermost value of the reply. No command has an
/// aggregate as its reply. An error proves that a command has created no key only if
/// `is_refused_before_execution`.
core::vote decode(const kinds::command& command, const resp::value& root);

/// Returns whether a reply is a grant without further data. Inline, because a lock on five servers takes ten
/// replies.
inline bool is_plain_grant(const kinds::command& command, const resp::value& root) noexcept {
    switch (command.step) {
        case core::step::acquire:
            return kinds::is_ok(root) && command.kind->traits().acquire_grants_by_ok;
        case core::step::extend:
        case core::step::release:
            return kinds::is_one(root) && command.kind->traits().holder_grants_by_one;
        default:
            return false;
    }
}

/// Returns whether the server will always refuse this command. It may not be permitted or supported, or its
/// keys may be in different cluster slots.
bool is_refused_for_good(const resp::value& root) noexcept;

/// Returns whether the server refused the command before it executed it. Other errors may come after the
/// execution. A proxy, for example, may have forwarded the command and report a timeout.
bool is_refused_before_execution(const resp::value& root) noexcept;

/// Returns whether the server reports that it is a replica. It has executed nothing then.
bool is_from_replica(const resp::value& root) noexcept;

/// Returns whether a cluster node has redirected the command (MOVED, ASK) or put it off. It has executed
/// nothing then. TRYAGAIN and CLUSTERDOWN put it off. Commands inside a script never get these errors.
bool is_redirection(const resp::value& root) noexcept;

/// Returns whether the server does not have the script. The script must then be sent in full.
bool is_unknown_script(const resp::value& root) noexcept;

}  // namespace colock::instance::redis

#endif
