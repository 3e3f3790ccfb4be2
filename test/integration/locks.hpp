// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_LOCKS_HPP
#define COLOCK_TEST_INTEGRATION_LOCKS_HPP

#include "support/deadline.hpp"
#include "support/proxies.hpp"
#include "support/run.hpp"
#include "support/servers.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// What the tests of locks on real servers have in common.

namespace colock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// N servers that every test case of this program uses; emptied before each. A case that stops or kills
/// some starts them again.
template <std::size_t N>
struct shared_servers {
    shared_servers() { instances.flush(); }

    static servers& start_once() {
        static servers started(N);
        return started;
    }
    servers& instances = start_once();
};

/// The same, each behind a bad network of the test case's own.
template <std::size_t N>
struct shared_servers_far_away : shared_servers<N> {
    proxies network{this->instances};

    /// Without pings, and without second attempts because of silence: what is under way is what the test has made.
    [[nodiscard]] colock::config quiet_config() const {
        colock::config configuration = network.config();
        configuration.silence_timeout = 1min;
        configuration.instance_timeout = 1min;
        return configuration;
    }
};

inline lock_options with_ttl(milliseconds ttl) {
    lock_options options;
    options.ttl = ttl;
    return options;
}

inline lock_options renewed_every(milliseconds interval, milliseconds ttl) {
    lock_options options = with_ttl(ttl);
    options.renew = interval;
    return options;
}

/// Would ask again after half a minute at the earliest.
inline lock_options patient() {
    lock_options options = with_ttl(1min);
    options.retry.initial = options.retry.maximum = 1min;
    return options;
}

/// Long before that.
inline constexpr auto soon = 5s;

/// Nobody renews it.
inline lock_options without_watchdog(milliseconds ttl) {
    return renewed_every(milliseconds(0), ttl);
}

inline std::size_t ready_instances(const client& locks) {
    const auto instances = locks.instances();
    return static_cast<std::size_t>(
        std::count_if(instances.begin(), instances.end(),
                      [](const instance_info& one) { return one.state == instance_state::ready; }));
}

/// Whether nothing is under way to any instance.
inline bool idle(const client& locks) {
    const auto all = locks.instances();
    return std::all_of(all.begin(), all.end(),
                       [](const instance_info& one) { return one.in_flight == 0; });
}

/// Until all instances are connected.
inline asio::awaitable<void> all_ready(const client& locks) {
    const std::size_t all = locks.instances().size();
    co_await async_wait_until([&] { return ready_instances(locks) == all; });
}

/// Until the client holds nothing, and nothing goes on in the background.
inline asio::awaitable<void> settled(const client& locks) {
    co_await async_wait_until([&] {
        const counters now = locks.counters();
        return now.held == 0 && now.acquiring == 0 && now.releasing == 0;
    });
}

/// For how long at most a coroutine that looks again and again did not come to it: its process, for one, may have stood
/// still.
class longest_pause {
public:
    void look() {
        const auto now = steady_clock::now();
        value_ = std::max(value_, now - last_);
        last_ = now;
    }
    [[nodiscard]] steady_clock::duration value() const { return value_; }

private:
    steady_clock::time_point last_ = steady_clock::now();
    steady_clock::duration value_{};
};

/// When the holder of a lease was told of its loss.
struct told_of_loss {
    lease::time_point valid_until{};  ///< as it was before
    steady_clock::time_point at{};
    steady_clock::duration pause{};

    /// How much of the validity was left.
    [[nodiscard]] steady_clock::duration left() const { return valid_until - at; }
    /// Whether any was, or would have been if this process had run all the time.
    [[nodiscard]] bool in_time() const { return left() + pause > 0ms; }
};

/// Waits until the lease is lost.
inline asio::awaitable<told_of_loss> told_when_lost(lease& held) {
    told_of_loss result;
    longest_pause pause;
    bool lost = false;
    held.wait_lost([&](error) {
        result.at = steady_clock::now();
        lost = true;
    });
    co_await async_wait_until([&] {
        pause.look();
        if (held.valid()) {  // renewals move the end; the last value before the loss counts
            result.valid_until = held.valid_until();
        }
        return lost;
    });
    result.pause = pause.value();
    co_return result;
}

/// Until the watchdogs have renewed so many times more.
inline asio::awaitable<void> renewed_more(const client& locks, std::uint64_t times) {
    const std::uint64_t before = locks.counters().renewed;
    co_await async_wait_until([&] { return locks.counters().renewed >= before + times; });
}

/// What is left of a key's life on a server; empty if there is no such key.
inline std::optional<milliseconds> pttl(const redis_server& server, const std::string& key) {
    const long left = std::stol(server.command({"PTTL", key}).value());
    return left < 0 ? std::nullopt : std::optional(milliseconds(left));
}

/// Takes a lock for somebody else, as any Redlock implementation would.
inline void hold_by_hand(const redis_server& server, const std::string& key, milliseconds ttl) {
    server.command({"SET", key, "somebody else", "NX", "PX", std::to_string(ttl.count())});
}

/// What became of a coroutine that runs beside the test: whether it has ended, and what it threw.
struct background {
    bool done = false;
    std::exception_ptr thrown;

    /// The code of the `lock_error` or other system_error it threw; no error if it returned.
    [[nodiscard]] error_code code() const {
        try {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        } catch (const boost::system::system_error& e) {
            return e.code();
        }
        return {};
    }
};

/// Runs a coroutine beside the test. Ask the result, and keep it, until it is `done`.
inline asio::awaitable<std::shared_ptr<background>> start(asio::awaitable<void> work) {
    const auto executor = co_await asio::this_coro::executor;
    auto result = std::make_shared<background>();
    asio::co_spawn(executor, std::move(work), [result](std::exception_ptr thrown) {
        result->thrown = thrown;
        result->done = true;
    });
    co_return result;
}

/// An acquire that can be cancelled, and what came of it.
struct pending_acquire {
    asio::cancellation_signal signal;
    std::optional<error> result;
    lease granted;

    template <typename Lock>
    void start(const Lock& lock) {
        lock.acquire(asio::bind_cancellation_slot(signal.slot(), [this](error e, lease l) {
            result = e;
            granted = std::move(l);
        }));
    }
};

/// Whether a server has a command of its own to release locks, with which the library spares itself a script.
inline bool deletes_natively(const redis_server& server) {
    for (const char* const command : {"DELIFEQ", "DELEX"}) {
        try {
            server.command({command});
        } catch (const redis_error& answer) {
            if (std::string_view(answer.what()).find("wrong number") != std::string_view::npos) {
                return true;
            }
        }
    }
    return false;
}

/// How many commands of this kind a server has executed.
inline std::size_t executed(const redis_server& server, const std::string& command) {
    const std::string text = server.command({"INFO", "commandstats"}).value();
    const std::string field = "cmdstat_" + command + ":calls=";
    const auto found = text.find(field);
    return found == std::string::npos ? 0 : std::stoul(text.substr(found + field.size()));
}

/// How many all of them have executed.
inline std::size_t executed(servers& instances, const std::string& command) {
    std::size_t calls = 0;
    for (const redis_server& server : instances) {
        calls += executed(server, command);
    }
    return calls;
}

/// How long it has been.
class stopwatch {
public:
    [[nodiscard]] milliseconds elapsed() const {
        return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start_);
    }

private:
    steady_clock::time_point start_ = steady_clock::now();
};

inline const error_code aborted = asio::error::operation_aborted;

}  // namespace colock::test

#endif
