// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/redis_cluster.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

// Uses a client with `thread_safe` from many threads, for the thread sanitizer.

namespace {

BOOST_AUTO_TEST_SUITE(thread_safe_test)

using namespace colock;
using namespace colock::test;

constexpr std::size_t thread_count = 4;

/// A future without exceptions. The thread sanitizer does not see the reference counting of exceptions in the
/// standard library. It would report a race when an exception that two threads have read is destroyed.
constexpr auto as_future = asio::as_tuple(asio::use_future);

/// A context that four threads run, with a client.
class pool {
public:
    explicit pool(config configuration) {
        configuration.thread_safe = true;
        locks_.emplace(context_.get_executor(), std::move(configuration));
        for (std::size_t i = 0; i != thread_count; ++i) {
            threads_.emplace_back([this] { context_.run(); });
        }
    }
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() {
        locks_.reset();
        work_.reset();
    }

    [[nodiscard]] client& locks() { return *locks_; }
    [[nodiscard]] asio::any_io_executor strand() { return asio::make_strand(context_); }
    [[nodiscard]] asio::io_context& context() { return context_; }

    /// Blocks until no lease is held and no operation is pending.
    void wait_settled() {
        wait_until([&] {
            const counters now = locks_->counters();
            return now.held == 0 && now.acquiring == 0 && now.releasing == 0;
        });
    }

private:
    asio::io_context context_{static_cast<int>(thread_count)};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::optional<client> locks_;
    std::vector<std::jthread> threads_;
};

/// Calls `work(i)` in several threads in parallel, `times` times in each.
template <typename Work>
void in_threads(std::size_t times, Work work) {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != thread_count; ++t) {
        threads.emplace_back([=] {
            for (std::size_t i = 0; i != times; ++i) {
                work(t * times + i);
            }
        });
    }
}

/// A user-defined lock without `body_executor`.
struct own_lock {
    mutex inner;

    template <typename CompletionToken>
    auto acquire(CompletionToken&& token) const {
        return inner.acquire(std::forward<CompletionToken>(token));
    }
    [[nodiscard]] auto get_executor() const { return inner.get_executor(); }
};

BOOST_FIXTURE_TEST_SUITE(on_five_servers, shared_servers<5>)

BOOST_AUTO_TEST_CASE(any_thread_may_start_every_operation) {
    pool p(instances.config());
    in_threads(30, [&](std::size_t i) {
        const mutex lock(p.locks(), "x" + std::to_string(i));
        lease held = lock.acquire(asio::use_future).get();
        const bool refused = !is_held(lock.try_acquire(asio::use_future).get());
        const bool refused_for = !is_held(lock.try_acquire_for(1ms, asio::use_future).get());
        held.extend(20s, asio::use_future).get();
        const bool valid = held.valid();
        const bool ready = p.locks().instances().size() == 5;
        auto loss = held.wait_lost(as_future);
        const auto result = held.release(asio::use_future).get();
        const bool told = std::get<0>(loss.get()) == errc::not_held;
        if (!refused || !refused_for || !valid || !ready || !told || held.loss() ||
            result != release_result::released) {
            throw std::logic_error("something went wrong");  // Ends the test program.
        }
    });
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
    BOOST_TEST(p.locks().counters().acquired == 120U);
    BOOST_TEST(p.locks().counters().released == 120U);
}

BOOST_AUTO_TEST_CASE(any_thread_may_use_a_shared_mutex) {
    pool p(instances.config());
    in_threads(30, [&](std::size_t i) {
        const shared_mutex lock(p.locks(), "x" + std::to_string(i % 8));
        lease held = i % 5 == 0 ? lock.acquire(asio::use_future).get()
                                : lock.acquire_shared(asio::use_future).get();
        bool right = held.valid() && !held.resource().empty() && !held.token().empty();
        if (i % 5 == 0) {
            auto done = lock.downgrade(held, as_future);
            right = right && held.valid() && !held.resource().empty() && !held.token().empty();
            right = right && !std::get<0>(done.get());
        }
        lease another = lock.share(held, asio::use_future).get();
        right = right && held.release(asio::use_future).get() == release_result::released;
        right = right && !held.valid() && another.valid() && !another.loss();
        if (!right) {
            throw std::logic_error("something went wrong");  // Ends the test program.
        }
    });
    p.wait_settled();
    wait_until([&] { return instances.keys() == 0; });  // Including the writer marks.
}

asio::awaitable<void> visit(client& locks, std::atomic<int>& inside, std::atomic<int>& violations,
                            std::atomic<int>& entered) {
    for (int i = 0; i != 10; ++i) {
        lease held = co_await mutex(locks, "room").acquire();
        violations += inside++ != 0 || !held.valid() ? 1 : 0;
        ++entered;
        co_await asio::post(asio::deferred);
        violations += --inside != 0 ? 1 : 0;
        if (i % 2 == 0) {
            co_await held.release();
        }
    }
}

BOOST_AUTO_TEST_CASE(threads_exclude_each_other) {
    pool p(instances.config());
    std::atomic<int> inside = 0;
    std::atomic<int> violations = 0;
    std::atomic<int> entered = 0;
    std::vector<std::future<void>> visitors;
    for (int i = 0; i != 12; ++i) {
        visitors.push_back(asio::co_spawn(p.strand(), visit(p.locks(), inside, violations, entered),
                                          asio::use_future));
    }
    for (auto& visitor : visitors) {
        BOOST_TEST_REQUIRE((visitor.wait_for(60s) == std::future_status::ready));
        visitor.get();
    }
    BOOST_TEST(entered == 120);
    BOOST_TEST(violations == 0);
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(any_thread_may_destroy_a_lease) {
    pool p(instances.config());
    in_threads(50, [&](std::size_t i) {
        lock_options often = with_ttl(1min);
        often.renew = 1ms;  // Keeps the watchdog busy.
        lease held =
            mutex(p.locks(), "x" + std::to_string(i), often).acquire(asio::use_future).get();
        if (i % 2 == 0) {
            held = lease();
        } else {
            std::jthread elsewhere([l = std::move(held)] {});
        }
    });
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
}

/// An acquire that one thread starts and another cancels.
struct cancellable {
    asio::cancellation_signal signal;
    std::promise<error> ended;
};

BOOST_AUTO_TEST_CASE(any_thread_may_cancel_an_acquire) {
    pool p(instances.config());
    std::atomic<std::size_t> cancelled = 0;
    in_threads(100, [&](std::size_t i) {
        std::mt19937 random(static_cast<unsigned>(i));
        const auto one = std::make_shared<cancellable>();
        auto ended = one->ended.get_future();
        mutex(p.locks(), i % 3 == 0 ? "shared" : "x" + std::to_string(i))
            .acquire(asio::bind_cancellation_slot(one->signal.slot(), [one](error e, const lease&) {
                one->ended.set_value(std::move(e));
            }));
        const std::chrono::microseconds moment(random() % 1500);
        const auto start = steady_clock::now();
        asio::post(p.context(), [=] {
            while (steady_clock::now() - start < moment) {
            }
            one->signal.emit(asio::cancellation_type::terminal);
        });
        cancelled += ended.get() == aborted ? 1 : 0;
    });
    BOOST_TEST(cancelled > 0U);
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(with_lock_excludes_bodies_in_other_threads) {
    pool p(instances.config());
    std::atomic<int> inside = 0;
    std::atomic<int> violations = 0;
    std::atomic<std::size_t> ran = 0;
    const auto visit_room = [&](lease& held, bool extends) -> asio::awaitable<void> {
        violations += inside++ != 0 ? 1 : 0;
        ++ran;
        if (extends) {
            try {
                co_await held.extend(20s);
            } catch (const boost::system::system_error& e) {  // The body was cancelled.
                --inside;
                throw;
            }
        }
        --inside;
    };
    // Each coroutine catches its own exception on its own strand. See as_future.
    std::vector<std::future<boost::system::error_code>> all;
    for (std::size_t i = 0; i != 60; ++i) {
        all.push_back(asio::co_spawn(
            p.strand(),
            [](client& locks, auto enter,
               std::size_t k) -> asio::awaitable<boost::system::error_code> {
                const mutex lock(locks, "room");
                const own_lock own{lock};  // GCC 12 destroys an unnamed aggregate twice.
                auto body = [=](lease& held) { return enter(held, k % 5 == 0); };
                try {
                    if (k % 2 == 0) {
                        co_await with_lock(lock, body);
                    } else if (k % 3 == 0) {
                        co_await with_lock(own, body,
                                           asio::cancel_after(std::chrono::milliseconds(k)));
                    } else {
                        co_await with_lock(lock, body,
                                           asio::cancel_after(std::chrono::milliseconds(k)));
                    }
                } catch (const boost::system::system_error& e) {
                    co_return e.code();
                }
                co_return boost::system::error_code();
            }(p.locks(), visit_room, i),
            asio::use_future));
    }
    std::size_t aborts = 0;
    for (auto& one : all) {
        BOOST_TEST_REQUIRE((one.wait_for(60s) == std::future_status::ready));
        if (const auto code = one.get()) {
            BOOST_TEST(code == aborted);
            ++aborts;
        }
    }
    BOOST_TEST(violations == 0);
    BOOST_TEST(ran + aborts >= 60U);
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(a_loss_cancels_the_body_on_its_own_executor) {
    pool p(instances.config());
    std::vector<std::future<void>> all;
    std::atomic<std::size_t> inside = 0;
    for (std::size_t i = 0; i != 8; ++i) {
        auto body = [&](lease&) -> asio::awaitable<void> {
            ++inside;
            co_await async_wait_until([] { return false; }, 30s);
        };
        const mutex lock(p.locks(), "x" + std::to_string(i), with_ttl(500ms));
        all.push_back(i % 2 == 0 ? with_lock(lock, body, asio::use_future)
                                 : with_lock(own_lock{lock}, body, asio::use_future));
    }
    wait_until([&] { return inside == 8; });
    instances.flush();
    for (auto& one : all) {
        BOOST_TEST_REQUIRE((one.wait_for(30s) == std::future_status::ready));
        BOOST_CHECK_THROW(one.get(), lease_lost);
    }
}

/// Otherwise a lease that is dropped at that moment would consider itself released, and its keys would remain
/// until their ttl.
BOOST_AUTO_TEST_CASE(a_lost_lease_never_looks_released) {
    pool p(instances.config());
    lock_options short_hold = with_ttl(1min);
    short_hold.max_hold = 1ms;
    std::atomic<std::size_t> looked_released = 0;
    in_threads(100, [&](std::size_t i) {
        const mutex lock(p.locks(), "x" + std::to_string(i), short_hold);
        const lease held = lock.acquire(asio::use_future).get();
        while (held.valid_until() != steady_clock::time_point::min()) {
        }
        looked_released += held.loss() ? 0 : 1;
    });
    BOOST_TEST(looked_released == 0U);
    p.wait_settled();
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(another_thread_may_close_the_client) {
    for (int i = 0; i != 5; ++i) {
        pool p(instances.config());
        std::atomic<bool> stop = false;
        std::atomic<int> failures = 0;
        std::vector<std::jthread> users;
        for (std::size_t t = 0; t != thread_count; ++t) {
            users.emplace_back([&, t] {
                const mutex lock(p.locks(), "x" + std::to_string(t));
                while (!stop) {
                    const auto [e, held] = lock.acquire(as_future).get();
                    failures += e && e != errc::client_closed ? 1 : 0;
                }
            });
        }
        wait_until([&] { return p.locks().counters().acquired > 50; });
        p.locks().close(asio::use_future).get();
        stop = true;
        users.clear();
        BOOST_TEST(failures == 0);
        BOOST_TEST(instances.keys() == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// The set of nodes and the map of the slots change while threads use them.
BOOST_AUTO_TEST_CASE(any_thread_may_use_a_cluster_that_fails_over) {
    redis_cluster nodes(3, 1);
    config configuration = config::from_uris({nodes.uri(6)});
    configuration.failover_quarantine = 2s;
    pool p(std::move(configuration));
    lock_options options = with_ttl(2s);
    options.unavailable_timeout = 60s;
    const std::string hot = "x0";
    std::atomic<std::size_t> failures = 0;
    std::vector<std::jthread> users;
    for (std::size_t t = 0; t != thread_count; ++t) {
        users.emplace_back([&, t](const std::stop_token& end) {
            for (std::size_t i = 0; !end.stop_requested(); ++i) {
                const mutex lock(p.locks(), i % 2 == 0 ? hot : "x" + std::to_string(t), options);
                auto [e, held] = lock.acquire(as_future).get();
                failures += e ? 1 : 0;
                held.release(as_future).get();  // After a failover, it may already be lost.
            }
        });
    }
    users.emplace_back([&](const std::stop_token& end) {
        while (!end.stop_requested()) {
            for (const instance_info& one : p.locks().instances()) {
                failures += one.nodes.size() > 6 ? 1 : 0;
            }
            std::this_thread::sleep_for(1ms);
        }
    });
    const auto serves = [&](std::size_t more) {
        const std::uint64_t enough = p.locks().counters().acquired + more;
        wait_until([&] { return p.locks().counters().acquired > enough; }, 60s);
    };
    serves(50);
    const redis_server& next = nodes[nodes.first_owner_of(hot) + 3];
    redis_cluster::wait_until_synchronized(next);
    nodes.wait_until_agreed();
    redis_cluster::promote(next);
    serves(50);
    users.clear();
    BOOST_TEST(failures == 0U);
    p.wait_settled();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
