// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "service.hpp"

#include "api_error.hpp"
#include "memory_like_store.hpp"
#include "redis_like_store.hpp"
#include "versioned_like_store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>
#include <utility>

namespace asio = boost::asio;

namespace like_counter {
namespace {

std::unique_ptr<like_store> make_store(asio::any_io_executor executor, const options& options) {
    if (options.is_versioned) {
        return std::make_unique<versioned_like_store>(std::move(executor), options.data,
                                                      options.command_timeout());
    }
    if (options.data == "memory") {
        return std::make_unique<memory_like_store>(std::move(executor));
    }
    return std::make_unique<redis_like_store>(std::move(executor), options.data,
                                              options.command_timeout());
}

std::optional<colock::client> make_locks(asio::any_io_executor executor, const options& options) {
    if (!options.locks) {
        return std::nullopt;
    }
    return std::optional<colock::client>(std::in_place, std::move(executor), *options.locks);
}

http_handler handler_of(api& api) {
    return {[&api](http_request request) { return api.answer(std::move(request)); },
            [](boost::beast::http::status status, const std::string& message) {
                return refuse_request(status, message);
            },
            [&api](const http_request& request) { return api.stream(request); }};
}

}  // namespace

service::service(asio::any_io_executor executor, const options& options)
    : store_(make_store(executor, options)),
      locks_(make_locks(executor, options)),
      likes_(*store_, locks_ ? &*locks_ : nullptr, options.lock, options.stripes, options.patience,
             options.dawdle, counters_),
      api_(likes_, *store_, locks_ ? &*locks_ : nullptr, options.allows_experiments, counters_),
      server_(executor, options.listen, options.http, handler_of(api_)),
      stop_patience_(options.stop_patience) {}

asio::awaitable<void> service::stop() {
    co_await server_.stop(stop_patience_);
    if (locks_) {
        const auto [failure] = co_await locks_->close(asio::as_tuple(asio::use_awaitable));
        if (failure) {
            std::cerr << "like_counter_service: " << failure.message() << '\n';
        }
    }
    store_->close();
}

}  // namespace like_counter
