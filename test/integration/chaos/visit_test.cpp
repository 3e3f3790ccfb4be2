// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/visit.hpp"

#include "integration/locks.hpp"
#include "support/redis_server.hpp"
#include "support/sections.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <thread>

// When a process is inside a critical section, by the account of its lease.

namespace {

using namespace colock;
using namespace colock::chaos;
using namespace colock::test;

/// The lines that visits write.
struct journal {
    temporary_folder folder;
    std::ofstream out{folder.path() / "sections"};

    std::vector<section> sections() {
        out.flush();
        return read_sections(folder.path() / "sections", "somebody");
    }
    section only() {
        const auto all = sections();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        return all.front();
    }
};

/// Runs the test with a lease on a lock that only this process uses.
template <typename Test>
void with_lease(const lock_options& options, Test test) {
    config configuration;
    configuration.instances = {"memory://visits"};
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, configuration);
        lease held = co_await mutex(locks, "x", options).acquire();
        journal lines;
        co_await test(held, lines);
    }());
}

/// Simulates a stopped process: no handler runs until then.
void stand_still_until(steady_clock::time_point time) {
    std::this_thread::sleep_until(time);
}

BOOST_AUTO_TEST_SUITE(visit_test)

BOOST_AUTO_TEST_CASE(a_visit_ends_when_leave_is_called) {
    with_lease(with_ttl(10s), [](lease& held, journal& lines) -> asio::awaitable<void> {
        const auto asked = steady_clock::now();
        visit inside(lines.out, held, asked, trust::in_lease);
        BOOST_TEST(inside.look());
        inside.leave();
        const auto left = steady_clock::now();
        inside.leave();  // Has no effect.
        const section s = lines.only();
        BOOST_TEST(s.name == "x");
        BOOST_TEST(s.token == held.token());
        BOOST_TEST((s.asked == asked.time_since_epoch()));
        BOOST_TEST((s.asked <= s.entered && s.entered <= s.left));
        BOOST_TEST((s.left <= left.time_since_epoch()));
        co_return;
    });
}

BOOST_AUTO_TEST_CASE(a_visit_without_looks_ends_with_the_validity) {
    with_lease(without_watchdog(100ms), [](lease& held, journal& lines) -> asio::awaitable<void> {
        const auto until = held.valid_until();
        {
            const visit inside(lines.out, held, steady_clock::now(), trust::in_lease);
            stand_still_until(until + 20ms);
        }
        BOOST_TEST((lines.only().left == until.time_since_epoch()));
        co_return;
    });
}

BOOST_AUTO_TEST_CASE(a_visit_ends_when_the_loss_is_reported) {
    lock_options options = with_ttl(10s);
    options.max_hold = 50ms;
    with_lease(options, [](lease& held, journal& lines) -> asio::awaitable<void> {
        visit inside(lines.out, held, steady_clock::now(), trust::in_lease);
        co_await async_wait_until([&] { return !inside.look(); });
        const auto noticed = steady_clock::now();
        stand_still_until(noticed + 20ms);
        inside.leave();
        const section s = lines.only();
        BOOST_TEST((s.left <= noticed.time_since_epoch()));
        BOOST_TEST((s.left > s.entered));
    });
}

BOOST_AUTO_TEST_CASE(a_visit_does_not_begin_without_a_valid_lease) {
    with_lease(without_watchdog(20ms), [](lease& held, journal& lines) -> asio::awaitable<void> {
        stand_still_until(held.valid_until());
        visit(lines.out, held, steady_clock::now(), trust::in_lease).leave();
        BOOST_TEST(lines.sections().empty());
        co_return;
    });
}

/// The behaviour of the broken client.
BOOST_AUTO_TEST_CASE(a_visit_without_trust_continues_past_the_validity) {
    with_lease(without_watchdog(20ms), [](lease& held, journal& lines) -> asio::awaitable<void> {
        const auto past = held.valid_until() + 10ms;
        {
            visit inside(lines.out, held, steady_clock::now(), trust::in_nothing);
            stand_still_until(past);
            BOOST_TEST(inside.look());
        }
        BOOST_TEST((lines.only().left >= past.time_since_epoch()));
        co_return;
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
