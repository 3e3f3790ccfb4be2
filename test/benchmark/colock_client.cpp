#include "benchmark/colock_client.hpp"

#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;

asio::awaitable<void> take_and_release(client& locks, std::size_t number, measurement& meter) {
    lock_options options;
    options.ttl = lock_ttl;
    const mutex lock{locks, lock_name(number), options};
    auto started = measurement::clock::now();
    while (!meter.over()) {
        lease held = co_await lock.acquire();
        if (co_await held.release() != release_result::released) {
            throw std::runtime_error("colock: a lease was lost");
        }
        started = meter.cycle_since(started);
    }
}

bool all_ready(const client& locks) {
    return std::ranges::all_of(locks.instances(), [](const instance_info& instance) {
        return instance.state == instance_state::ready;
    });
}

/// Its servers have only just been started.
config configuration_of(const workload& work) {
    config result = config::from_uris(work.instances);
    result.restart_quarantine = std::chrono::milliseconds(0);
    return result;
}

/// One run: the first failure of a task ends it.
class run {
public:
    explicit run(const workload& work)
        : meter_(context_, work), locks_(context_, configuration_of(work)) {}

    measured operator()(std::size_t concurrency) {
        asio::co_spawn(context_, run_tasks(concurrency),
                       [this](std::exception_ptr failure) { end_on(failure); });
        context_.run();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        return meter_.result();
    }

private:
    asio::awaitable<void> run_tasks(std::size_t concurrency) {
        co_await test::async_wait_until([this] { return all_ready(locks_); });
        meter_.start();
        running_ = concurrency;
        for (std::size_t i = 0; i != concurrency; ++i) {
            asio::co_spawn(context_, take_and_release(locks_, i, meter_),
                           [this](std::exception_ptr failure) {
                               end_on(failure);
                               if (--running_ == 0) {
                                   all_done_.cancel();
                               }
                           });
        }
        co_await all_done_.async_wait(asio::as_tuple(asio::use_awaitable));
        co_await locks_.close();
    }

    void end_on(std::exception_ptr failure) {
        if (failure && !failure_) {
            failure_ = failure;
            context_.stop();
        }
    }

    asio::io_context context_{1};
    measurement meter_;
    client locks_;
    std::size_t running_ = 0;
    asio::steady_timer all_done_{context_, asio::steady_timer::time_point::max()};
    std::exception_ptr failure_;
};

}  // namespace

measured run_colock(const workload& work) {
    return run(work)(work.concurrency);
}

}  // namespace colock::benchmark
