// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Four threads run one io_context. Eight coroutines share one client, each on a strand of its own.
// threads memory://a
// threads redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>

#include <exception>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

namespace asio = boost::asio;

int visits = 0;  // only the holder of the lock touches it

asio::awaitable<void> count(colock::mutex mutex) {
    for (int i = 0; i < 100; ++i) {
        colock::lease lease = co_await mutex.acquire();
        ++visits;
        co_await lease.release();
    }
}

int main(int argc, char** argv) try {
    colock::config config = colock::config::from_uris({argv + 1, argv + argc});
    config.thread_safe = true;

    asio::io_context context;
    std::vector<std::jthread> threads;
    colock::client locks{context, config};
    colock::mutex mutex{locks, "visits"};

    std::vector<std::future<void>> tasks;
    for (int i = 0; i < 8; ++i)
        tasks.push_back(asio::co_spawn(asio::make_strand(context), count(mutex), asio::use_future));
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&context] { context.run(); });

    for (std::future<void>& task : tasks)
        task.get();
    locks.close(asio::use_future).get();  // the context has no more work, so the threads end
    std::cout << visits << " visits\n";
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
