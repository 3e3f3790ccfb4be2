#ifndef COLOCK_INSTANCE_REDIS_DECODE_HPP
#define COLOCK_INSTANCE_REDIS_DECODE_HPP

#include "core/command.hpp"
#include "core/vote.hpp"

#include <boost/redis/resp3/node.hpp>

namespace colock::instance::redis {

/// What a server's reply to a command means. `root` is the reply's node at depth 0; a reply that has
/// others is no answer to any of our commands.
core::vote decode(core::verb verb, const boost::redis::resp3::node_view& root);

/// The same, for a release by a command of the server's own.
core::vote decode_native_delete(const boost::redis::resp3::node_view& root);

/// Whether the error reply says that this connection may not, or cannot, use a command at all.
bool is_refused_for_good(const boost::redis::resp3::node_view& root) noexcept;

/// Whether the reply says that the server does not know the script: to be sent again in full.
bool is_unknown_script(const boost::redis::resp3::node_view& root) noexcept;

/// Whether it is an error reply.
bool is_error(const boost::redis::resp3::node_view& root) noexcept;

}  // namespace colock::instance::redis

#endif
