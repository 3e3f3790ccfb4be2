#include "integration/client_process.hpp"
#include "integration/locks.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The renewal of leases, while servers and holders come and go.

namespace {

using namespace colock;
using namespace colock::test;

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
    return renewed_every(100ms, 3s);
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
        client_process holder("x", ttl, instances.config());
        const std::string answer = co_await holder.ask("acquire");
        BOOST_TEST(answer == "held");
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
            co_await renewed_more(locks, 3);
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            five[4].resume();
            co_await settled(locks);
            BOOST_TEST(five.holding("x") == 0U);
        }
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
