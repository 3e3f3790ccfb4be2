// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;

// Tokens and labels of other programs have any bytes, and this is printed to a terminal.
std::string printable(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

std::string seconds(std::chrono::milliseconds left) {
    return left == left.max() ? "without end" : std::to_string(left.count() / 1000) + " s left";
}

void print(const colock::instance_inspection& server) {
    std::cout << server.address << ": ";
    if (!server.failure.empty()) {
        std::cout << server.failure << '\n';
        return;
    }
    std::cout << (server.type.empty() ? to_string(server.content) : server.type) << '\n';
    for (const colock::lock_holder& one : server.holders)
        std::cout << "  " << printable(one.token) << ", " << seconds(one.remaining) << '\n';
    if (server.waiter_count != 0)
        std::cout << "  clients that wait: " << server.waiter_count << '\n';
    if (server.fence != 0)
        std::cout << "  fence: " << server.fence << '\n';
}

asio::awaitable<void> inspect(colock::client& client, std::string name) {
    const colock::inspection found = co_await client.inspect(name);
    for (const colock::instance_inspection& server : found.instances)
        print(server);
    for (const colock::quorum_holder& one : found.holders)
        std::cout << "held by " << printable(one.token) << " on " << one.instances << " of "
                  << found.instances.size() << '\n';
    if (found.holders.empty())
        std::cout << (found.answered < found.quorum ? "too few servers answer\n"
                                                    : "no holder has a quorum\n");
}

asio::awaitable<void> break_lock(colock::client& client, std::string name, std::string token) {
    const colock::break_result broken = co_await client.break_lock(name, token);
    std::cout << "removed on " << broken.removed << " servers, absent on " << broken.absent << '\n';
    if (!broken.is_ended)
        std::cout << "the holder may still have the lock: " << broken.failures << '\n';
}

asio::awaitable<void> work(colock::client& client, std::string name, std::string token) {
    if (token.empty())
        co_await inspect(client, name);
    else
        co_await break_lock(client, name, token);
    co_await client.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// inspect redis://127.0.0.1:7001 redis://127.0.0.1:7002 -- invoice:42 [--break TOKEN]
int main(int argc, char** argv) try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const auto end = std::ranges::find(words, "--");
    const std::vector<std::string> rest(end == words.end() ? end : end + 1, words.end());
    if (rest.size() != 1 && (rest.size() != 3 || rest[1] != "--break")) {
        std::cerr << "usage: inspect URI... -- NAME [--break TOKEN]\n";
        return 2;
    }
    asio::io_context context;
    colock::client client{context, colock::config::from_uris({words.begin(), end})};
    asio::co_spawn(context, work(client, rest[0], rest.size() == 3 ? rest[2] : ""), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
