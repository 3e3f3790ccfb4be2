// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The program of the consumers in this folder. It acquires and releases a lock, without any server.

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> take_and_release(colock::client& locks) {
    colock::mutex mutex{locks, "package-test"};
    colock::lease lease = co_await mutex.acquire();
    std::cout << "locked " << lease.resource() << '\n';
    co_await lease.release();
    co_await locks.close();
}

void rethrow(std::exception_ptr error) {
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace

int main() {
    asio::io_context context;
    colock::client locks{
        context.get_executor(),
        colock::config::from_uris({"memory://a", "memory://b", "memory://c"}),
    };
    asio::co_spawn(context, take_and_release(locks), rethrow);
    context.run();
}
