// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writes a log of what happens to the locks of a program.
// observer memory://a
// observer redis://127.0.0.1:7001 redis://127.0.0.1:7002 redis://127.0.0.1:7003

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <thread>

namespace asio = boost::asio;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

// Each function is optional.
class lock_log final : public colock::observer {
public:
    void on_acquired(const colock::acquired_event& event) noexcept override {
        std::cout << "acquired " << event.resource << " after "
                  << duration_cast<milliseconds>(event.waited).count() << " ms\n";
    }
    void on_denied(const colock::denied_event& event) noexcept override {
        std::cout << "denied " << event.resource << ": "
                  << (event.is_contended ? "another holder has it" : "too few servers answered")
                  << '\n';
    }
    void on_lost(const colock::lost_event& event) noexcept override {
        std::cout << "lost " << event.resource << ": " << event.reason.message() << '\n';
    }
    void on_instance_changed(const colock::instance_changed_event& event) noexcept override {
        const colock::instance_info& instance = event.instance;
        std::cout << instance.address << " is " << to_string(instance.state)
                  << (instance.reason.empty() ? "" : ": ") << instance.reason << '\n';
    }
    void on_blocked(const colock::blocked_event& event) noexcept override {
        std::cout << "the event loop was blocked for "
                  << duration_cast<milliseconds>(event.time).count() << " ms\n";
    }
};

asio::awaitable<void> work(colock::client& locks) {
    const colock::mutex mutex{locks, "invoice:42"};
    colock::lease lease = co_await mutex.acquire();
    std::this_thread::sleep_for(milliseconds(500));  // A mistake: this thread runs the client.
    co_await lease.release();
    co_await locks.close();
}

void rethrow(std::exception_ptr failure) {
    if (failure)
        std::rethrow_exception(failure);
}

int main(int argc, char** argv) try {
    colock::config config = colock::config::from_uris({argv + 1, argv + argc});
    config.observer = std::make_shared<lock_log>();
    asio::io_context context;
    colock::client locks{context, config};
    asio::co_spawn(context, work(locks), rethrow);
    context.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}
