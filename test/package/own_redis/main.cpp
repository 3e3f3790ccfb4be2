// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Uses Boost.Redis directly in addition to colock: a connection that is cancelled, and a lock.

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/connection.hpp>
#include <boost/version.hpp>

#include <exception>
#include <iostream>

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace {

asio::awaitable<void> use_both(colock::client& locks, redis::connection& connection) {
    const redis::config settings;
#if BOOST_VERSION >= 108900
    connection.async_run(settings, asio::detached);
#else
    connection.async_run(settings, {}, asio::detached);
#endif
    connection.cancel();
    redis::request ping;
    ping.get_config().cancel_if_not_connected = true;
    ping.push("PING");
    redis::response<std::string> pong;
    auto [error, size] =
        co_await connection.async_exec(ping, pong, asio::as_tuple(asio::use_awaitable));
    std::cout << "our own connection: " << error.message() << ", " << size << " bytes\n";

    colock::mutex mutex{locks, "own-redis"};
    colock::lease lease = co_await mutex.acquire();
    std::cout << "locked " << lease.resource() << '\n';
    co_await lease.release();
    co_await locks.close();
}

void rethrow(std::exception_ptr error) {
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace

int main() {
    asio::io_context context;
    colock::client locks{context.get_executor(), colock::config::from_uris({"memory://a"})};
    redis::connection connection{context.get_executor()};
    asio::co_spawn(context, use_both(locks, connection), rethrow);
    context.run();
}
