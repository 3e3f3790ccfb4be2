// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Reads the configuration from a JSON file, and takes a lock. With --check it only checks the file.
// config_json config.json --check

#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace asio = boost::asio;

colock::config read_config(const std::string& path) {
    std::ifstream file{path};
    if (!file)
        throw std::runtime_error("cannot read " + path);
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    colock::config config = colock::config::from_json(text);  // throws config_error
    config.validate();
    return config;
}

void print(const colock::config& config) {
    // The URIs themselves may contain passwords, so do not print these.
    std::cout << "servers: " << config.instances.size() << '\n'
              << "key_prefix: " << config.key_prefix << '\n'
              << "instance_timeout: " << config.instance_timeout.count() << " ms\n";
    if (config.restart_quarantine)
        std::cout << "restart_quarantine: " << config.restart_quarantine->count() << " ms\n";
}

asio::awaitable<void> pay(colock::lease& lease) {
    std::cout << "only we touch " << lease.resource() << " now\n";
    co_return;
}

asio::awaitable<void> work(colock::client& locks) {
    colock::mutex mutex{locks, "invoice:42"};
    co_await colock::with_lock(mutex, pay);
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    const colock::config config = read_config(argc > 1 ? argv[1] : "config.json");
    print(config);
    if (argc > 2 && std::string_view(argv[2]) == "--check")
        return 0;
    asio::io_context context;
    colock::client locks{context, config};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const colock::config_error& failure) {
    std::cerr << "at " << failure.field() << ": " << failure.what() << '\n';
    return 1;
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
