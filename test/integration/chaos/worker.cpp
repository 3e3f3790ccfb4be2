// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/worker.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <exception>
#include <string>

namespace colock::chaos {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

asio::awaitable<void> sleep(milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

asio::awaitable<void> worker::run(const bool& stopping) {
    while (!stopping) {
        if (once_in(4)) {
            co_await under_with_lock();
        } else {
            co_await with_lease();
        }
        co_await sleep(up_to(50ms));
    }
}

/// Holds a lease. It is released explicitly, or by its destructor.
asio::awaitable<void> worker::with_lease() {
    const auto asked = steady_clock::now();
    const mutex lock = any_lock();
    auto [failure, held] =
        co_await lock.acquire(asio::cancel_after(patience(), asio::as_tuple(asio::use_awaitable)));
    if (failure) {
        count(failure);
        co_return;
    }
    co_await stay(held, asked);
    if (!once_in(4)) {
        // `no_quorum` is no failure here, because the client continues to release in the background.
        co_await held.release(asio::as_tuple(asio::use_awaitable));
    }
}

asio::awaitable<void> worker::under_with_lock() {
    const auto asked = steady_clock::now();
    auto body = [this, asked](lease& held) -> asio::awaitable<void> { co_await stay(held, asked); };
    auto [thrown] = co_await colock::with_lock(
        any_lock(), body, asio::cancel_after(patience(), asio::as_tuple(asio::use_awaitable)));
    try {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    } catch (const boost::system::system_error& failure) {
        count(failure.code());
    }
}

asio::awaitable<void> worker::stay(const lease& held, visit::time_point asked) {
    constexpr milliseconds step = 10ms;  // How often the worker checks its lease.
    visit inside(sections_, held, asked,
                 settings_.hold_past_validity ? trust::in_nothing : trust::in_lease);
    ++report_.sections;
    for (milliseconds left = length_of_stay(); left > 0ms && inside.look(); left -= step) {
        co_await sleep(std::min(left, step));
    }
}

mutex worker::any_lock() {
    lock_options options;
    options.ttl = milliseconds(settings_.ttl_ms);
    if (!settings_.renews) {
        options.renew = 0ms;
    }
    const auto index = std::uniform_int_distribution<std::size_t>(1, settings_.names)(random_);
    return {locks_, "chaos:" + std::to_string(index), options};
}

/// Returns a length that is mostly short. Some stays are so long that the lease must be renewed.
milliseconds worker::length_of_stay() {
    if (once_in(100)) {
        return 2 * milliseconds(settings_.ttl_ms);
    }
    return once_in(6) ? up_to(200ms) : up_to(10ms);
}

/// Returns a timeout for an acquire. It is short in one of five cases, and otherwise practically unlimited.
milliseconds worker::patience() {
    return once_in(5) ? up_to(60ms) : 10min;
}

milliseconds worker::up_to(milliseconds longest) {
    return milliseconds(
        std::uniform_int_distribution<milliseconds::rep>(0, longest.count())(random_));
}

bool worker::once_in(unsigned times) {
    return std::uniform_int_distribution<unsigned>(1, times)(random_) == 1;
}

/// Counts the expected failures of an attempt. Any other error ends the client.
void worker::count(const boost::system::error_code& failure) {
    if (failure == asio::error::operation_aborted) {
        ++report_.cancelled;
    } else if (failure == condition::unavailable) {
        ++report_.unavailable;
    } else if (failure != condition::lost) {
        throw boost::system::system_error(failure, "a worker");
    }
}

}  // namespace colock::chaos
