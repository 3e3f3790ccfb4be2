// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Uses each part of the interface once, so that the linker needs each function that a program can need.

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;

namespace {

using std::chrono::seconds;

template <typename Lock>
asio::awaitable<void> try_all(const Lock& lock) {
    colock::lease first = co_await lock.acquire();
    std::cout << first.resource() << first.token() << first.is_shared() << first.valid()
              << first.owns_lock() << first.loss().message() << lock.resource();
    co_await first.extend(seconds(1));
    std::cout << to_string(co_await first.release());
    colock::lease second = co_await lock.try_acquire();
    second = co_await lock.try_acquire_for(seconds(1));
    second = co_await lock.try_acquire_until(std::chrono::steady_clock::now());
    second.abandon();
}

asio::awaitable<void> use_locks(colock::client& locks) {
    colock::lock_options options;
    options.validate();
    const colock::mutex mutex(locks, "a", options);
    const colock::shared_mutex shared(locks, "b");
    const colock::semaphore permits(locks, "c", 3);
    const colock::multi_mutex several(locks, {"d", "e"});
    const colock::reentrant_mutex again(locks, "f");
    const colock::striped<colock::mutex> stripes(locks, "g", 4);
    const colock::lock_owner owner;
    co_await try_all(mutex);
    co_await try_all(shared);
    co_await try_all(permits);
    co_await try_all(several);
    colock::lease held = co_await permits.acquire(2);
    held = co_await again.acquire(owner);
    colock::lease entered = again.try_reenter(owner);
    held = co_await stripes.of("key").acquire();
    const colock::multi_mutex both = stripes.all_of({"x", "y"});
    held = co_await both.acquire();
    held = co_await shared.acquire();
    co_await shared.downgrade(held);
    colock::lease another = co_await shared.share(held);
    co_await another.wait_lost();
    held = co_await mutex.acquire(owner);
    std::cout << held.fence();
    const std::string text = co_await held.detach();
    held = co_await colock::adopt(locks, text);
}

asio::awaitable<void> use_the_rest(colock::client& locks) {
    auto body = [](colock::lease&) -> asio::awaitable<std::string> { co_return "done"; };
    const colock::mutex mutex(locks, "a");
    std::string done = co_await colock::with_lock(mutex, body);
    done = co_await colock::with_shared_lock(colock::shared_mutex(locks, "b"), body);
    done = co_await colock::lead(mutex, body);
    const colock::once_result result = co_await colock::once(locks, "h", body);
    const colock::versioned value(locks, "i");
    auto change = [](const colock::versioned_state& now) { return now.value.value_or("") + "x"; };
    const colock::versioned_state state = co_await value.update(change);
    const colock::write_outcome wrote = co_await value.compare_exchange(state.version, "y");
    co_await value.erase(wrote.current.version);
    std::cout << (co_await locks.leases()).size() << (co_await locks.waiters()).size()
              << locks.counters().held << to_string(locks.instances().front().state) << result.value
              << colock::prometheus_text(locks) << colock::prometheus_content_type
              << colock::error(colock::errc::contended, "details").message()
              << colock::condition_category().name();
    throw colock::config_error("field", "problem");
}

}  // namespace

int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client locks(context, colock::config::from_uris({"memory://a"}));
    if (argc > 1) {
        colock::client others(context, colock::config::from_json(argv[1]));
        colock::client third(std::move(others));
        third = std::move(locks);
        asio::co_spawn(context, use_locks(third), [](std::exception_ptr) {});
        asio::co_spawn(context, use_the_rest(third), [](std::exception_ptr) {});
        context.run();
    }
} catch (const colock::lease_lost& lost) {
    std::cerr << lost.what();
    return 1;
}
