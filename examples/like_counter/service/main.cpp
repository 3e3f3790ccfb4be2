// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The like counter. Try `like_counter_service --help`, or demo.sh.

#include "api.hpp"
#include "api_error.hpp"
#include "http_server.hpp"
#include "like_store.hpp"
#include "likes.hpp"
#include "options.hpp"

#include <colock/client.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace asio = boost::asio;

namespace like_counter {
namespace {

std::unique_ptr<like_store> make_store(asio::any_io_executor executor, const options& options) {
    if (options.is_versioned) {
        return make_versioned_store(std::move(executor), options.data, options.command_timeout());
    }
    if (options.data == "memory") {
        return make_memory_store(std::move(executor));
    }
    return make_redis_store(std::move(executor), options.data, options.command_timeout());
}

http_handler handler_of(api& api) {
    return {[&api](http_request request) { return api.answer(std::move(request)); },
            [](boost::beast::http::status status, const std::string& message) {
                return refuse_request(status, message);
            },
            [&api](const http_request& request) { return api.stream(request); }};
}

void rethrow(const std::exception_ptr& failure) {
    if (failure) {
        std::rethrow_exception(failure);
    }
}

void serve(const options& given) {
    // One thread: the colock client and the data server's connection belong to one executor. More
    // processes use more cores. The locks exclude them from each other.
    asio::io_context context(1);
    const auto executor = context.get_executor();
    asio::signal_set signals(context, SIGINT, SIGTERM);
    counters counted;
    const std::unique_ptr<like_store> store = make_store(executor, given);
    std::optional<colock::client> locks;
    if (given.locks) {
        locks.emplace(executor, *given.locks);
    }
    colock::client* const client = locks ? &*locks : nullptr;
    likes all_likes(*store, client, given.lock, given.stripes, given.patience, given.dawdle,
                    counted);
    api requests(all_likes, *store, client, given.allows_experiments, given.host_names, counted);
    http_server server(executor, given.listen, given.http, handler_of(requests));

    // Open requests may end, and all locks are released. Then nothing runs any more.
    auto stop_on_signal = [&]() -> asio::awaitable<void> {
        co_await signals.async_wait(asio::use_awaitable);
        signals.clear();  // A second signal ends the process immediately.
        std::cout << "stopping" << std::endl;
        co_await server.stop(given.stop_patience);
        if (locks) {
            const auto [failure] = co_await locks->close(asio::as_tuple(asio::use_awaitable));
            if (failure) {
                std::cerr << "like_counter_service: " << failure.message() << '\n';
            }
        }
        store->close();
    };
    asio::co_spawn(context, server.run(), rethrow);
    asio::co_spawn(context, stop_on_signal, rethrow);
    std::cout << "listening on http://" << server.local_endpoint() << std::endl;
    context.run();
    std::cout << "stopped" << std::endl;
}

}  // namespace
}  // namespace like_counter

int main(int argc, char** argv) {
    const like_counter::options options = like_counter::read_options(argc, argv);
    try {
        like_counter::serve(options);
    } catch (const std::exception& error) {
        std::cerr << "like_counter_service: " << error.what() << '\n';
        return 1;
    }
}
