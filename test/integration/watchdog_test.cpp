#include "integration/locks.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The renewal of leases, while servers and holders come and go.

namespace {

using namespace colock;
using namespace colock::test;

/// The process of lock_holder.cpp. Killed with the object.
class holder_process {
public:
    holder_process(const std::string& resource, milliseconds ttl,
                   const std::vector<std::string>& uris) {
        std::vector<std::string> words{LOCK_HOLDER, resource, std::to_string(ttl.count())};
        words.insert(words.end(), uris.begin(), uris.end());
        std::vector<char*> arguments;
        for (std::string& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        int ends[2];
        if (::pipe(ends) != 0) {
            throw std::runtime_error("pipe");
        }
        output_ = ends[0];
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent && ::dup2(ends[1], STDOUT_FILENO) >= 0) {
                ::close_range(3, ~0U, 0);
                ::execv(arguments[0], arguments.data());
            }
            ::_exit(127);
        }
        ::close(ends[1]);
    }
    holder_process(const holder_process&) = delete;
    holder_process& operator=(const holder_process&) = delete;
    ~holder_process() {
        kill();
        ::close(output_);
    }

    /// Blocks until it says that it holds the lock.
    void wait_held() const {
        char text[5];
        std::size_t size = 0;
        while (size != sizeof text) {
            const auto got = ::read(output_, text + size, sizeof text - size);
            if (got <= 0) {
                throw std::runtime_error("the holder did not get the lock");
            }
            size += static_cast<std::size_t>(got);
        }
    }

    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
            pid_ = 0;
        }
    }

    void pause() const { ::kill(pid_, SIGSTOP); }
    void resume() const { ::kill(pid_, SIGCONT); }

private:
    pid_t pid_ = 0;
    int output_ = -1;
};

/// The majority that this many servers' keys make: the ttl that is left on the third-best of five.
std::optional<milliseconds> quorum_pttl(servers& instances, const std::string& key) {
    std::vector<milliseconds> left;
    for (const auto& server : instances) {
        left.push_back(pttl(server, key).value_or(-1ms));
    }
    std::sort(left.begin(), left.end(), std::greater<>());
    const milliseconds of_quorum = left.at(left.size() / 2);
    return of_quorum < 0ms ? std::nullopt : std::optional(of_quorum);
}

/// Many renewals, and time to spare for a machine that is busy with other things.
lock_options renewed_often() {
    lock_options options = with_ttl(3s);
    options.renew = 100ms;
    return options;
}

/// To be asked in short intervals whether the lease is held still. When it is not, it tells for how
/// long this process itself stood still: who does not run cannot renew.
class held_still {
public:
    explicit held_still(const lease& held) : held_(held) {}

    void operator()() {
        const auto now = steady_clock::now();
        longest_pause_ = std::max(longest_pause_, now - last_);
        last_ = now;
        BOOST_TEST_REQUIRE(held_.valid(), held_.loss().message() << "; the test stood still for "
                                                                 << longest_pause_ / 1ms << " ms");
    }

private:
    const lease& held_;
    steady_clock::time_point last_ = steady_clock::now();
    steady_clock::duration longest_pause_{};
};

BOOST_FIXTURE_TEST_SUITE(watchdog_test, shared_servers<5>)

BOOST_AUTO_TEST_CASE(a_lease_of_one_second_held_for_five) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        const mutex same(others, "x");
        const stopwatch watch;
        milliseconds least = 1s;
        co_await async_wait_until([&] {
            const auto left = quorum_pttl(instances, "x");
            BOOST_TEST_REQUIRE(left.has_value());
            BOOST_TEST_REQUIRE(held.valid());
            least = std::min(least, *left);
            return watch.elapsed() >= 5s;
        });
        BOOST_TEST_MESSAGE("the least ttl was " << least.count() << " ms");
        BOOST_TEST((least > 0ms));
        const auto refused = co_await same.try_acquire();
        BOOST_TEST(!refused.has_value());
        BOOST_TEST(locks.counters().renewed >= 8U);
        BOOST_TEST(locks.counters().lost == 0U);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }());
}

/// No key lives for longer than the ttl, whatever is sent how often.
BOOST_AUTO_TEST_CASE(the_ttl_never_grows) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lock_options often = with_ttl(500ms);
        often.renew = 10ms;
        const lease held = co_await mutex(locks, "x", often).acquire();
        co_await async_wait_until([&] {
            for (const auto& server : instances) {
                BOOST_TEST((pttl(server, "x").value_or(0ms) <= 500ms));
            }
            return locks.counters().renewed >= 50;
        });
    }());
}

BOOST_AUTO_TEST_CASE(the_lock_of_a_killed_process_is_free_after_the_ttl) {
    run_test([&]() -> asio::awaitable<void> {
        constexpr milliseconds ttl = 1s;
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        holder_process holder("x", ttl, instances.uris());
        holder.wait_held();
        const mutex lock(locks, "x");
        auto refused = co_await lock.try_acquire_for(2 * ttl);  // it renews
        BOOST_TEST(!refused.has_value());
        holder.kill();
        const stopwatch since;
        const lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST((since.elapsed() <= ttl + 1s));
        BOOST_TEST_MESSAGE("free after " << since.elapsed().count() << " ms");
    }());
}

BOOST_AUTO_TEST_CASE(renewals_go_on_with_a_minority_stopped) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        held_still still(held);
        five[0].pause();
        five[3].pause();
        const auto renewed = locks.counters().renewed;
        co_await async_wait_until([&] {  // past the silence timeout
            still();
            return locks.counters().renewed >= renewed + 30;
        });
        BOOST_TEST(locks.counters().lost == 0U);
        // Back again, they get their keys again.
        five[0].resume();
        five[3].resume();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        BOOST_TEST(held.valid());
    }());
}

BOOST_AUTO_TEST_CASE(renewals_go_on_with_a_minority_killed_and_restarted) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        held_still still(held);
        five[1].kill();
        five[2].kill();
        const auto renewed = locks.counters().renewed;
        co_await async_wait_until([&] {
            still();
            return locks.counters().renewed >= renewed + 20;
        });
        five[1].restart();
        five[2].restart();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        BOOST_TEST(held.valid());
        BOOST_TEST(locks.counters().lost == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(a_majority_stopped_is_a_loss_announced_in_time) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        for (const std::size_t i : {0U, 1U, 2U}) {
            five[i].pause();
        }
        lease::time_point valid_until{};
        std::optional<steady_clock::time_point> lost;
        held.wait_lost([&](error e) {
            BOOST_TEST(!e);
            lost = steady_clock::now();
        });
        co_await async_wait_until([&] {
            valid_until = held.valid() ? held.valid_until() : valid_until;
            return lost.has_value();
        });
        BOOST_TEST((*lost < valid_until));
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.loss() == errc::lease_lost));
        BOOST_TEST((held.loss() == condition::lost));
        BOOST_TEST(locks.counters().renewals_failed != 0U);

        // What was sent to them meanwhile does not bring it back.
        for (const std::size_t i : {0U, 1U, 2U}) {
            five[i].resume();
        }
        co_await settled(locks);
        BOOST_TEST(five.holding("x") == 0U);
        BOOST_TEST(!held.valid());
        const auto free = co_await mutex(locks, "x").try_acquire_for(5s);
        BOOST_TEST(free.has_value());
    }());
}

BOOST_AUTO_TEST_CASE(a_majority_stopped_cancels_the_body_of_with_lock_in_time) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lease::time_point valid_until{};
        steady_clock::time_point stopped{};
        bool lost = false;
        try {
            co_await with_lock(
                mutex(locks, "x", with_ttl(1s)), [&](lease& held) -> asio::awaitable<void> {
                    for (const std::size_t i : {0U, 2U, 4U}) {
                        five[i].pause();
                    }
                    try {
                        co_await async_wait_until([&] {
                            valid_until = held.valid() ? held.valid_until() : valid_until;
                            return false;
                        });
                    } catch (const boost::system::system_error& e) {
                        stopped = steady_clock::now();
                        BOOST_TEST(e.code() == aborted);
                        throw;
                    }
                });
        } catch (const lease_lost&) {
            lost = true;
        }
        BOOST_TEST(lost);
        BOOST_TEST((stopped < valid_until));
        for (const std::size_t i : {0U, 2U, 4U}) {
            five[i].resume();
        }
    }());
}

/// The client's process stands still past the ttl; then it must not believe in its lease.
BOOST_AUTO_TEST_CASE(a_holder_that_stood_still_past_its_ttl) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(200ms)).acquire();
        wait_until([&] { return instances.holding("x") == 0; });  // nothing runs meanwhile
        BOOST_TEST(!held.valid());
        for (auto& server : instances) {
            hold_by_hand(server, "x", 1min);
        }
        co_await held.wait_lost();
        BOOST_TEST(!held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result != release_result::released));
        co_await settled(locks);
        BOOST_TEST(instances[0].command({"GET", "x"}).value() == "somebody else");
        BOOST_TEST(instances.holding("x") == 5U);
    }());
}

/// A stopped server gets the renewal and the release when it wakes, in this order.
BOOST_AUTO_TEST_CASE(no_key_is_left_on_a_server_that_slept_through_the_release) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lock_options often = with_ttl(10s);
        often.renew = 20ms;
        for (int i = 0; i != 5; ++i) {
            lease held = co_await mutex(locks, "x", often).acquire();
            co_await async_wait_until([&] { return five.holding("x") == 5; });
            five[4].pause();
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 3; });
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            five[4].resume();
            co_await settled(locks);
            BOOST_TEST(five.holding("x") == 0U);
        }
    }());
}

/// A renewal that is under way when the lease is let go does not bring the key back.
BOOST_AUTO_TEST_CASE(a_release_right_after_a_renewal) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lock_options often = with_ttl(1min);
        often.renew = 1ms;
        for (std::size_t i = 0; i != 200; ++i) {
            lease held = co_await mutex(locks, "x" + std::to_string(i), often).acquire();
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed != renewed; });
            if (i % 4 == 0) {
                instances[i % 5].flush();  // to be healed just now
            }
            if (i % 2 == 0) {
                held.extend(2min, [](error) {});
            }
            held = lease();
        }
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(scripts_flushed_while_held) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(500ms)).acquire();
        for (int i = 0; i != 3; ++i) {
            for (auto& server : instances) {
                server.command({"SCRIPT", "FLUSH"});
            }
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 2; });
            BOOST_TEST(held.valid());
        }
        BOOST_TEST(locks.counters().renewals_failed == 0U);
        for (auto& server : instances) {
            server.command({"SCRIPT", "FLUSH"});
        }
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
        BOOST_TEST(ready_instances(locks) == 5U);
    }());
}

/// All servers stand still, for longer than the ttl: no renewal that comes through then counts.
BOOST_AUTO_TEST_CASE(servers_paused_past_the_ttl) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(500ms)).acquire();
        for (auto& server : instances) {
            server.command({"CLIENT", "PAUSE", "1500", "ALL"});
        }
        const auto valid_until = held.valid_until();
        co_await held.wait_lost();
        BOOST_TEST((steady_clock::now() < valid_until + 500ms));
        BOOST_TEST(!held.valid());
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
        BOOST_TEST((held.loss() == errc::lease_lost));
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
