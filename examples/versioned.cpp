// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& client) {
    // A number that many programs count up.
    colock::versioned likes{client, "likes:first-post"};
    const auto add_one = [](const colock::versioned_state& now) -> std::optional<std::string> {
        return std::to_string(now.value ? std::stoi(*now.value) + 1 : 1);
    };
    const colock::versioned_state after = co_await likes.update(add_one);
    std::cout << "likes: " << after.value.value_or("none") << '\n';

    // The same in two steps. Somebody else writes in between.
    colock::versioned page{client, "page:home"};
    const colock::versioned_state draft = co_await page.read();
    co_await page.compare_exchange(draft.version, "written by Bob");
    const colock::write_outcome mine =
        co_await page.compare_exchange(draft.version, "written by Ann");
    if (!mine.applied)
        std::cout << "Ann is too late, the page is " << mine.current.value.value_or("gone") << '\n';

    co_await page.erase(mine.current.version);
    std::cout << "the page is " << (co_await page.read()).value.value_or("gone") << '\n';
    co_await client.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

// versioned redis://127.0.0.1:7001
int main(int argc, char** argv) try {
    asio::io_context context;
    colock::client client{context, colock::config::from_uris({argv + 1, argv + argc})};
    asio::co_spawn(context, work(client), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
