// Restarts without data: what becomes of mutual exclusion when servers forget.

#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>

namespace {

using namespace std::chrono_literals;
using namespace colock;
using namespace colock::test;

/// Somebody holds a lock on three instances; two of them restart, without their data, before its end.
/// How much of the lease's validity is left when somebody else gets the lock.
///
/// `known`: the other one has been connected to the instances before.
steady_clock::duration left_when_taken(milliseconds quarantine, bool known) {
    constexpr milliseconds ttl = 3s;
    steady_clock::duration left{};
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        config configuration = three.config();
        configuration.restart_quarantine = quarantine;
        const auto executor = co_await asio::this_coro::executor;
        client holder(executor, three.config());
        std::optional<client> other;
        if (known) {
            other.emplace(executor, configuration);
            co_await async_wait_until([&] { return ready_instances(*other) == 3; });
        }
        co_await all_ready(holder);
        // A watchdog would notice, and the lease would be lost before its end.
        lease held = co_await mutex(holder, "x", without_watchdog(ttl)).acquire();
        const auto valid_until = held.valid_until();
        three[0].restart();
        three[1].restart();
        if (!known) {
            other.emplace(executor, configuration);
        }
        lock_options patient = with_ttl(ttl);
        patient.unavailable_timeout = 1min;
        const lease taken = co_await mutex(*other, "x", patient).acquire();
        left = valid_until - steady_clock::now();
        BOOST_TEST(taken.valid());
    }());
    return left;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(fault_restart_test)

BOOST_AUTO_TEST_CASE(fault_24_restart_without_data_while_held) {
    for (const bool known : {true, false}) {
        BOOST_TEST_CONTEXT((known ? "one who has been connected" : "a new one")) {
            BOOST_TEST((left_when_taken(3s, known) <= 0s));
            // Without it there are two holders; so the test can fail.
            BOOST_TEST((left_when_taken(0s, known) > 0s));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
