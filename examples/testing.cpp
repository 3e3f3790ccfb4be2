// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests code that takes locks, without a server. A memory:// instance lives in this process, and clients that use the
// same name share it. So a second client can play the other program.
// testing

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;

// The code under test: pays an invoice, unless another program is paying it.
asio::awaitable<bool> pay(colock::client& locks, std::string invoice) {
    colock::mutex mutex{locks, "invoice:" + invoice};
    colock::lease lease = co_await mutex.try_acquire();
    if (!lease)
        co_return false;
    // ... here it pays
    co_await lease.release();
    co_return true;
}

void expect(bool success, const char* what) {
    if (!success)
        throw std::runtime_error(what);
}

asio::awaitable<void> test_pay(colock::client& ours, colock::client& theirs) {
    expect(co_await pay(ours, "42"), "pays an invoice");

    colock::mutex same{theirs, "invoice:42"};
    colock::lease lease = co_await same.acquire();
    expect(!co_await pay(ours, "42"), "refuses an invoice that another program is paying");
    expect(co_await pay(ours, "43"), "pays another one");

    co_await lease.release();
    expect(co_await pay(ours, "42"), "pays it when the other program has finished");

    expect(ours.counters().held == 0, "keeps no lock");
    co_await ours.close();
    co_await theirs.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main() try {
    asio::io_context context;
    const colock::config config = colock::config::from_uris({"memory://test_pay"});
    colock::client ours{context, config};
    colock::client theirs{context, config};
    asio::co_spawn(context, test_pay(ours, theirs), rethrow);
    context.run();
    std::cout << "all tests passed\n";
} catch (const std::exception& failure) {
    std::cerr << "failed: " << failure.what() << '\n';
    return 1;
}
