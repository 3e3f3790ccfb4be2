// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Which completion tokens the operations accept. An argument that is none, such as a duration, is refused at the call.

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;

using namespace colock;
using std::chrono::seconds;

/// The operations that complete with a lease or without one.
template <typename Lock, typename Token>
concept can_acquire = requires(const Lock& lock, Token token) {
    lock.acquire(std::move(token));
};
template <typename Lock, typename Token>
concept can_try = requires(const Lock& lock, Token token) {
    lock.try_acquire(std::move(token));
    lock.try_acquire_for(seconds(1), std::move(token));
    lock.try_acquire_until(typename Lock::time_point(), std::move(token));
};
template <typename Lock, typename Token>
concept can_try_as_owner = requires(const Lock& lock, const lock_owner& owner, Token token) {
    lock.try_acquire(owner, std::move(token));
    lock.try_acquire_for(owner, seconds(1), std::move(token));
    lock.try_acquire_until(owner, typename Lock::time_point(), std::move(token));
};
template <typename Lock, typename Token>
concept can_acquire_shared = requires(const Lock& lock, lease& held, Token token) {
    lock.acquire_shared(std::move(token));
    lock.share(held, std::move(token));
};

// One operation each, because a concept of several is false if one is refused.
template <typename Token>
concept can_extend = requires(lease& held, Token token) {
    held.extend(seconds(1), std::move(token));
};
template <typename Token>
concept can_release = requires(lease& held, Token token) {
    held.release(std::move(token));
};
template <typename Token>
concept can_detach = requires(lease& held, Token token) {
    held.detach(std::move(token));
};
template <typename Token>
concept can_wait_lost = requires(lease& held, Token token) {
    held.wait_lost(std::move(token));
};
template <typename Token>
concept can_downgrade = requires(const shared_mutex& lock, lease& held, Token token) {
    lock.downgrade(held, std::move(token));
};
template <typename Token>
concept can_close = requires(client& locks, Token token) {
    locks.close(std::move(token));
};
template <typename Token>
concept can_read = requires(const versioned& value, Token token) {
    value.read(std::move(token));
};
template <typename Token>
concept can_exchange = requires(const versioned& value, Token token) {
    value.compare_exchange(0, "", std::move(token));
};
template <typename Token>
concept can_erase = requires(const versioned& value, Token token) {
    value.erase(0, std::move(token));
};

constexpr std::string (*changed)(const versioned_state& now) = nullptr;
constexpr asio::awaitable<int> (*body)(lease& held) = nullptr;
constexpr asio::awaitable<std::string> (*body_of_once)() = nullptr;

template <typename Token>
concept can_update = requires(const versioned& value, Token token) {
    value.update(changed, std::move(token));
};
template <typename Token>
concept can_run = requires(const mutex& lock, Token token) {
    with_lock(lock, body, std::move(token));
};
template <typename Token>
concept can_run_as_reader = requires(const shared_mutex& lock, Token token) {
    with_shared_lock(lock, body, std::move(token));
};
template <typename Token>
concept can_lead = requires(const mutex& lock, Token token) {
    lead(lock, body, std::move(token));
};
template <typename Token>
concept can_run_once = requires(client& locks, Token token) {
    once(locks, "", body_of_once, once_options(), std::move(token));
};
template <typename Token>
concept can_adopt = requires(client& locks, Token token) {
    adopt(locks, "", lock_options(), std::move(token));
};

/// Whether each operation accepts the token.
template <typename Token>
constexpr bool accepted[] = {
    can_acquire<mutex, Token>,
    can_acquire<shared_mutex, Token>,
    can_acquire<semaphore, Token>,
    can_acquire<multi_mutex, Token>,
    can_acquire<owned<mutex>, Token>,
    can_acquire<owned<reentrant_mutex>, Token>,
    can_try<mutex, Token>,
    can_try<shared_mutex, Token>,
    can_try<semaphore, Token>,
    can_try<multi_mutex, Token>,
    can_try_as_owner<reentrant_mutex, Token>,
    can_acquire_shared<shared_mutex, Token>,
    can_extend<Token>,
    can_release<Token>,
    can_detach<Token>,
    can_wait_lost<Token>,
    can_downgrade<Token>,
    can_close<Token>,
    can_read<Token>,
    can_exchange<Token>,
    can_erase<Token>,
    can_update<Token>,
    can_run<Token>,
    can_run_as_reader<Token>,
    can_lead<Token>,
    can_run_once<Token>,
    can_adopt<Token>,
};

template <typename Token>
constexpr bool all_accept() {
    for (const bool accepts : accepted<Token>) {
        if (!accepts) {
            return false;
        }
    }
    return true;
}
template <typename Token>
constexpr bool none_accepts() {
    for (const bool accepts : accepted<Token>) {
        if (accepts) {
            return false;
        }
    }
    return true;
}

static_assert(all_accept<asio::deferred_t>());
static_assert(all_accept<asio::detached_t>());
static_assert(all_accept<asio::use_awaitable_t<>>());
static_assert(all_accept<asio::use_future_t<>>());
static_assert(all_accept<asio::as_tuple_t<asio::deferred_t>>());
static_assert(all_accept<asio::redirect_error_t<asio::use_awaitable_t<>>>());

static_assert(none_accepts<seconds>());
static_assert(none_accepts<const char*>());
static_assert(none_accepts<std::unique_ptr<int>>());
static_assert(none_accepts<void (*)(int)>());

// A handler has the parameters of the operation.
using for_lease = void (*)(error, lease);
using for_error = void (*)(error);
using for_code = void (*)(boost::system::error_code);
using for_body = void (*)(std::exception_ptr, int);
static_assert(can_acquire<mutex, for_lease> && can_try<mutex, for_lease>);
static_assert(!can_extend<for_lease>);
static_assert(can_extend<for_error> && can_extend<for_code> && !can_release<for_error>);
static_assert(can_run<for_body> && can_lead<for_body> && !can_run_once<for_body>);

// A lease that changes is not const.
template <typename Lease>
concept can_be_changed = requires(const shared_mutex& lock, Lease& held) {
    lock.downgrade(held);
    lock.share(held);
};
static_assert(can_be_changed<lease> && !can_be_changed<const lease>);

}  // namespace
