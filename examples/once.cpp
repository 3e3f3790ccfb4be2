// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace asio = boost::asio;

// A client of our service sends its key with the request, and sends both again if it gets no answer.
asio::awaitable<void> pay(colock::client& client, std::string key, std::string request) {
    colock::once_options options;
    options.fingerprint = request;  // a hash of it, if it is long
    auto charge = [request]() -> asio::awaitable<std::string> {
        std::cout << "charging the card for " << request << '\n';
        co_return "receipt 4711";
    };
    const colock::once_result result =
        co_await colock::once(client, "payment:" + key, charge, options);
    std::cout << result.value << (result.ran ? "" : ", from an earlier call") << '\n';
}

asio::awaitable<void> work(colock::client& client) {
    co_await pay(client, "ann-1", "10 euros");
    co_await pay(client, "ann-1", "10 euros");  // the answer to the first one was lost

    try {
        co_await pay(client, "ann-1", "99 euros");
    } catch (const colock::lock_error& error) {
        if (error.code() != colock::errc::fingerprint_mismatch)
            throw;
        std::cout << "refused: " << error.code().message() << '\n';
    }
    co_await client.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// once redis://127.0.0.1:7001
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client client{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(client), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
