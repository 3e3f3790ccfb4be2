// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/client_settings.hpp"
#include "integration/chaos/worker.hpp"
#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>

// A client process of the chaos test. Its argument is its `client_settings`.

namespace asio = boost::asio;

namespace {

using namespace colock;
using namespace colock::chaos;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto longest_start = 30s;
constexpr auto longest_finish = 60s;

class chaos_client {
public:
    chaos_client(asio::io_context& context, client_settings settings)
        : settings_(std::move(settings)),
          locks_(context, configuration()),
          input_(context, STDIN_FILENO),
          sections_(settings_.sections),
          probes_(settings_.probes) {}

    asio::awaitable<void> run() {
        start(begin());
        std::string text;
        for (bool finished = false; !finished;) {
            const std::size_t size = co_await asio::async_read_until(
                input_, asio::dynamic_buffer(text), '\n', asio::use_awaitable);
            finished = text.starts_with("finish");
            text.erase(0, size);
            if (finished) {
                co_await finish();
            }
            tell();
        }
    }

private:
    [[nodiscard]] config configuration() const {
        config result = config::from_uris(settings_.instances);
        result.restart_quarantine = milliseconds(settings_.quarantine_ms);
        result.connect_timeout = 500ms;
        result.silence_timeout = 1000ms;
        result.close_timeout = milliseconds(settings_.ttl_ms);
        return result;
    }

    void start(asio::awaitable<void> task) {
        ++running_;
        asio::co_spawn(input_.get_executor(), std::move(task), [this](std::exception_ptr failure) {
            --running_;
            if (failure) {
                std::rethrow_exception(failure);
            }
        });
    }

    /// Starts the tasks when all instances are ready. The servers have just been started, so they are
    /// quarantined at first.
    asio::awaitable<void> begin() {
        co_await test::async_wait_until([&] { return stopping_ || all_ready(); }, longest_start);
        std::mt19937_64 seeds(settings_.seed);
        for (std::size_t i = 0; i != settings_.tasks; ++i) {
            start(workers_.emplace_back(locks_, settings_, sections_, report_, seeds())
                      .run(stopping_));
        }
        start(probe());
    }

    [[nodiscard]] bool all_ready() const {
        return std::ranges::all_of(locks_.instances(), [](const instance_info& one) {
            return one.state == instance_state::ready;
        });
    }

    /// Acquires locks that no other client wants. If such an acquire fails, the servers are unavailable.
    asio::awaitable<void> probe() {
        asio::steady_timer pause(input_.get_executor());
        for (std::size_t i = 0; !stopping_; ++i) {
            lock_options options;
            options.ttl = milliseconds(settings_.ttl_ms);
            const std::string name = "probe:" + settings_.name + ":" + std::to_string(i);
            const mutex lock(locks_, name, options);
            const auto asked = steady_clock::now();
            auto [failure, held] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
            if (!failure) {
                visit(probes_, held, asked, trust::in_lease).leave();
                co_await held.release(asio::as_tuple(asio::use_awaitable));
            }
            pause.expires_after(5ms);
            co_await pause.async_wait(asio::use_awaitable);
        }
    }

    asio::awaitable<void> finish() {
        stopping_ = true;
        // The pending waiters still acquire their lock, one after the other.
        co_await test::async_wait_until([&] { return running_ == 0; }, longest_finish);
        co_await locks_.close(asio::use_awaitable);
        if (!sections_.flush() || !probes_.flush()) {
            throw std::runtime_error("cannot write the sections");
        }
    }

    void tell() {
        report_.ready.clear();
        for (const auto& instance : locks_.instances()) {
            report_.ready.push_back(instance.state == instance_state::ready);
        }
        const counters done = locks_.counters();
        report_.lost = done.lost;
        report_.renewed = done.renewed;
        std::puts(nlohmann::json(report_).dump().c_str());
        std::fflush(stdout);
    }

    client_settings settings_;
    client locks_;
    asio::posix::stream_descriptor input_;
    std::ofstream sections_;
    std::ofstream probes_;
    client_report report_;
    std::deque<worker> workers_;
    std::size_t running_ = 0;
    bool stopping_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        return 2;
    }
    try {
        asio::io_context context(1);
        chaos_client self(context, nlohmann::json::parse(argv[1]).get<client_settings>());
        asio::co_spawn(context, self.run(), [](std::exception_ptr failure) {
            if (failure) {
                std::rethrow_exception(failure);
            }
        });
        context.run();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "chaos_client: %s\n", failure.what());
        return 1;
    }
}
