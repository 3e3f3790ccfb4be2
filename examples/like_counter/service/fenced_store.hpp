// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_FENCED_STORE_HPP
#define LIKE_COUNTER_FENCED_STORE_HPP

#include <boost/redis/request.hpp>

#include <cstdint>
#include <string_view>

namespace like_counter {

/// Writes that a Redis server refuses if another client has acquired the lock since.
///
/// Each write carries the fence of its lease (`colock::lease::fence()`). A script stores the largest fence, and
/// refuses a write with a smaller one. So a process that was stopped in its critical section changes nothing, if
/// another client has written in the meantime. If no other client has, the late write is accepted, and it is the
/// first of the two.
///
/// If a write depends on a read, the client registers its fence before it reads. Otherwise a late write could
/// come between the read and the write.
namespace fenced_store {

/// Adds a write to a request: `command key argument`. The command must return an integer. The answer is this
/// integer, or null if the write was refused.
///
/// `seen` is the key of the largest fence, in the slot of `key`. All writes under one lock may share it if they
/// are in one slot.
void push(boost::redis::request& commands, std::string_view seen, std::uint64_t fence,
          std::string_view command, std::string_view key, std::string_view argument);

/// Adds the registration of a fence to a request. The answer is 1, or null if a larger fence was used before.
void push_seen(boost::redis::request& commands, std::string_view seen, std::uint64_t fence);

}  // namespace fenced_store
}  // namespace like_counter

#endif
