// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Metrics for Prometheus. Prints what the program would answer to `GET /metrics`, before and after a second client
// is created.
// metrics memory://a

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
namespace http = boost::beast::http;

// Answers `GET /metrics`. Call it on the executor of the client.
http::response<http::string_body> metrics(const colock::client& locks) {
    http::response<http::string_body> response{http::status::ok, 11};
    response.set(http::field::content_type, colock::prometheus_content_type);
    response.body() = colock::prometheus_text(locks);
    response.prepare_payload();
    return response;
}

// With several clients, each one needs a name.
std::string text_of(const colock::client& orders, const colock::client& stock) {
    const std::vector<colock::client_metrics> clients{colock::metrics_of(orders, "orders"),
                                                      colock::metrics_of(stock, "stock")};
    return colock::prometheus_text(clients);
}

asio::awaitable<void> work(colock::client& locks, const colock::config& config) {
    colock::mutex mutex{locks, "invoice:42"};
    colock::lease lease = co_await mutex.acquire();
    std::cout << metrics(locks).body();
    co_await lease.release();

    colock::client stock{locks.get_executor(), config};
    std::cout << text_of(locks, stock);
    co_await stock.close();
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    asio::io_context context;
    const colock::config config = colock::config::from_uris({argv + 1, argv + argc});
    colock::client locks{context, config};
    asio::co_spawn(context, work(locks, config), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
