// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& client) {
    colock::lock_options options;
    options.order = colock::queue_order::fifo;
    colock::mutex counter{client, "counter", options};

    colock::lease lease = co_await counter.acquire();  // waits until its turn comes
    std::cout << "our turn\n";
    co_await lease.release();

    // This fails while the lock is held, and while another client waits for it.
    if (const auto now = co_await counter.try_acquire())
        std::cout << "nobody waits\n";

    // A waiter that gives up leaves the queue immediately.
    if (const auto soon = co_await counter.try_acquire_for(std::chrono::seconds(1)))
        std::cout << "our turn again\n";

    co_await client.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// fifo redis://127.0.0.1:7001
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client client{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(client), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
