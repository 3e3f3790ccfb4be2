// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Runs a job once for each period, though cron starts it on every host. The period is a part of the key.
// cron JOB PERIOD memory://a
// cron backup "$(date +%F)" redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003
//
// The lock alone cannot say that the job was run: a host whose clock is late takes it after the release. `once` records
// that on the servers. A host that dies during its run leaves no record. Then a host that waits runs the job again, or
// else nobody does before the next period. If the lease is lost, two runs may overlap. So a job has to tolerate a second
// run.

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> run_once(colock::client& locks, std::string job, std::string period) {
    colock::once_options options;
    options.keep = 48h;  // a period, and by how much the clocks of the hosts differ
    auto body = [job, period]() -> asio::awaitable<std::string> {
        std::cout << "running " << job << " for " << period << '\n';
        co_return "done";
    };
    const colock::once_result result =
        co_await colock::once(locks, job + ':' + period, body, options);
    if (!result.ran)
        std::cout << job << " for " << period << " was run already\n";
}

asio::awaitable<void> work(colock::client& locks, std::string job, std::string period) {
    co_await run_once(locks, job, period);
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    if (argc < 4)
        throw std::runtime_error("usage: cron JOB PERIOD SERVER...");
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 3, argv + argc})};
    asio::co_spawn(context, work(locks, argv[1], argv[2]), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
