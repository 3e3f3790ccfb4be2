// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The like counter. Try `like_counter_service --help`, or demo.sh.

#include "options.hpp"
#include "service.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <csignal>
#include <exception>
#include <iostream>

namespace asio = boost::asio;

namespace {

void rethrow(const std::exception_ptr& failure) {
    if (failure) {
        std::rethrow_exception(failure);
    }
}

asio::awaitable<void> stop_on_signal(asio::signal_set& signals, like_counter::service& service) {
    co_await signals.async_wait(asio::use_awaitable);
    signals.clear();  // a second signal ends the process at once
    std::cout << "stopping" << std::endl;
    co_await service.stop();
}

void serve(const like_counter::options& options) {
    // One thread: the colock client and the data server's connection belong to one executor. More
    // cores are for more processes, which is what the locks are there for.
    asio::io_context context(1);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    like_counter::service service(context.get_executor(), options);
    asio::co_spawn(context, service.run(), rethrow);
    asio::co_spawn(context, stop_on_signal(signals, service), rethrow);
    std::cout << "listening on http://" << service.local_endpoint() << std::endl;
    context.run();
    std::cout << "stopped" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    const like_counter::options options = like_counter::read_options(argc, argv);
    try {
        serve(options);
    } catch (const std::exception& error) {
        std::cerr << "like_counter_service: " << error.what() << '\n';
        return 1;
    }
}
