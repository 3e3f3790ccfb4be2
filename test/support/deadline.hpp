// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_DEADLINE_HPP
#define COLOCK_TEST_SUPPORT_DEADLINE_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/assert/source_location.hpp>

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <string>
#include <thread>

// These functions wait until a condition is true. A test then needs no fixed sleep.

namespace colock::test {

/// Thrown if a condition does not become true in time. It fails the test. The text contains the location.
class deadline_passed : public std::runtime_error {
public:
    deadline_passed(std::chrono::steady_clock::duration timeout,
                    const boost::source_location& location)
        : std::runtime_error(
              std::string(location.file_name()) + ":" + std::to_string(location.line()) +
              ": did not happen within " +
              std::to_string(
                  std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()) +
              " ms") {}
};

/// Much longer than any step takes on a loaded machine. It only ends a test that hangs.
constexpr std::chrono::seconds default_timeout{30};
constexpr std::chrono::milliseconds poll_interval{1};

/// Blocks until `predicate()` is true.
template <std::predicate Predicate>
void wait_until(Predicate predicate, std::chrono::steady_clock::duration timeout = default_timeout,
                boost::source_location location = BOOST_CURRENT_LOCATION) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!predicate()) {
        if (std::chrono::steady_clock::now() >= deadline) {
            throw deadline_passed(timeout, location);
        }
        std::this_thread::sleep_for(poll_interval);
    }
}

/// Like `wait_until`, but suspends a coroutine, so that other work continues. `predicate` lives in this call.
/// It may be a lambda of the calling coroutine that captures by reference.
template <std::predicate Predicate>
boost::asio::awaitable<void> async_wait_until(
    Predicate predicate, std::chrono::steady_clock::duration timeout = default_timeout,
    boost::source_location location = BOOST_CURRENT_LOCATION) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    while (!predicate()) {
        if (std::chrono::steady_clock::now() >= deadline) {
            throw deadline_passed(timeout, location);
        }
        timer.expires_after(poll_interval);
        co_await timer.async_wait(boost::asio::use_awaitable);
    }
}

}  // namespace colock::test

#endif
