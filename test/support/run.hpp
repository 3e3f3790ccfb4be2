// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_RUN_HPP
#define COLOCK_TEST_SUPPORT_RUN_HPP

#include "support/deadline.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/assert/source_location.hpp>

#include <chrono>

namespace colock::test {

/// Runs a test that is a coroutine on an io_context of its own, until the context is out of work:
/// so a client, watchdog or connection that stays behind fails the test too. Rethrows what the test
/// throws, at once. Throws `deadline_passed` after `timeout`.
void run_test(boost::asio::awaitable<void> test,
              std::chrono::steady_clock::duration timeout = std::chrono::seconds(60),
              boost::source_location location = BOOST_CURRENT_LOCATION);

}  // namespace colock::test

#endif
