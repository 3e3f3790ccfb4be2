// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_ADOPT_HPP
#define COLOCK_ADOPT_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/deferred.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

namespace detail {

/// Returns the lease of a text of `lease::detach`.
COLOCK_EXPORT [[nodiscard]] detached_lease lease_in(std::string_view text);

}  // namespace detail

/// Goes on with a lease that another process, or another client, has detached: see `lease::detach`. It extends the
/// lease on a quorum of instances first. From then on the watchdog of this client renews it, and it is a lease like
/// any other. Its name, token and fence stay the same.
///
/// @code{.cpp}
/// colock::lease lease = co_await colock::adopt(locks, text);
/// std::cout << "the second half, under the same lock: " << lease.resource() << '\n';
/// co_await lease.release();
/// @endcode
///
/// It waits for no other operation of this client on the name, because the lease comes before them. It first waits
/// for the connections of a new client, as an acquire does.
///
/// **Adopt a text once.** Two clients that adopt the same text both have the lease. Nothing can detect that, because
/// both have the same token.
///
/// The client must have the same instances and the same key prefix as the client that detached the lease. The
/// lease has these `options` from now on. Their `fencing` has no effect, because the text says whether the lease
/// has a fence. The entries of a `reentrant_mutex` end with `detach`, so an adopted lease has no owner.
///
/// - Handler signature: `void(colock::error, colock::lease)`.
/// - Errors:
///   - `invalid_argument` if `text` is not a result of `lease::detach`, or if this client has its lease already. The
///     error is the same if the client cannot have a lease with this key prefix or with these options.
///   - `lease_lost` if too few instances still have the token. Other holders may have the lock. What is left of
///     the keys expires.
///   - `no_quorum` if too few instances answered within `lock_options::unavailable_timeout`. The keys stay as
///     they are, so you may adopt the lease again while its ttl lasts.
///   - `client_closed` if the client was closed.
/// - Cancellation: The keys stay as they are, and may have been extended.
/// - Thread-safety: It counts as use of the client: see `config::thread_safe`.
template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
auto adopt(client& client, std::string_view text, const lock_options& options = {},
           CompletionToken&& token = {}) {
    auto detached = detail::lease_in(text);
    const auto lock = detail::lock_handle::of_lease(client, detached, options);
    return lock.adopt(std::move(detached.lease), std::forward<CompletionToken>(token));
}
/// @cond
template <typename options_come_before_the_token>
    requires(!std::convertible_to<options_come_before_the_token, lock_options>)
void adopt(client&, std::string_view, const options_come_before_the_token&) = delete;
/// @endcond

}  // namespace v1
}  // namespace colock

#endif
