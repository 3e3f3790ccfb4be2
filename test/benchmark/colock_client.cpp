// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/colock_client.hpp"

#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;

lock_options options_of(const orders& work) {
    lock_options options;
    options.ttl = lock_ttl;
    options.handoff_limit = work.handoff_limit;
    options.order = work.kind == lock_kind::ordered ? queue_order::fifo : queue_order::hint;
    return options;
}

template <typename Lock>
Lock lock_of(client& locks, std::size_t number, const orders& work) {
    return {locks, lock_name(work.hot_key ? 0 : number), options_of(work)};
}

semaphore semaphore_of(client& locks, std::size_t number, const orders& work) {
    return {locks, lock_name(work.hot_key ? 0 : number), work.permits, options_of(work)};
}

/// Returns the lock of a task, with names that no other task uses.
multi_mutex names_of(client& locks, std::size_t number, const orders& work) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i != work.names; ++i) {
        names.push_back(lock_name(number) + std::string(1, static_cast<char>('a' + i)));
    }
    const std::vector<std::string_view> views(names.begin(), names.end());
    return {locks, views, options_of(work)};
}

/// Acquires the permits that `work.taken` asks for, for every task. The client `by` holds them.
asio::awaitable<std::vector<lease>> take_permits(client& by, const orders& work) {
    std::vector<lease> held;
    for (std::size_t i = 0; work.taken != 0 && i != work.concurrency; ++i) {
        lock_options options;
        options.ttl = std::chrono::minutes(10);
        options.renew = std::chrono::milliseconds(0);
        const semaphore lock(by, lock_name(i), work.permits, options);
        held.push_back(co_await lock.acquire(work.taken));
    }
    co_return held;
}

/// The readers' side of a shared mutex, with the interface of a lock.
struct readers {
    shared_mutex lock;
    [[nodiscard]] auto acquire() const { return lock.acquire_shared(); }
};

template <typename Lock>
asio::awaitable<void> take_and_release(Lock lock, measurement& meter) {
    auto started = measurement::clock::now();
    while (!meter.over()) {
        lease held = co_await lock.acquire();
        if (co_await held.release() != release_result::released) {
            throw std::runtime_error("colock: a lease was lost");
        }
        started = meter.cycle_since(started);
    }
}

/// Returns a name that no mutex uses. A versioned value remains after a run, so a mutex on its name would
/// wait indefinitely in the next repetition.
std::string record_name(std::size_t task) {
    return "record:" + lock_name(task);
}

/// Measures writes as cycles. No other task writes this value, so no write is refused.
asio::awaitable<void> exchange(versioned what, measurement& meter) {
    std::uint64_t version = (co_await what.read()).version;
    auto started = measurement::clock::now();
    while (!meter.over()) {
        const write_outcome outcome = co_await what.compare_exchange(version, "0123456789abcdef");
        if (!outcome.applied) {
            throw std::runtime_error("colock: a write was refused");
        }
        version = outcome.current.version;
        started = meter.cycle_since(started);
    }
}

/// Measures updates as cycles. An update is repeated if another task writes first.
asio::awaitable<void> update(versioned what, measurement& meter) {
    const auto next = [](const versioned_state& now) -> std::optional<std::string> {
        return std::to_string(now.value ? std::stoull(*now.value) + 1 : 1);
    };
    auto started = measurement::clock::now();
    while (!meter.over()) {
        static_cast<void>(co_await what.update(next));
        started = meter.cycle_since(started);
    }
}

/// Measures calls of `once` as cycles. If `finds` is set, the first call makes the result that the others
/// find. Otherwise each call has a name of its own.
asio::awaitable<void> call_once(client& locks, std::size_t number, bool finds, measurement& meter) {
    once_options options;
    options.lock.ttl = lock_ttl;
    options.keep =
        finds ? std::chrono::milliseconds(std::chrono::hours(24)) : std::chrono::seconds(1);
    const std::string name = "once:" + lock_name(number);
    // The results of the previous repetition still exist, so the names start at the current time.
    auto calls = measurement::clock::now().time_since_epoch().count();
    const auto body = []() -> asio::awaitable<std::string> { co_return "0123456789abcdef"; };
    auto started = measurement::clock::now();
    while (!meter.over()) {
        std::string key = name;
        if (!finds) {
            key.append(":").append(std::to_string(++calls));
        }
        const once_result result = co_await once(locks, key, body, options);
        if (result.value.size() != 16) {
            throw std::runtime_error("colock: another result");
        }
        started = meter.cycle_since(started);
    }
}

asio::awaitable<void> take_and_release_with_pauses(mutex lock, measurement& meter,
                                                   std::chrono::milliseconds pause) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!meter.over()) {
        const auto started = measurement::clock::now();
        lease held = co_await lock.acquire();
        meter.cycle_since(started);
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
        if (co_await held.release() != release_result::released) {
            throw std::runtime_error("colock: a lease was lost");
        }
        timer.expires_after(pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

/// Returns the heap bytes for each of many waiters for one lock. The handlers themselves need almost no
/// memory.
asio::awaitable<double> bytes_per_waiter(mutex lock) {
    constexpr std::size_t waiters = 10'000;
    lease held = co_await lock.acquire();
    std::size_t done = 0;
    const auto before = ::mallinfo2().uordblks;
    for (std::size_t i = 0; i != waiters; ++i) {
        lock.acquire([&done](const error& /*e*/, const lease& /*l*/) { ++done; });
    }
    const auto after = ::mallinfo2().uordblks;
    co_await held.release();
    co_await test::async_wait_until([&] { return done == waiters; });
    co_return static_cast<double>(after - before) / waiters;
}

/// One run. The first failure of a task ends it.
class run {
public:
    explicit run(const orders& work)
        : work_(work), meter_(context_, work), locks_(context_, configuration_of(work)) {}

    measured operator()() {
        asio::co_spawn(context_, run_tasks(),
                       [this](std::exception_ptr failure) { end_on(failure); });
        context_.run();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        measured result = meter_.result();
        result.bytes_per_waiter = bytes_per_waiter_;
        return result;
    }

private:
    /// `close` waits until all servers have answered, or the keys have expired.
    static config configuration_of(const orders& work) {
        config result = configuration_for(work.instances);
        if (work.all_answer) {
            result.close_timeout = lock_ttl;
        }
        return result;
    }

    asio::awaitable<void> run_tasks() {
        co_await wait_until_ready(locks_);
        if (work_.hot_key && work_.kind == lock_kind::mutex) {
            bytes_per_waiter_ = co_await bytes_per_waiter(lock_of<mutex>(locks_, 0, work_));
        }
        std::vector<lease> taken;
        if (work_.taken != 0) {
            others_.emplace(context_, configuration_for(work_.instances));
            co_await wait_until_ready(*others_);
            taken = co_await take_permits(*others_, work_);
        }
        work_.when_connected();
        meter_.start();
        running_ = work_.concurrency;
        for (std::size_t i = 0; i != work_.concurrency; ++i) {
            asio::co_spawn(context_, task(i), [this](std::exception_ptr failure) {
                end_on(failure);
                if (--running_ == 0) {
                    all_done_.cancel();
                }
            });
        }
        co_await all_done_.async_wait(asio::as_tuple(asio::use_awaitable));
        taken.clear();
        if (others_) {
            co_await others_->close(asio::as_tuple(asio::use_awaitable));
        }
        const auto [unreleased] = co_await locks_.close(asio::as_tuple(asio::use_awaitable));
        if (unreleased.code() && work_.all_answer) {
            throw std::runtime_error("colock: " + unreleased.message());
        }
    }

    asio::awaitable<void> task(std::size_t number) {
        if (work_.pause.count() != 0) {
            return take_and_release_with_pauses(lock_of<mutex>(locks_, number, work_), meter_,
                                                work_.pause);
        }
        switch (work_.kind) {
            case lock_kind::mutex:
            case lock_kind::ordered:
                break;
            case lock_kind::exchange:
                return exchange(versioned(locks_, record_name(number)), meter_);
            case lock_kind::update:
                return update(versioned(locks_, record_name(work_.hot_key ? 0 : number)), meter_);
            case lock_kind::found:
            case lock_kind::run_once:
                return call_once(locks_, number, work_.kind == lock_kind::found, meter_);
            case lock_kind::permit:
                return take_and_release(semaphore_of(locks_, number, work_), meter_);
            case lock_kind::names:
                return take_and_release(names_of(locks_, number, work_), meter_);
            case lock_kind::writer:
                return take_and_release(lock_of<shared_mutex>(locks_, number, work_), meter_);
            case lock_kind::reader:
                return take_and_release(readers{lock_of<shared_mutex>(locks_, number, work_)},
                                        meter_);
            case lock_kind::reentrant:
                return take_and_release(
                    owned(lock_of<reentrant_mutex>(locks_, number, work_), lock_owner()), meter_);
        }
        return take_and_release(lock_of<mutex>(locks_, number, work_), meter_);
    }

    void end_on(std::exception_ptr failure) {
        if (failure && !failure_) {
            failure_ = failure;
            context_.stop();
        }
    }

    orders work_;
    asio::io_context context_{1};
    measurement meter_;
    client locks_;
    std::optional<client> others_;
    std::size_t running_ = 0;
    asio::steady_timer all_done_{context_, asio::steady_timer::time_point::max()};
    std::exception_ptr failure_;
    double bytes_per_waiter_ = 0;
};

}  // namespace

config configuration_for(const std::vector<std::string>& instances) {
    config result = config::from_uris(instances);
    result.restart_quarantine = std::chrono::milliseconds(0);
    return result;
}

asio::awaitable<void> wait_until_ready(const client& locks) {
    co_await test::async_wait_until([&] {
        return std::ranges::all_of(locks.instances(), [](const instance_info& instance) {
            return instance.state == instance_state::ready;
        });
    });
}

void run_tasks(asio::io_context& context, client& locks, std::size_t count,
               const std::function<asio::awaitable<void>()>& task) {
    std::size_t running = count;
    std::exception_ptr first_failure;
    for (std::size_t i = 0; i != count; ++i) {
        asio::co_spawn(context, task(), [&](std::exception_ptr failure) {
            if (failure && !first_failure) {
                first_failure = failure;
                context.stop();
            }
            if (--running == 0) {
                locks.close([](const error& /*e*/) {});
            }
        });
    }
    context.run();
    if (first_failure) {
        std::rethrow_exception(first_failure);
    }
}

measured run_colock(const orders& work) {
    return run(work)();
}

}  // namespace colock::benchmark
