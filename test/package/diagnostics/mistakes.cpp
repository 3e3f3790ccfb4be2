// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The mistakes of new users, one for each number. check.sh compiles each of them with -DMISTAKE=NUMBER.

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> work(colock::client& c, colock::mutex& m, colock::reentrant_mutex& r,
                           colock::lease& held, asio::io_context& context, std::string text) {
#if MISTAKE == 0  // none: this compiles
    if (auto lease = co_await m.try_acquire_for(200ms)) {
        co_await lease.release();
    }
#elif MISTAKE == 1
    auto lease = co_await m.try_acquire_for(200);
#elif MISTAKE == 2
    colock::mutex other{c, "a", {.ttl = 10}};
#elif MISTAKE == 3
    colock::mutex other{c, "a", {.ttl = 500us}};
#elif MISTAKE == 4
    auto lease = co_await m.try_acquire_until(std::chrono::system_clock::now() + 1s);
#elif MISTAKE == 5
    auto body = [](colock::lease) -> asio::awaitable<void> { co_return; };
    co_await colock::with_lock(m, body);
#elif MISTAKE == 6
    auto body = [](colock::lease&) {};
    co_await colock::with_lock(m, body);
#elif MISTAKE == 7
    auto body = []() -> asio::awaitable<void> { co_return; };
    co_await colock::with_lock(m, body);
#elif MISTAKE == 8
    std::lock_guard guard(m);
#elif MISTAKE == 9
    colock::client other(context, "redis://127.0.0.1:7001");
#elif MISTAKE == 10
    colock::mutex other(c, "a", 10s);
#elif MISTAKE == 11
    colock::semaphore permits(c, "a");
#elif MISTAKE == 12
    auto body = [](colock::lease&) -> asio::awaitable<void> { co_return; };
    co_await colock::with_lock(r, body);
#elif MISTAKE == 13
    if (co_await m.try_acquire()) {
        text.clear();
    }
#elif MISTAKE == 14
    auto copy = held;
#elif MISTAKE == 15
    struct observer : colock::observer {
        void on_lost(const colock::lost_event&) override {}
    };
#elif MISTAKE == 16
    std::vector<std::string> names{"a", "b"};
    colock::multi_mutex several(c, names);
#elif MISTAKE == 17
    auto body = []() -> asio::awaitable<int> { co_return 1; };
    co_await colock::once(c, "a", body);
#elif MISTAKE == 18
    const colock::versioned value(c, "a");
    auto function = [](const colock::versioned_state&) { return 1; };
    co_await value.update(function);
#elif MISTAKE == 19
    auto [problem, lease] = co_await colock::adopt(c, text, asio::as_tuple);
#elif MISTAKE == 20
    auto lease = co_await m.acquire(1s);
#elif MISTAKE == 21
    auto body = [](colock::lease&) -> asio::awaitable<void> { co_return; };
    co_await colock::with_shared_lock(m, body);
#elif MISTAKE == 22
    colock::mutex other{c, "a", {.fencing = true, .retry = {.attempts = 1}}};
#elif MISTAKE == 23
    auto lease = co_await colock::multi_mutex(c, {"a", "b"}).acquire();
#elif MISTAKE == 24
    co_await colock::with_lock(
        m, [text](colock::lease&) -> asio::awaitable<std::string> { co_return text; });
#elif MISTAKE == 25
    m.lock();
#endif
    co_return;
}
