// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A server's loop, which takes a lock for each job. It retries a job while too few servers answer. It drops a job whose
// lock is not free for too long. It ends when the client is closed.
// server_loop memory://a
// server_loop redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> sleep_for(std::chrono::milliseconds time) {
    asio::steady_timer timer{co_await asio::this_coro::executor, time};
    co_await timer.async_wait();
}

// Returns the code of a failure, so that the caller may co_await: a catch block may not.
asio::awaitable<boost::system::error_code> run_job(colock::client& locks, int job) {
    // Eight attempts take about half a second.
    colock::mutex mutex{locks,
                        "invoice:" + std::to_string(job),
                        {.retry = {.attempts = 8}, .unavailable_timeout = 1s}};
    auto body = [job](colock::lease&) { return sleep_for(job == 3 ? 1min : 10ms); };
    try {
        co_await colock::with_lock(mutex, body);
    } catch (const colock::lock_error& failure) {
        co_return failure.code();
    }
    co_return boost::system::error_code{};
}

asio::awaitable<void> work(colock::client& locks) {
    std::chrono::milliseconds backoff = 100ms;
    for (int job = 1;;) {
        const boost::system::error_code code = co_await run_job(locks, job);
        std::cout << "job " << job << ": " << (code ? code.message() : "done") << std::endl;
        if (code == colock::errc::client_closed || code == colock::errc::forked)
            co_return;
        if (!code || code == colock::condition::contended) {
            ++job;
            backoff = 100ms;
        } else if (code != colock::condition::unavailable && code != colock::condition::lost) {
            throw boost::system::system_error{code};  // a mistake in the program
        } else {
            co_await sleep_for(backoff);
            backoff = backoff < 5s ? 2 * backoff : backoff;
        }
    }
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> serve(colock::client& locks) {
    colock::mutex second{locks, "invoice:2"};
    auto [error, other] = co_await second.acquire(asio::as_tuple);  // stands for another program
    asio::co_spawn(co_await asio::this_coro::executor, work(locks), rethrow);
    co_await sleep_for(2s);  // a real server waits for a signal
    other = {};
    co_await locks.close();
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
