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
#include <type_traits>
#include <utility>

// Helpers for the tests of locks on real servers.

namespace colock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Returns whether a temporary lease holds the lock, which is released then.
inline bool is_held(const lease& temporary) {
    return temporary.owns_lock();
}

/// N servers that all test cases of this program share. They are emptied before each case. A case that stops
/// or kills servers starts them again.
template <std::size_t N>
struct shared_servers {
    shared_servers() { instances.flush(); }

    static servers& start_once() {
        static servers started(N);
        return started;
    }
    servers& instances = start_once();
};

/// The same servers, each behind a proxy that belongs to the test case.
template <std::size_t N>
struct shared_servers_far_away : shared_servers<N> {
    proxies network{this->instances};

    /// Returns a configuration without pings and without second attempts on silence. All traffic is then that
    /// of the test.
    [[nodiscard]] colock::config quiet_config() const {
        colock::config configuration = network.config();
        configuration.silence_timeout = 1min;
        configuration.instance_timeout = 1min;
        return configuration;
    }
};

/// Runs a coroutine test with one to three clients, one for each of its parameters.
template <typename Test>
void run_test(const config& configuration, const Test& test,
              boost::source_location location = BOOST_CURRENT_LOCATION) {
    const auto with_clients = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client first(executor, configuration);
        if constexpr (std::is_invocable_v<Test, client&>) {
            co_await test(first);
        } else {
            client second(executor, configuration);
            if constexpr (std::is_invocable_v<Test, client&, client&>) {
                co_await test(first, second);
            } else {
                client third(executor, configuration);
                co_await test(first, second, third);
            }
        }
    };
    run_test(with_clients(), 60s, location);
}

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

/// Returns the configuration with a long timeout. A busy machine may not answer within the default one.
inline config patient_config(config of) {
    of.instance_timeout = 10s;
    return of;
}

/// Returns options with which a waiter polls after half a minute at the earliest.
inline lock_options patient() {
    lock_options options = with_ttl(1min);
    options.retry.initial = options.retry.maximum = 1min;
    return options;
}

/// Much earlier than a patient waiter's next poll.
inline constexpr auto soon = 5s;

/// Returns options without renewals.
inline lock_options without_watchdog(milliseconds ttl) {
    return renewed_every(milliseconds(0), ttl);
}

inline std::size_t ready_instances(const client& locks) {
    const auto instances = locks.instances();
    return static_cast<std::size_t>(
        std::count_if(instances.begin(), instances.end(),
                      [](const instance_info& one) { return one.state == instance_state::ready; }));
}

/// Returns whether no command is pending on any instance.
inline bool idle(const client& locks) {
    const auto all = locks.instances();
    return std::all_of(all.begin(), all.end(),
                       [](const instance_info& one) { return one.in_flight == 0; });
}

/// Waits until all instances are connected.
inline asio::awaitable<void> all_ready(const client& locks) {
    const std::size_t all = locks.instances().size();
    co_await async_wait_until([&] { return ready_instances(locks) == all; });
}

/// Waits until the client holds nothing and no background work is left.
inline asio::awaitable<void> settled(const client& locks) {
    co_await async_wait_until([&] {
        const counters now = locks.counters();
        return now.held == 0 && now.acquiring == 0 && now.releasing == 0;
    });
}

/// Measures the longest time between two calls of `look`. It shows, for example, that the process was
/// stopped.
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

/// When the holder of a lease learned of its loss.
struct told_of_loss {
    lease::time_point valid_until{};  ///< The last value before the loss.
    steady_clock::time_point at{};
    steady_clock::duration pause{};

    /// Returns the remaining validity at that time.
    [[nodiscard]] steady_clock::duration left() const { return valid_until - at; }
    /// Returns whether validity was left, or would have been left if this process had run all the time.
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
        if (held.valid()) {  // Renewals move the end, and the last value before the loss counts.
            result.valid_until = held.valid_until();
        }
        return lost;
    });
    result.pause = pause.value();
    co_return result;
}

/// Waits until the watchdogs have done `times` more renewals.
inline asio::awaitable<void> renewed_more(const client& locks, std::uint64_t times) {
    const std::uint64_t before = locks.counters().renewed;
    co_await async_wait_until([&] { return locks.counters().renewed >= before + times; });
}

/// Returns the remaining ttl of a key on a server. Empty if there is no such key.
inline std::optional<milliseconds> pttl(const redis_server& server, const std::string& key) {
    const long left = std::stol(server.command({"PTTL", key}).value());
    return left < 0 ? std::nullopt : std::optional(milliseconds(left));
}

/// Acquires a lock for a foreign client, as any Redlock implementation would.
inline void hold_by_hand(const redis_server& server, const std::string& key, milliseconds ttl) {
    server.command({"SET", key, "somebody else", "NX", "PX", std::to_string(ttl.count())});
}

/// The result of a coroutine that runs in parallel with the test: whether it has ended, and its exception.
struct background {
    bool done = false;
    std::exception_ptr thrown;

    /// Returns the code of the `lock_error` or other system_error. Returns no error if the coroutine
    /// returned.
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

/// Starts a coroutine in parallel with the test. Keep the result until it is `done`.
inline asio::awaitable<std::shared_ptr<background>> start(asio::awaitable<void> work) {
    const auto executor = co_await asio::this_coro::executor;
    auto result = std::make_shared<background>();
    asio::co_spawn(executor, std::move(work), [result](std::exception_ptr thrown) {
        result->thrown = thrown;
        result->done = true;
    });
    co_return result;
}

/// An acquire that can be cancelled, and its result.
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

/// Returns whether the server has a native command to release locks. The library uses it instead of a script.
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

/// Returns the statistics of all commands, at one moment.
inline std::string command_statistics(const redis_server& server) {
    return server.command({"INFO", "commandstats"}).value();
}

/// Returns the number of calls of a command in these statistics.
inline std::size_t calls_of(const std::string& command, const std::string& statistics) {
    const std::string field = "cmdstat_" + command + ":calls=";
    const auto found = statistics.find(field);
    return found == std::string::npos ? 0 : std::stoul(statistics.substr(found + field.size()));
}

/// Returns how many commands of this name a server has executed.
inline std::size_t executed(const redis_server& server, const std::string& command) {
    return calls_of(command, command_statistics(server));
}

/// Returns the sum over all servers.
inline std::size_t executed(servers& instances, const std::string& command) {
    std::size_t calls = 0;
    for (const redis_server& server : instances) {
        calls += executed(server, command);
    }
    return calls;
}

/// Measures the time since its construction.
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
