// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Uses a lock without coroutines: by callbacks, then by futures in a thread that waits.
// callbacks memory://a
// callbacks redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <iostream>
#include <thread>

namespace asio = boost::asio;

// The first parameter of a callback is a colock::error, which has details, or a plain error_code.
void pay(colock::client& locks) {
    const colock::mutex mutex{locks, "invoice:42"};
    mutex.acquire([&locks](colock::error error, colock::lease lease) {
        if (error) {
            std::cerr << error.message() << '\n';
            locks.close([](colock::error /*ignored*/) {});
            return;
        }
        std::cout << "callback: only we touch " << lease.resource() << " now\n";
        lease.release([&locks](boost::system::error_code code, colock::release_result result) {
            std::cout << "callback: " << (code ? "not released" : to_string(result)) << '\n';
            locks.close([](colock::error /*ignored*/) {});
        });
    });
}

// A future blocks the thread that waits. Another thread runs the context, so this needs thread_safe.
void pay_and_wait(colock::client& locks) {
    const colock::mutex mutex{locks, "invoice:42"};
    colock::lease lease = mutex.acquire(asio::use_future).get();  // throws a lock_error
    std::cout << "future: only we touch " << lease.resource() << " now\n";
    std::cout << "future: " << to_string(lease.release(asio::use_future).get()) << '\n';
    locks.close(asio::use_future).get();
}

int main(int argc, char** argv) try {
    colock::config config = colock::config::from_uris({argv + 1, argv + argc});
    {
        asio::io_context context;
        colock::client locks{context, config};
        pay(locks);
        context.run();
    }
    config.thread_safe = true;
    asio::io_context context;
    std::jthread thread;
    colock::client locks{context, config};
    thread = std::jthread{[&context] { context.run(); }};
    pay_and_wait(locks);
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
