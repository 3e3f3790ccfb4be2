// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Runs a job once for each period, though cron starts it on every host. FILE is on storage that all hosts share.
// cron FILE PERIOD memory://a
// cron FILE "$(date +%F)" redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003
//
// The lock alone cannot say that the job was run: a host whose clock is late takes it after the release. So FILE
// records the last period, and the lock guards FILE. A host that dies during its run leaves no record. Then a host that
// waits for the lock runs the job again, or else nobody does before the next period. If the lease is lost, two runs may
// overlap. So a job has to tolerate a second run.

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace asio = boost::asio;

std::string last_period(const std::filesystem::path& file) {
    std::string period;
    std::ifstream{file} >> period;
    return period;  // empty if there is no file yet
}

void record(const std::filesystem::path& file, const std::string& period) {
    const std::filesystem::path next = file.string() + ".next";
    if (!(std::ofstream{next} << period << std::endl))
        throw std::runtime_error("cannot write " + next.string());
    std::filesystem::rename(next, file);
}

asio::awaitable<void> run_once(colock::client& locks, std::filesystem::path file,
                               std::string period) {
    colock::mutex mutex{locks, "job:" + file.filename().string()};
    auto body = [file, period](colock::lease&) -> asio::awaitable<void> {
        // A period such as 2026-01-31 sorts as text. A host whose clock is late finds a later one.
        if (last_period(file) >= period) {
            std::cout << period << " was run already\n";
            co_return;
        }
        std::cout << "running the job for " << period << '\n';
        record(file, period);
    };
    co_await colock::with_lock(mutex, body);  // waits for a host that runs the job now
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    if (argc < 4)
        throw std::runtime_error("usage: cron FILE PERIOD SERVER...");
    asio::io_context context;
    colock::client locks{context, colock::config::from_uris({argv + 3, argv + argc})};
    asio::co_spawn(context, run_once(locks, argv[1], argv[2]), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
