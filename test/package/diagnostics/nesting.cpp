// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Each adapter of a completion token inside each other, with one operation of each signature. It is only compiled.

#include <colock/colock.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/consign.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/system_executor.hpp>

#include <chrono>
#include <memory>
#include <tuple>
#include <utility>

namespace asio = boost::asio;

using std::chrono::seconds;
using std::chrono::steady_clock;

boost::system::error_code stored;
asio::cancellation_signal cancellation;

const auto appends = [](auto token) { return asio::append(std::move(token), 1); };
const auto binds_allocator = [](auto token) {
    return asio::bind_allocator(std::allocator<int>(), std::move(token));
};
const auto binds_executor = [](auto token) {
    return asio::bind_executor(asio::system_executor(), std::move(token));
};
const auto binds_immediate = [](auto token) {
    return asio::bind_immediate_executor(asio::system_executor(), std::move(token));
};
const auto binds_slot = [](auto token) {
    return asio::bind_cancellation_slot(cancellation.slot(), std::move(token));
};
const auto cancels_after = [](auto token) {
    return asio::cancel_after(seconds(1), std::move(token));
};
const auto cancels_at = [](auto token) {
    return asio::cancel_at(steady_clock::now(), std::move(token));
};
const auto consigns = [](auto token) { return asio::consign(std::move(token), 1); };
const auto prepends = [](auto token) { return asio::prepend(std::move(token), 1); };
const auto redirects = [](auto token) { return asio::redirect_error(std::move(token), stored); };
const auto ties = [](auto token) { return asio::as_tuple(std::move(token)); };

const std::tuple adapters(appends, binds_allocator, binds_executor, binds_immediate, binds_slot,
                          cancels_after, cancels_at, consigns, prepends, redirects, ties);

const auto handler = [](auto&&...) {};

template <typename Start>
void with_each_pair(const Start& start) {
    std::apply(
        [&](const auto&... outer) {
            const auto inside = [&](const auto& adapter) {
                std::apply([&](const auto&... inner) { (start(adapter(inner(handler))), ...); },
                           adapters);
            };
            (inside(outer), ...);
        },
        adapters);
}

asio::awaitable<int> body(colock::lease& held);

void start_all(colock::mutex& mutex, colock::lease& lease) {
    with_each_pair([&](auto token) { mutex.acquire(std::move(token)); });
    with_each_pair([&](auto token) { lease.extend(seconds(1), std::move(token)); });
    with_each_pair([&](auto token) { colock::with_lock(mutex, body, std::move(token)); });
}
