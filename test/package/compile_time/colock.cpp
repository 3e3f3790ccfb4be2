// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The measured program: colock, and a coroutine that acquires a lock and is spawned.
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& locks) {
    colock::mutex mutex{locks, "name"};
    colock::lease lease = co_await mutex.acquire();
    co_await lease.release();
}

int main() {
    asio::io_context context;
    colock::client locks{context.get_executor(), colock::config::from_uris({"memory://a"})};
    asio::co_spawn(context, work(locks), asio::detached);
    context.run();
}
