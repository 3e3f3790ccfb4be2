// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Stops a server on SIGINT or SIGTERM. Waiters give up, and holders finish their job.
// shutdown memory://a
// shutdown redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> run_job(colock::lease&) {
    std::cout << "a job begins" << std::endl;
    asio::steady_timer job{co_await asio::this_coro::executor, 1s};
    co_await job.async_wait();
    std::cout << "the job is done" << std::endl;
}

// A total cancellation ends the wait for a lock. The body ignores it: by default a coroutine accepts
// only a terminal cancellation. That is what the body gets when its lease is lost.
asio::awaitable<void> work(colock::client& locks) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    colock::mutex mutex{locks, "invoice:42"};
    try {
        for (;;)
            co_await colock::with_lock(mutex, run_job);
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted)
            std::cerr << failure.what() << '\n';
    }
}

asio::awaitable<void> serve(colock::client& locks) {
    const auto executor = co_await asio::this_coro::executor;
    asio::cancellation_signal stop;
    asio::signal_set signals{executor, SIGINT, SIGTERM};
    signals.async_wait([&](boost::system::error_code error, int /*signal*/) {
        if (error)
            return;
        signals.clear();  // a second signal ends the program
        stop.emit(asio::cancellation_type::total);
    });

    co_await asio::experimental::make_parallel_group(
        asio::co_spawn(executor, work(locks), asio::deferred),
        asio::co_spawn(executor, work(locks), asio::deferred))
        .async_wait(asio::experimental::wait_for_all(),
                    asio::bind_cancellation_slot(stop.slot(), asio::deferred));
    co_await locks.close();  // waits for the releases
    std::cout << "all locks are released\n";
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, serve(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
