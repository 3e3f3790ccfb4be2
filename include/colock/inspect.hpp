// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSPECT_HPP
#define COLOCK_INSPECT_HPP

#include <colock/detail/export.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v1 {

/// What an instance has at a name.
enum class key_content {
    /// There is no key, so nobody holds the name.
    nothing,
    /// The token of an exclusive holder: of a `mutex`, a `reentrant_mutex`, a `multi_mutex`, a writer of a
    /// `shared_mutex`, or a `once` that runs. These have the same form on the server.
    exclusive,
    /// The tokens of the readers of a `shared_mutex`, or the marks of its waiting writers, or both.
    readers,
    /// The permits of a `semaphore`.
    permits,
    /// The result of a `once`. Nobody holds the name.
    once_result,
    /// A `versioned` value, which has no holder.
    versioned_value,
    /// A string in another form. It may be the lock of another library.
    other_string,
    /// A value of another type, which no lock wrote.
    other,
};

/// Returns "nothing", "exclusive", "readers", "permits", "once_result", "versioned_value", "other_string"
/// or "other".
COLOCK_EXPORT std::string_view to_string(key_content content) noexcept;

/// One holder of a name, as an instance reports it.
struct lock_holder {
    /// The token of its lease, for `client::break_lock`. It has any bytes if another library wrote it.
    std::string token;
    /// The label of its client: see `config::label`. Empty if it has none.
    std::string label{};
    /// The number of permits that it has. 1, except for a semaphore.
    std::size_t permits = 1;
    /// The time until its hold ends, unless it is renewed. It was true when the instance answered. The
    /// maximum if the key has no ttl.
    std::chrono::milliseconds remaining{};
};

/// A client in which a writer of a `shared_mutex` waits. Its mark keeps new readers out.
struct waiting_writer {
    /// The number of the client.
    std::uint64_t client = 0;
    /// The time until the mark ends, unless the writer sets it again.
    std::chrono::milliseconds remaining{};
};

/// A place in the queue of a name.
struct lock_waiter {
    /// The number of the client.
    std::uint64_t client = 0;
    /// With `queue_order::fifo`, the number of the waiter in its client. Otherwise 0, since a client then
    /// has one place for all its waiters.
    std::uint64_t number = 0;
};

/// The answer of one instance about a name.
struct instance_inspection {
    /// The URI of the instance, without user, password and query.
    std::string address;
    /// Why there is no answer. Empty if the instance has answered. The other members are then valid.
    std::string failure{};
    /// What the instance has at the name.
    key_content content = key_content::nothing;
    /// The type of the value if the content is `other`, such as `list`. Otherwise empty.
    std::string type{};
    /// The time until the key ends. 0 if there is no key, and the maximum if it has no ttl. A set of
    /// readers or permits ends with its last member, or later.
    std::chrono::milliseconds ttl{};
    /// The holders, at most 100. The reader that stays the longest comes first. Also the string itself if
    /// the content is `other_string` and it has at most 1,024 bytes.
    std::vector<lock_holder> holders{};
    /// The number of all holders.
    std::size_t holder_count = 0;
    /// The number of permits of the semaphore.
    std::size_t permit_limit = 0;
    /// The number of permits that have holders.
    std::size_t permits_in_use = 0;
    /// The clients in which a writer waits for readers, at most 100.
    std::vector<waiting_writer> writers{};
    /// The number of all these clients.
    std::size_t writer_count = 0;
    /// The queue of the name, at most 100 places. The longest waiting place comes first. Of several
    /// instances, only one keeps a queue. A waiter that polls is in no queue.
    std::vector<lock_waiter> waiters{};
    /// The number of all places. If there are more than 100, the last ones may be of dead clients.
    std::size_t waiter_count = 0;
    /// The fence counter of the name, or 0 if there is none. A majority of the instances has the fence of
    /// the last holder, or a larger number.
    std::uint64_t fence = 0;
    /// The version of a `versioned` value.
    std::uint64_t version = 0;
    /// Whether the `versioned` value has a value.
    bool has_value = false;
};

/// A token that a quorum of the instances has.
struct quorum_holder {
    /// The token of its lease.
    std::string token;
    /// The label of its client, or empty.
    std::string label{};
    /// On how many instances the token holds the name.
    std::size_t instances = 0;
    /// When fewer instances than a quorum will have it, unless it is renewed, restored or released.
    /// Instances that have not answered do not count. `time_point::max()` if it does not end.
    std::chrono::steady_clock::time_point until{};
};

/// Who holds a name, as the instances say. See `client::inspect`.
struct inspection {
    /// The name.
    std::string resource{};
    /// The answer of each instance, in the order of `config::instances`.
    std::vector<instance_inspection> instances{};
    /// How many instances have answered.
    std::size_t answered = 0;
    /// How many instances are a quorum.
    std::size_t quorum = 0;
    /// The tokens that a quorum has: one for an exclusive lock, and several for readers and permits. Empty
    /// if the name is free, if no token has a quorum, or if too few instances have answered. It has only
    /// tokens that the instances list.
    std::vector<quorum_holder> holders{};
};

/// How a lock was broken. See `client::break_lock`.
///
/// It counts instances, because a lock can be broken on some of them only. `release_result` could not say
/// that.
struct break_result {
    /// How many instances had the token, and have removed it.
    std::size_t removed = 0;
    /// How many instances have answered that the token does not hold the name.
    std::size_t absent = 0;
    /// How many instances have not answered, or with an error. They may have the token, until its ttl ends.
    std::size_t failed = 0;
    /// How many instances are a quorum.
    std::size_t quorum = 0;
    /// Whether a quorum had the token. It was then the holder of the lock.
    bool was_held = false;
    /// Whether a quorum has answered that the token does not hold the name, or not any more. If not, repeat
    /// `break_lock` or wait for the ttl: the holder may still hold the lock, and may restore it where it
    /// was removed.
    bool is_ended = false;
    /// The instances that have failed, and why, as one line. Empty if none has.
    std::string failures{};
};

}  // namespace v1
}  // namespace colock

#endif
