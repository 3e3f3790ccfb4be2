// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A lock class of your own, with which with_lock works as with a mutex.
// own_lock memory://a
// own_lock redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <utility>

namespace asio = boost::asio;
using namespace std::chrono;

// A mutex that reports how long each caller has waited for it.
class timed_mutex {
public:
    explicit timed_mutex(colock::mutex mutex) : mutex_{std::move(mutex)} {}

    asio::awaitable<colock::lease> acquire(asio::use_awaitable_t<> token) const {
        const auto start = steady_clock::now();
        colock::lease lease = co_await mutex_.acquire(token);
        const auto waited = duration_cast<milliseconds>(steady_clock::now() - start);
        std::cout << "waited " << waited.count() << " ms for " << lease.resource() << '\n';
        co_return lease;
    }

    auto get_executor() const { return mutex_.get_executor(); }
    auto body_executor() const { return mutex_.body_executor(); }

private:
    colock::mutex mutex_;
};

static_assert(colock::acquirable<timed_mutex>);

asio::awaitable<void> pay(colock::lease& lease) {
    std::cout << "only we touch " << lease.resource() << " now\n";
    co_return;
}

asio::awaitable<void> work(colock::client& locks) {
    timed_mutex mutex{colock::mutex{locks, "invoice:42"}};
    co_await colock::with_lock(mutex, pay);
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
