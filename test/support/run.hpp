// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_RUN_HPP
#define COLOCK_TEST_SUPPORT_RUN_HPP

#include "support/deadline.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/assert/source_location.hpp>

#include <chrono>

namespace colock::test {

/// Runs a coroutine test on its own `io_context` until the context is out of work. A client, watchdog or
/// connection that stays behind therefore fails the test too. Immediately rethrows any exception of the test.
/// Throws `deadline_passed` after `timeout`.
void run_test(boost::asio::awaitable<void> test,
              std::chrono::steady_clock::duration timeout = std::chrono::seconds(60),
              boost::source_location location = BOOST_CURRENT_LOCATION);

}  // namespace colock::test

#endif
