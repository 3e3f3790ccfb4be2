// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

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
#include <exception>
#include <string>
#include <string_view>
#include <utility>

// A process with a lock. Its arguments are the resource, the ttl in milliseconds, the configuration as JSON,
// and "plain", "fenced" or "fifo". It reads commands, one per line, and answers each with a line:
// - `ready`: "ready", when all instances are ready.
// - `acquire`: "held", or the error.
// - `try`: "held", "contended", or the error.
// - `valid`: "valid" or "invalid".
// - `fence`: The fence.
// - `lost`: The reason, when the lease is lost.
// - `release`: "released", "expired", "lost", or the error.
// - `detach`: The text of the lease. The lease ends in this process.
// - `adopt T`: "held" when the lease with this text is adopted, or the error.
// - `lead`: The time at which it begins to lead, in nanoseconds of the steady clock. It never resigns.
// - `until`: The end of the leader's validity, by the same clock.

namespace asio = boost::asio;

namespace {

class holder {
public:
    holder(asio::io_context& context, std::string resource, colock::lock_options options,
           colock::config configuration)
        : input_(context, STDIN_FILENO),
          timer_(context),
          locks_(context, std::move(configuration)),
          options_(options),
          lock_(locks_, std::move(resource), options) {}

    asio::awaitable<void> run() {
        std::string text;
        for (;;) {
            const std::size_t size = co_await asio::async_read_until(
                input_, asio::dynamic_buffer(text), '\n', asio::use_awaitable);
            const std::string answer = co_await obey(text.substr(0, size - 1));
            text.erase(0, size);
            std::puts(answer.c_str());
            std::fflush(stdout);
        }
    }

private:
    asio::awaitable<std::string> obey(std::string command) {
        if (command == "ready") {
            co_return co_await wait_until_ready();
        }
        if (command == "acquire") {
            auto [failure, granted] = co_await lock_.acquire(asio::as_tuple(asio::use_awaitable));
            held_ = std::move(granted);
            co_return failure ? failure.code().message() : "held";
        }
        if (command == "try") {
            auto [failure, granted] =
                co_await lock_.try_acquire(asio::as_tuple(asio::use_awaitable));
            if (granted) {
                held_ = std::move(granted);
            }
            co_return failure ? failure.code().message() : granted ? "held" : "contended";
        }
        if (command == "valid") {
            co_return held_.valid() ? "valid" : "invalid";
        }
        if (command == "fence") {
            co_return std::to_string(held_.fence());
        }
        if (command == "lost") {
            co_await held_.wait_lost(asio::use_awaitable);
            co_return held_.loss().code().message();
        }
        if (command == "detach") {
            co_return co_await held_.detach(asio::use_awaitable);
        }
        if (constexpr std::string_view adopts = "adopt "; command.starts_with(adopts)) {
            auto [failure, granted] =
                co_await colock::adopt(locks_, std::string_view(command).substr(adopts.size()),
                                       options_, asio::as_tuple(asio::use_awaitable));
            held_ = std::move(granted);
            co_return failure ? failure.code().message() : "held";
        }
        if (command == "lead") {
            co_return co_await begin_to_lead();
        }
        if (command == "until") {
            co_return leader_ != nullptr ? in_ns(leader_->valid_until()) : "no leader";
        }
        const auto [failure, result] = co_await held_.release(asio::as_tuple(asio::use_awaitable));
        co_return failure ? failure.code().message() : std::string(colock::to_string(result));
    }

    static std::string in_ns(std::chrono::steady_clock::time_point when) {
        return std::to_string(std::chrono::nanoseconds(when.time_since_epoch()).count());
    }

    asio::awaitable<std::string> begin_to_lead() {
        std::string since;
        const auto body = [this, &since](colock::lease& held) -> asio::awaitable<void> {
            since = in_ns(std::chrono::steady_clock::now());
            leader_ = &held;
            asio::steady_timer never(timer_.get_executor(), asio::steady_timer::time_point::max());
            co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
            leader_ = nullptr;
        };
        colock::lead(lock_, body, [](const std::exception_ptr&) {});
        while (since.empty()) {
            co_await tick();
        }
        co_return since;
    }

    asio::awaitable<void> tick() {
        timer_.expires_after(std::chrono::milliseconds(1));
        co_await timer_.async_wait(asio::use_awaitable);
    }

    asio::awaitable<std::string> wait_until_ready() {
        const auto not_ready = [](const colock::instance_info& one) {
            return one.state != colock::instance_state::ready;
        };
        for (auto all = locks_.instances(); std::any_of(all.begin(), all.end(), not_ready);
             all = locks_.instances()) {
            co_await tick();
        }
        co_return "ready";
    }

    asio::posix::stream_descriptor input_;
    asio::steady_timer timer_;
    colock::client locks_;
    colock::lock_options options_;
    colock::mutex lock_;
    colock::lease held_;
    colock::lease* leader_ = nullptr;  // Set while it leads.
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        return 2;
    }
    asio::io_context context;
    colock::lock_options options;
    options.ttl = std::chrono::milliseconds(std::stol(argv[2]));
    options.fencing = std::string_view(argv[4]) == "fenced";
    if (std::string_view(argv[4]) == "fifo") {
        options.order = colock::queue_order::fifo;
        // A busy machine then loses no place in the queue.
        options.retry.maximum = std::chrono::seconds(1);
    }
    auto configuration = colock::config::from_json(argv[3]);
    // The servers have just started.
    configuration.restart_quarantine = std::chrono::milliseconds(0);
    holder self(context, argv[1], options, configuration);
    asio::co_spawn(context, self.run(), [&](std::exception_ptr) { context.stop(); });
    context.run();
    return 0;
}
