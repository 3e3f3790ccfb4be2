// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The baseline: Asio, and a coroutine that is spawned.
#include <boost/asio.hpp>

namespace asio = boost::asio;

asio::awaitable<void> work() {
    asio::steady_timer timer{co_await asio::this_coro::executor, std::chrono::milliseconds{1}};
    co_await timer.async_wait(asio::use_awaitable);
}

int main() {
    asio::io_context context;
    asio::co_spawn(context, work(), asio::detached);
    context.run();
}
