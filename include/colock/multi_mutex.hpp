// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_MULTI_MUTEX_HPP
#define COLOCK_MULTI_MUTEX_HPP

#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/deferred.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v1 {

template <typename Lock>
class striped;

namespace detail {

/// A range of names: a vector or a set of strings, a view, or an array.
template <typename Range>
concept names = requires(Range& range) {
    { *std::begin(range) } -> std::convertible_to<std::string_view>;
    std::end(range);
};

}  // namespace detail

/// A lock on several names, which has all of them or none. On each name it is a `mutex`. It excludes a mutex on
/// that name, of colock or of another library, and is excluded by it. The `lease` is the ownership of all
/// names. A multi_mutex may outlive its client as a `mutex` may.
///
/// Prefer `with_lock` to the operations of this class. docs/multi_mutex.md explains them.
///
/// @code{.cpp}
/// colock::multi_mutex both{locks, {"account:7", "account:3"}};  // in any order
/// auto transfer = [](colock::lease& lease) -> asio::awaitable<void> {
///     std::cout << "only we touch " << lease.resource() << " now\n";
///     co_return;
/// };
/// co_await colock::with_lock(both, transfer);
/// @endcode
///
/// **No deadlock.** Nothing is held while an acquire waits. A server takes all names by one command, or none.
/// So the order of the names does not matter, and two locks with common names cannot wait for each other.
///
/// **Partial loss is loss.** An instance that has lost one of the names does not confirm the lease any more. So
/// `lease::valid` promises all names at once.
///
/// **Fairness.** Waiters of one client for the same names are served first come, first served. A waiter that is kept
/// up by another of its names lets waiters for other names pass after 100 ms. Between clients there is no order: a
/// waiter looks when one of its names is released. If others take one name or another all the time, a lock with
/// many names may wait for long. Use a `mutex` on one name, or `deadline`s, where that matters.
///
/// A fence orders the holders of one name. So a multi_mutex with `lock_options::fencing` cannot be created.
///
/// **Redis Cluster.** Names in one slot take one round trip. Names in several slots take one for each slot, in
/// the order of the slots. Give names that belong together a common hash tag, for example "{shop:7}:stock" and
/// "{shop:7}:orders".
///
/// **Operations.** The comments of `client` and `mutex` say which rules hold for all operations. In addition,
/// each operation may fail with `wrong_kind` if a semaphore has one of the names. The details of an error name
/// the name that is taken.
///
/// Algorithm: Redlock, with all names in each command: https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT multi_mutex : public basic_lock {
public:
    /// The largest number of different names.
    static constexpr std::size_t max_resources = 64;

    /// Creates a lock on these names. Sends nothing. A name that is there more than once counts once. There are
    /// 1 to `max_resources` different names, and each has 1 to 65,536 bytes of any value.
    ///
    /// - Exception safety: Throws `config_error` for names or options that cannot work.
    multi_mutex(client& client, std::span<const std::string_view> resources,
                lock_options options = {});

    /// Creates a lock on these names: see the other constructor.
    ///
    /// - Exception safety: Throws `config_error` for names or options that cannot work.
    multi_mutex(client& client, std::initializer_list<std::string_view> resources,
                lock_options options = {})
        : multi_mutex(client, std::span(resources.begin(), resources.size()), options) {}

    /// Creates a lock on the names in any input range, such as a `std::vector<std::string>` or a view: see the other
    /// constructor.
    ///
    /// - Exception safety: Throws `config_error` for names or options that cannot work.
    template <detail::names Range>
    multi_mutex(client& client, Range&& resources, lock_options options = {})
        : multi_mutex(detail::lock_handle::owner_of(client), strings_in(resources), options) {}

    /// Returns the names, without the key prefix: sorted, and each of them once. Empty if the lock was moved from.
    [[nodiscard]] const std::vector<std::string>& resources() const noexcept;

private:
    template <typename Lock>
    friend class striped;

    using shared_names = std::shared_ptr<const std::vector<std::string>>;

    multi_mutex(const std::shared_ptr<runtime::client_context>& owner,
                std::vector<std::string> resources, const lock_options& options);
    multi_mutex(const std::shared_ptr<runtime::client_context>& owner, shared_names resources,
                const lock_options& options);

    template <typename Range>
    static std::vector<std::string> strings_in(Range& range) {
        std::vector<std::string> result;
        for (auto&& one : range) {
            const std::string_view text = std::forward<decltype(one)>(one);
            result.emplace_back(text);
        }
        return result;
    }

    shared_names resources_;
};

}  // namespace v1
}  // namespace colock

#endif
