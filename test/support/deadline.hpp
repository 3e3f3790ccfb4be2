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

// Waiting for something to become true, instead of sleeping for a while and hoping.

namespace colock::test {

/// Thrown when what a test waits for does not come; it fails the test. The text says where.
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

/// Much longer than anything takes on a loaded machine: it only ends a test that hangs.
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

/// The same in a coroutine: others run meanwhile. `predicate` may be a coroutine's lambda by
/// reference; it lives in this call.
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
