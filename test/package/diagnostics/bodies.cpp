// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Bodies that every compiler destroys once. With TEMPORARY there is one that GCC 12 destroys twice.

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <string>

namespace asio = boost::asio;

asio::awaitable<int> body_of_all(colock::lease& held);

asio::awaitable<void> work(colock::mutex& mutex, colock::client& locks, std::string text) {
    co_await colock::with_lock(mutex, body_of_all);
    co_await colock::with_lock(mutex, [&](colock::lease&) -> asio::awaitable<void> {
        text.clear();
        co_return;
    });
    int number = 0;
    co_await colock::with_lock(
        mutex, [number](colock::lease&) -> asio::awaitable<int> { co_return number; });
    auto copies = [text](colock::lease&) -> asio::awaitable<std::string> { co_return text; };
    co_await colock::with_lock(mutex, copies);
    co_await colock::lead(mutex, copies);
    co_await colock::once(locks, "key", copies);
    const colock::versioned value(locks, "value");
    auto append = [text](const colock::versioned_state& now) {
        return now.value.value_or("") + text;
    };
    co_await value.update(append);
#ifdef TEMPORARY
    co_await colock::with_lock(
        mutex, [text](colock::lease&) -> asio::awaitable<std::string> { co_return text; });
    co_await value.update([text](const colock::versioned_state&) { return text; });
#endif
}
