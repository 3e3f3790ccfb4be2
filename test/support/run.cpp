// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/run.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <utility>

namespace colock::test {

void run_test(boost::asio::awaitable<void> test, std::chrono::steady_clock::duration timeout,
              boost::source_location location) {
    boost::asio::io_context context{1};
    std::exception_ptr failure;
    boost::asio::co_spawn(context, std::move(test), [&](std::exception_ptr thrown) {
        failure = thrown;
        if (failure) {
            context.stop();
        }
    });
    context.run_for(timeout);
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (!context.stopped()) {
        throw deadline_passed(timeout, location);
    }
}

}  // namespace colock::test
