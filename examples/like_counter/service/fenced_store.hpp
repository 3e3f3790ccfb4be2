// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_FENCED_STORE_HPP
#define LIKE_COUNTER_FENCED_STORE_HPP

#include <boost/redis/request.hpp>

#include <cstdint>
#include <string_view>

namespace like_counter {

/// Writes that a Redis server refuses to a writer whose lock has passed to another.
///
/// Each write carries the fence of the lease under which it is made (`colock::lease::fence()`). A
/// script remembers the largest fence that it has seen, and executes no write with a smaller one. So a
/// process that was stopped in its critical section, and wakes when another has been there, changes
/// nothing any more. (One that wakes before the other has come still may: nobody has seen a larger fence.
/// That write then comes first, as if it had been in time.)
///
/// A client that writes something which depends on what it has read has its fence seen before it reads: else the
/// one that wakes could write in between.
namespace fenced_store {

/// Adds a write to a request: `command key argument`, one that answers with an integer. The answer is
/// that integer, or null if the write was refused.
///
/// `seen` is the key of the largest fence, in the slot of `key`. All writes that one lock protects
/// may share it, as far as they are in one slot; each is refused by itself.
void push(boost::redis::request& commands, std::string_view seen, std::uint64_t fence,
          std::string_view command, std::string_view key, std::string_view argument);

/// Adds to a request that this fence has been seen, for what is read next. The answer is 1, or null if a
/// larger one has been.
void push_seen(boost::redis::request& commands, std::string_view seen, std::uint64_t fence);

}  // namespace fenced_store
}  // namespace like_counter

#endif
