// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Handles errors as values, by the three conditions that a program treats differently.
// errors memory://a
// errors redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void report(const colock::error& error) {
    if (error == colock::condition::contended) {
        std::cout << "somebody else holds the lock, so do this later\n";
    } else if (error == colock::condition::unavailable) {
        std::cout << "too few servers grant the lock, so refuse the request\n";
    } else if (error == colock::condition::lost) {
        std::cout << "the lease ended too early, so roll back\n";
    } else if (error) {  // for example operation_aborted
        std::cout << "failed: " << error.code().message() << '\n';
    }
    std::cout << "  " << error.details() << '\n';  // the lock's name, and what each server voted
}

asio::awaitable<void> work(colock::client& locks) {
    colock::mutex mutex{locks, "invoice:42", {.renew = 0ms, .unavailable_timeout = 500ms}};
    auto [error, lease] = co_await mutex.acquire(asio::as_tuple);
    if (error) {
        report(error);
    } else {
        // Gives up after three attempts. By default, acquire waits for as long as it takes.
        colock::mutex impatient{locks, "invoice:42", {.retry = {.attempts = 3}}};
        auto [contended, nothing] = co_await impatient.acquire(asio::as_tuple);
        report(contended);

        // Nobody renews this lease (renew = 0), so it ends with its ttl.
        co_await lease.extend(200ms);
        co_await lease.wait_lost();
        report(lease.loss());
    }
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
