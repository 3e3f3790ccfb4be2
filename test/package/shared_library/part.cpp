// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "part.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> take_and_release(colock::client& locks, std::string& locked) {
    colock::mutex mutex{locks, "shared-library"};
    colock::lease lease = co_await mutex.acquire();
    locked = lease.resource();
    co_await lease.release();
    co_await locks.close();
}

}  // namespace

std::string lock_once() {
    asio::io_context context;
    colock::client locks{context.get_executor(), colock::config::from_uris({"memory://a"})};
    std::string locked;
    asio::co_spawn(context, take_and_release(locks, locked), asio::detached);
    context.run();
    return locked;
}
