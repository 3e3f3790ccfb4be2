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

/// What a server's reply to a command means. `root` is the reply's outermost value; a reply that has
/// others inside it is no answer to any of our commands. An error proves that a command has made no key only if
/// `is_refused_before_execution`.
core::vote decode(const kinds::command& command, const resp::value& root);

/// Whether a reply is a grant with nothing else to tell. In place: there are ten replies in the life of a lock on five servers.
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

/// Whether the error reply says that this connection may not, or cannot, use a command at all; or keys of a
/// cluster together that are in different slots.
bool is_refused_for_good(const resp::value& root) noexcept;

/// Whether the error reply is one that a server gives instead of executing a command. Any other may come
/// afterwards: a proxy may have passed the command on, and answers itself (a timeout, say).
bool is_refused_before_execution(const resp::value& root) noexcept;

/// Whether a server says that it is a replica, and so executes nothing.
bool is_from_replica(const resp::value& root) noexcept;

/// Whether a node of a cluster says that the key is elsewhere (MOVED, ASK), or nowhere just now (TRYAGAIN,
/// CLUSTERDOWN): it has executed nothing. No command inside a script is answered so.
bool is_redirection(const resp::value& root) noexcept;

/// Whether the reply says that the server does not know the script: to be sent again in full.
bool is_unknown_script(const resp::value& root) noexcept;

}  // namespace colock::instance::redis

#endif
