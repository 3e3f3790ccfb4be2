#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

// A process that takes a lock, says so, and holds it until it is killed.
// Arguments: the resource, the ttl in milliseconds, the instances.

namespace asio = boost::asio;

namespace {

asio::awaitable<void> hold(const colock::client& locks, const colock::mutex& lock) {
    const colock::lease held = co_await lock.acquire();
    std::puts("held");
    std::fflush(stdout);
    co_await held.wait_lost();
    std::fprintf(stderr, "%s, of %zu instances\n", held.loss().message().c_str(),
                 locks.instances().size());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        return 2;
    }
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    asio::io_context context;
    colock::client locks(context,
                         colock::config::from_uris({arguments.begin() + 2, arguments.end()}));
    colock::lock_options options;
    options.ttl = std::chrono::milliseconds(std::stol(arguments[1]));
    const colock::mutex lock(locks, arguments[0], options);
    asio::co_spawn(context, hold(locks, lock), [&](std::exception_ptr) { context.stop(); });
    context.run();
    return 1;
}
