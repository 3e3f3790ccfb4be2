// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Versioned values on one real server: the result of a write when its request or its reply is lost or late.

#include "integration/locks.hpp"
#include "kinds/scripts.hpp"

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

BOOST_AUTO_TEST_SUITE(versioned_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

using verdict = std::optional<write_outcome>;

/// The bytes by which a proxy recognizes a write.
const std::string a_write(kinds::scripts::write.digest);

/// Returns options that retry for this time, at short intervals.
versioned_options trying_for(milliseconds time) {
    versioned_options options;
    options.unavailable_timeout = time;
    options.retry = {1ms, 20ms, 0};
    return options;
}

const versioned_options persistent = trying_for(1min);

/// A write that runs in parallel with the test.
struct pending_write {
    void start(const versioned& what, std::uint64_t version, std::string value) {
        what.compare_exchange(
            version, std::move(value),
            asio::bind_cancellation_slot(signal.slot(), [this](error e, const write_outcome& came) {
                failed = std::move(e);
                outcome = came;
            }));
    }
    [[nodiscard]] bool done() const { return outcome.has_value(); }

    asio::cancellation_signal signal;
    error failed;
    verdict outcome;
};

template <typename Operation>
asio::awaitable<error> failure_of(Operation operation) {
    const auto [failed, result] =
        co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
    co_return failed;
}

/// Returns the exception that `update` throws.
template <typename Function>
asio::awaitable<std::exception_ptr> thrown_by_update(const versioned& what, Function function) {
    const auto [thrown, state] =
        co_await what.update(std::move(function), asio::as_tuple(asio::use_awaitable));
    co_return thrown;
}

bool contains(const error& e, std::string_view text) {
    return e.message().find(text) != std::string::npos;
}

/// Writes `times` times, starting from this version. Returns the last version.
asio::awaitable<std::uint64_t> write_often(const versioned& what, std::uint64_t version,
                                           int times) {
    for (int i = 0; i != times; ++i) {
        const write_outcome now = co_await what.compare_exchange(version, std::to_string(i));
        BOOST_TEST_REQUIRE(now.applied);
        version = now.current.version;
    }
    co_return version;
}

std::optional<std::string> add_one(const versioned_state& now) {
    return std::to_string(now.value ? std::stoi(*now.value) + 1 : 1);
}

using close_by = shared_servers<1>;

BOOST_FIXTURE_TEST_SUITE(close_by_servers, close_by)

BOOST_AUTO_TEST_CASE(a_write_needs_the_version_that_was_read) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const versioned page(locks, "page", persistent);
        BOOST_TEST(page.resource() == "page");
        const versioned_state none = co_await page.read();
        BOOST_TEST((!none.value && none.version == 0U));
        const write_outcome first = co_await page.compare_exchange(0, "one");
        BOOST_TEST(first.applied);
        BOOST_TEST(first.current.value.value() == "one");
        const write_outcome refused = co_await page.compare_exchange(0, "two");
        BOOST_TEST(!refused.applied);
        BOOST_TEST(refused.current.value.value() == "one");
        BOOST_TEST(refused.current.version == first.current.version);
        const write_outcome second =
            co_await page.compare_exchange(first.current.version, std::string("a\0\r\nb", 5));
        BOOST_TEST(second.applied);
        BOOST_TEST(second.current.version > first.current.version);
        BOOST_TEST(((co_await page.read()).value == std::string("a\0\r\nb", 5)));
        const write_outcome empty = co_await page.compare_exchange(second.current.version, "");
        BOOST_TEST(empty.applied);
        BOOST_TEST(((co_await page.read()).value == std::string()));
        const write_outcome gone = co_await page.erase(empty.current.version);
        BOOST_TEST(gone.applied);
        BOOST_TEST(!gone.current.value);
        const versioned_state after = co_await page.read();
        BOOST_TEST((!after.value && after.version == gone.current.version));
        const counters counted = locks.counters();
        BOOST_TEST(counted.records_read == 4U);
        BOOST_TEST(counted.writes_applied == 4U);
        BOOST_TEST(counted.writes_refused == 1U);
        BOOST_TEST(counted.writes_unknown == 0U);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_key_lives_as_long_as_its_value_and_a_week) {
    constexpr milliseconds week = std::chrono::hours(24 * 7);
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const redis_server& server = instances[0];
        const versioned lasting(locks, "x", persistent);
        versioned_options with_end = persistent;
        with_end.ttl = 1h;
        const versioned ending(locks, "x", with_end);
        write_outcome now = co_await lasting.compare_exchange(0, "one");
        BOOST_TEST(!pttl(server, "x").has_value());
        now = co_await ending.compare_exchange(now.current.version, "two");
        BOOST_TEST((pttl(server, "x").value() > week + 59min));
        now = co_await lasting.compare_exchange(now.current.version, "three");
        BOOST_TEST(!pttl(server, "x").has_value());
        now = co_await lasting.erase(now.current.version);
        BOOST_TEST((pttl(server, "x").value() > week - 1min && pttl(server, "x").value() <= week));
        // Nothing of the value is left.
        BOOST_TEST(server.command({"HGET", "x", "d"}).value() == "");
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(updates_of_many_tasks_are_all_counted) {
    constexpr int tasks = 20;
    constexpr int updates = 10;
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        std::vector<std::shared_ptr<background>> all;
        for (int i = 0; i != tasks; ++i) {
            all.push_back(co_await start([](client& of) -> asio::awaitable<void> {
                const versioned likes(of, "likes", persistent);
                for (int n = 0; n != updates; ++n) {
                    co_await likes.update(add_one);
                }
            }(i % 2 == 0 ? a : b)));
        }
        for (const auto& one : all) {
            co_await async_wait_until([&] { return one->done; }, 30s);
            BOOST_TEST((one->thrown == nullptr));
        }
        const versioned_state end = co_await versioned(a, "likes").read();
        BOOST_TEST(end.value.value() == std::to_string(tasks * updates));
        BOOST_TEST(a.counters().writes_applied + b.counters().writes_applied ==
                   static_cast<std::uint64_t>(tasks * updates));
        BOOST_TEST(a.counters().writes_refused + b.counters().writes_refused > 0U);
        co_await a.close();
        co_await b.close();
    });
}

BOOST_AUTO_TEST_CASE(an_update_can_leave_the_value_and_can_throw) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const versioned x(locks, "x", persistent);
        const auto nothing = [](const versioned_state&) { return std::optional<std::string>(); };
        BOOST_TEST((co_await x.update(nothing)).version == 0U);
        BOOST_TEST(instances.keys() == 0U);
        const versioned_state one = co_await x.update(add_one);
        BOOST_TEST(one.value.value() == "1");
        BOOST_TEST((co_await x.update(nothing)).version == one.version);
        const auto fails = [](const versioned_state&) -> std::string {
            throw std::runtime_error("no stock");
        };
        BOOST_CHECK_THROW(std::rethrow_exception(co_await thrown_by_update(x, fails)),
                          std::runtime_error);
        BOOST_TEST((co_await x.read()).version == one.version);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(an_update_gives_up_after_so_many_refusals) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        versioned_options options = persistent;
        options.retry.attempts = 3;
        const versioned x(locks, "x", options);
        int calls = 0;
        const auto meets_another = [&](const versioned_state& now) {
            ++calls;
            // Another program writes just before.
            const std::string from = std::to_string(now.version);
            instances[0].command({"EVALSHA", std::string(kinds::scripts::write.digest), "1", "x",
                                  "ab" + std::to_string(calls), from, "0", "9", "theirs"});
            return std::string("ours");
        };
        try {
            co_await x.update(meets_another);
            BOOST_ERROR("it was written");
        } catch (const lock_error& failed) {
            BOOST_TEST((failed.code() == errc::contended));
            BOOST_TEST(std::string(failed.what()).find("'x': 3 writes were refused") !=
                       std::string::npos);
        }
        BOOST_TEST(calls == 3);
        BOOST_TEST((co_await x.read()).value.value() == "theirs");
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(large_values_pass_in_both_directions) {
    config configuration = instances.config();
    configuration.silence_timeout = 1min;  // All 40 MiB must pass within this time.
    configuration.connect_timeout = 20s;
    run_test(
        [&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, configuration);
            constexpr std::size_t size = std::size_t{1} << 20U;
            constexpr int count = 40;
            int done = 0;
            std::vector<versioned> all;
            for (int i = 0; i != count; ++i) {
                all.emplace_back(locks, "x" + std::to_string(i), persistent);
            }
            for (const versioned& one : all) {
                one.compare_exchange(0, std::string(size, 'x'), [&](error e, write_outcome now) {
                    BOOST_TEST(!e, e.message());
                    BOOST_TEST(now.applied);
                    ++done;
                });
            }
            co_await async_wait_until([&] { return done == count; }, 60s);
            for (const versioned& one : all) {
                one.read([&](error e, const versioned_state& now) {
                    BOOST_TEST(!e, e.message());
                    BOOST_TEST((now.value == std::string(size, 'x')));
                    --done;
                });
            }
            co_await async_wait_until([&] { return done == 0; }, 60s);
            co_await locks.close();
        }(),
        2min);
    instances.flush();
}

/// Another program writes a value that does not fit into a reply for this client.
BOOST_AUTO_TEST_CASE(a_value_that_is_too_long_for_a_client_leaves_it_connected) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        config configuration = instances.config();
        configuration.max_reply_size = std::size_t{1} << 17U;
        client small(executor, configuration);
        client large(executor, instances.config());
        co_await all_ready(small);
        versioned_options options;
        options.unavailable_timeout = 1s;
        options.retry = {2s, 2s, 0};  // The last vote is therefore the refusal.
        const versioned of_large(large, "x", persistent);
        static_cast<void>(co_await of_large.compare_exchange(0, std::string(200'000, 'x')));
        options.longest_value = 1000;
        const versioned of_small(small, "x", options);
        const auto connections = [&] {
            const std::string info = instances[0].command({"INFO", "stats"}).value();
            const std::string field = "total_connections_received:";
            return std::stoi(info.substr(info.find(field) + field.size()));
        };
        const int before = connections();
        const error of_read = co_await failure_of([&](auto token) { return of_small.read(token); });
        const error of_write = co_await failure_of(
            [&](auto token) { return of_small.compare_exchange(0, "y", token); });
        BOOST_TEST((of_read == errc::no_quorum), of_read.message());
        BOOST_TEST((of_write == errc::no_quorum), of_write.message());
        BOOST_TEST(contains(of_write, "the write was not carried out"), of_write.message());
        for (const error& e : {of_read, of_write}) {
            BOOST_TEST(contains(e, "the value has 200000 bytes, which exceeds what this client "
                                   "takes (131008 bytes). Raise its max_reply_size"),
                       e.message());
        }
        BOOST_TEST(connections() - before <= 1);  // The connection of the query itself.
        BOOST_TEST((co_await of_large.read()).value.value().size() == 200'000U);
        co_await small.close();
        co_await large.close();
    }());
}

/// The error names the kind that has the key, and the expected one.
BOOST_AUTO_TEST_CASE(a_name_belongs_to_one_kind) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const versioned x(locks, "x", persistent);
        const auto expect = [&](const std::string& holder) -> asio::awaitable<void> {
            const error of_read = co_await failure_of([&](auto token) { return x.read(token); });
            const error of_write =
                co_await failure_of([&](auto token) { return x.compare_exchange(0, "y", token); });
            for (const error& e : {of_read, of_write}) {
                BOOST_TEST((e == errc::wrong_kind), e.message());
                BOOST_TEST(contains(e, holder), e.message());
                BOOST_TEST(contains(e, "'x': a versioned value cannot be "), e.message());
            }
        };
        {
            lease held = co_await mutex(locks, "x").acquire();
            co_await expect("a mutex");
            co_await held.release();
        }
        {
            lease held = co_await semaphore(locks, "x", 3).acquire();
            co_await expect("a semaphore of 3 permits");
            co_await held.release();
        }
        instances[0].command({"SET", "x", "1"});
        co_await expect("a value that colock did not write");
        instances[0].command({"DEL", "x"});
        instances[0].command({"HSET", "x", "v", "1"});
        co_await expect("a hash");
        instances[0].command({"DEL", "x"});
        instances[0].command({"RPUSH", "x", "1"});
        co_await expect("a list");
        instances[0].command({"DEL", "x"});

        static_cast<void>(co_await x.compare_exchange(0, "y"));
        const error of_semaphore = co_await failure_of(
            [&](auto token) { return semaphore(locks, "x", 3).acquire(token); });
        BOOST_TEST((of_semaphore == errc::wrong_kind), of_semaphore.message());
        BOOST_TEST(contains(of_semaphore, "the name belongs to a versioned value"),
                   of_semaphore.message());
        // The key has no ttl, so a mutex queries its content.
        const error of_mutex = co_await failure_of(
            [&](auto token) { return mutex(locks, "x").try_acquire_for(2s, token); });
        BOOST_TEST((!of_mutex || contains(of_mutex, "a versioned value")), of_mutex.message());
        const error waited = co_await failure_of([&](auto token) {
            lock_options options;
            options.retry.attempts = 3;
            return mutex(locks, "x", options).acquire(token);
        });
        BOOST_TEST(static_cast<bool>(waited));
        BOOST_TEST((co_await x.read()).value.value() == "y");
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(bad_input_is_refused_with_a_cure) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const auto problem_of = [&](auto function) -> std::string {
            try {
                function();
            } catch (const config_error& e) {
                return e.what();
            }
            return "none";
        };
        versioned_options small;
        small.longest_value = 3;
        const versioned x(locks, "x", small);
        const auto [long_value, written] = co_await x.compare_exchange(0, "four", asio::as_tuple);
        BOOST_TEST((long_value == errc::invalid_argument));
        BOOST_TEST(long_value.details() ==
                   "'x': value: it has 4 bytes, which exceeds longest_value (3). Store less or "
                   "raise longest_value");
        const auto [wrong, erased] = co_await x.erase(versioned::version_limit, asio::as_tuple);
        BOOST_TEST((wrong == errc::invalid_argument));
        BOOST_TEST(wrong.details() ==
                   "'x': version: no version follows 9007199254740992, since versions are below "
                   "2^53. Give the version that read or a write has reported. If it is this one, "
                   "delete the key");
        BOOST_TEST(problem_of([&] { versioned(locks, ""); }) ==
                   "resource: the name is empty. Name what the lock protects");
        versioned_options large;
        large.longest_value = std::size_t{16} << 20U;
        BOOST_TEST(problem_of([&] { versioned(locks, "x", large); }) ==
                   "longest_value: 16777216 bytes and 64 more do not fit into the client's "
                   "max_reply_size (16777216 bytes). Lower it or raise max_reply_size");
        versioned_options short_lived;
        short_lived.ttl = 1ms;
        BOOST_TEST(problem_of([&] { versioned(locks, "x", short_lived); }) ==
                   "ttl: 1 ms is out of range (10 ms to 31536000000 ms)");
        const auto too_long = [](const versioned_state&) { return std::string("four"); };
        const std::exception_ptr thrown = co_await thrown_by_update(x, too_long);
        BOOST_CHECK_EXCEPTION(std::rethrow_exception(thrown), lock_error, [](const lock_error& e) {
            return e.code() == errc::invalid_argument;
        });
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_version_at_its_end_is_a_final_error, *label("fault-145")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        versioned_options ending = persistent;
        ending.ttl = 1min;
        for (const versioned_options& options : {trying_for(3s), ending}) {
            const versioned x(locks, options.ttl == 0ms ? "lasting" : "ending", options);
            const std::string name(x.resource());
            co_await x.compare_exchange(0, "first");
            for (const std::uint64_t behind : {1U, 2U, 3U}) {
                const std::uint64_t version = versioned::version_limit - behind;
                instances[0].command({"HSET", name, "v", std::to_string(version)});
                BOOST_TEST((co_await x.read()).version == version);
                const stopwatch since;
                const error written = co_await failure_of(
                    [&](auto token) { return x.compare_exchange(version, "next", token); });
                BOOST_TEST((written == errc::invalid_argument), written.message());
                BOOST_TEST(written.details() ==
                           "'" + name + "': version: no version follows " +
                               std::to_string(version) +
                               ", since versions are below 2^53. Give the version that read or a "
                               "write has reported. If it is this one, delete the key");
                const error erased =
                    co_await failure_of([&](auto token) { return x.erase(version, token); });
                BOOST_TEST((erased == errc::invalid_argument), erased.message());
                BOOST_TEST((co_await thrown_by_update(x, add_one) != nullptr));
                BOOST_TEST((since.elapsed() < 2s));
            }
            const std::uint64_t last = versioned::version_limit - 4;
            instances[0].command({"HSET", name, "v", std::to_string(last)});
            BOOST_TEST((co_await x.compare_exchange(last, "next")).applied);
            // The end of a value is a change too, but there is no larger version for it.
            instances[0].command({"HSET", name, "v", "9007199254740991"});
            instances[0].command({"PEXPIRE", name, "604800000"});
            const versioned_state over = co_await x.read();
            BOOST_TEST(over.version == versioned::version_limit - 1);
            BOOST_TEST(!over.value.has_value());
        }
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(operations_of_a_closed_client_fail) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const versioned x(locks, "x", persistent);
        co_await locks.close();
        const error of_read = co_await failure_of([&](auto token) { return x.read(token); });
        BOOST_TEST((of_read == errc::client_closed), of_read.message());
        client other = std::move(locks);
        const versioned of_none(locks, "x");  // NOLINT(*-use-after-move)
        const error without = co_await failure_of([&](auto token) { return of_none.read(token); });
        BOOST_TEST((without == errc::client_closed), without.message());
    });
}

BOOST_AUTO_TEST_CASE(many_threads_may_use_one_object) {
    config configuration = instances.config();
    configuration.thread_safe = true;
    asio::thread_pool pool(3);
    client locks(pool.get_executor(), configuration);
    const versioned likes(locks, "likes", persistent);
    std::vector<std::future<void>> all;
    for (int i = 0; i != 12; ++i) {
        all.push_back(asio::co_spawn(
            pool,
            [](versioned of) -> asio::awaitable<void> {
                for (int n = 0; n != 5; ++n) {
                    co_await of.update(add_one);
                }
            }(likes),
            asio::use_future));
    }
    for (auto& one : all) {
        one.get();
    }
    BOOST_TEST(likes.read(asio::use_future).get().value.value() == "60");
    locks.close(asio::use_future).get();
    pool.join();
}

BOOST_AUTO_TEST_SUITE_END()

// --- Lost requests and lost replies -------------------------------------------------------------------

using far_away = shared_servers_far_away<1>;

BOOST_FIXTURE_TEST_SUITE(lost_replies_test, far_away)

/// Fault 61: the write took effect, its reply was lost, and another program has written since.
BOOST_AUTO_TEST_CASE(a_write_whose_reply_was_lost_is_known_to_be_applied, *label("fault-61")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, quiet_config());
        client b(executor, instances.config());
        co_await all_ready(a);
        const versioned of_a(a, "x", persistent);
        const versioned of_b(b, "x", persistent);
        network[0].refuse();
        network[0].cut_before_reply(a_write);
        pending_write lost;
        lost.start(of_a, 0, "ours");
        co_await async_wait_until([&] { return network[0].cuts() == 1; });
        const versioned_state ours = co_await of_b.read();
        BOOST_TEST(ours.value.value() == "ours");
        BOOST_TEST(!lost.done());
        const write_outcome theirs = co_await of_b.compare_exchange(ours.version, "theirs");
        BOOST_TEST(theirs.applied);
        network[0].accept();
        co_await async_wait_until([&] { return lost.done(); });
        BOOST_TEST(!lost.failed, lost.failed.message());
        BOOST_TEST(lost.outcome->applied);
        BOOST_TEST(lost.outcome->current.version == ours.version);
        BOOST_TEST((co_await of_b.read()).value.value() == "theirs");
        co_await a.close();
        co_await b.close();
    }());
}

/// Fault 61: the write did not take effect, and another program has written since.
BOOST_AUTO_TEST_CASE(a_write_whose_request_was_lost_is_known_to_be_refused, *label("fault-61")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, quiet_config());
        client b(executor, instances.config());
        co_await all_ready(a);
        const versioned of_a(a, "x", persistent);
        const versioned of_b(b, "x", persistent);
        network[0].refuse();
        network[0].cut_before_request(a_write);
        pending_write lost;
        lost.start(of_a, 0, "the same");
        co_await async_wait_until([&] { return network[0].cuts() == 1; });
        BOOST_TEST((co_await of_b.compare_exchange(0, "the same")).applied);
        network[0].accept();
        co_await async_wait_until([&] { return lost.done(); });
        BOOST_TEST(!lost.failed, lost.failed.message());
        BOOST_TEST(!lost.outcome->applied);
        BOOST_TEST(a.counters().writes_refused == 1U);
        co_await a.close();
        co_await b.close();
    }());
}

/// Fault 61: after many later writes, the record no longer shows the outcome.
BOOST_AUTO_TEST_CASE(a_write_that_nobody_remembers_is_unknown, *label("fault-61")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, quiet_config());
        client b(executor, instances.config());
        co_await all_ready(a);
        const versioned of_a(a, "x", persistent);
        const versioned of_b(b, "x", persistent);
        network[0].refuse();
        network[0].cut_before_reply(a_write);
        pending_write lost;
        lost.start(of_a, 0, "ours");
        co_await async_wait_until([&] { return network[0].cuts() == 1; });
        co_await write_often(of_b, (co_await of_b.read()).version, 17);
        network[0].accept();
        co_await async_wait_until([&] { return lost.done(); });
        BOOST_TEST((lost.failed == errc::outcome_unknown), lost.failed.message());
        BOOST_TEST(contains(lost.failed, "nobody knows whether the write was carried out"),
                   lost.failed.message());
        BOOST_TEST(a.counters().writes_unknown == 1U);
        co_await a.close();
        co_await b.close();
    }());
}

/// Fault 61: no reply arrives, so the outcome is unknown. A write that was never sent is reported as not
/// carried out.
BOOST_AUTO_TEST_CASE(a_write_without_an_answer_is_unknown, *label("fault-61")) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const versioned x(locks, "x", trying_for(100ms));
        network[0].hold();
        const error of_write =
            co_await failure_of([&](auto token) { return x.compare_exchange(0, "ours", token); });
        BOOST_TEST((of_write == errc::outcome_unknown), of_write.message());
        const error of_read = co_await failure_of([&](auto token) { return x.read(token); });
        BOOST_TEST((of_read == errc::no_quorum), of_read.message());
        network[0].resume();
        co_await async_wait_until([&] { return instances[0].has("x"); });
        network[0].refuse();
        network[0].cut();
        co_await async_wait_until([&] { return ready_instances(locks) == 0; });
        const error not_sent =
            co_await failure_of([&](auto token) { return x.compare_exchange(0, "ours", token); });
        BOOST_TEST((not_sent == errc::no_quorum), not_sent.message());
        BOOST_TEST(contains(not_sent, "the write was not carried out"), not_sent.message());
        co_await locks.close();
    });
}

/// Fault 62: a create that is stuck in the network arrives after an erase, or after another create.
BOOST_AUTO_TEST_CASE(a_late_copy_is_refused_by_the_version, *label("fault-62")) {
    for (const bool is_erased : {false, true}) {
        instances.flush();
        run_test([&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client a(executor, quiet_config());
            client b(executor, instances.config());
            co_await all_ready(a);
            const versioned of_a(a, "x", trying_for(100ms));
            const versioned of_b(b, "x", persistent);
            network[0].hold(tcp_proxy::way::to_server);
            pending_write stuck;
            stuck.start(of_a, 0, "late");
            co_await async_wait_until([&] { return stuck.done(); });
            BOOST_TEST((stuck.failed == errc::outcome_unknown), stuck.failed.message());
            write_outcome now = co_await of_b.compare_exchange(0, "new");
            if (is_erased) {
                now = co_await of_b.erase(now.current.version);
            }
            network[0].resume();
            co_await async_wait_until([&] { return idle(a); });
            const versioned_state after = co_await of_b.read();
            BOOST_TEST(after.version == now.current.version);
            BOOST_TEST((after.value == now.current.value));
            co_await a.close();
            co_await b.close();
        }());
    }
}

/// Fault 62: the server restarts without its data.
BOOST_AUTO_TEST_CASE(versions_go_on_after_a_restart_without_data, *label("fault-62")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const versioned x(locks, "x", persistent);
        const std::uint64_t last = co_await write_often(x, 0, 50);
        instances[0].restart();
        const versioned_state lost = co_await x.read();
        BOOST_TEST((!lost.value && lost.version == 0U));
        BOOST_TEST(!(co_await x.compare_exchange(last, "stale")).applied);
        BOOST_TEST(!(co_await x.erase(last)).applied);
        const write_outcome again = co_await x.compare_exchange(0, "new");
        BOOST_TEST(again.applied);
        BOOST_TEST(again.current.version > last);
        BOOST_TEST(!(co_await x.compare_exchange(last, "stale")).applied);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_write_says_whether_it_was_sent) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const versioned x(locks, "x", persistent);
        network[0].hold();
        pending_write sent;
        sent.start(x, 0, "ours");
        co_await async_wait_until([&] { return network[0].waiting() != 0; });
        sent.signal.emit(asio::cancellation_type::total);
        co_await async_wait_until([&] { return sent.done(); });
        BOOST_TEST((sent.failed.code() == asio::error::operation_aborted));
        BOOST_TEST(contains(sent.failed, "it may have been carried out"), sent.failed.message());
        network[0].resume();
        co_await async_wait_until([&] { return idle(locks); });
        BOOST_TEST((co_await x.read()).value.value() == "ours");

        network[0].refuse();
        network[0].cut();
        co_await async_wait_until([&] { return ready_instances(locks) == 0; });
        pending_write unsent;
        unsent.start(x, 0, "ours");
        unsent.signal.emit(asio::cancellation_type::total);
        co_await async_wait_until([&] { return unsent.done(); });
        BOOST_TEST(contains(unsent.failed, "was not carried out"), unsent.failed.message());

        pending_write closed;
        closed.start(x, 0, "ours");
        co_await locks.close();
        BOOST_TEST((closed.failed == errc::client_closed), closed.failed.message());
    });
}

/// At whichever point a write is cancelled, the next write finds the record as the first has left it.
BOOST_AUTO_TEST_CASE(writes_may_be_cancelled_at_any_moment) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const versioned x(locks, "x", persistent);
        for (int i = 0; i != 60; ++i) {
            const versioned_state before = co_await x.read();
            pending_write one;
            one.start(x, before.version, std::to_string(i));
            for (int turn = 0; turn != i % 20; ++turn) {
                co_await asio::post(asio::deferred);
            }
            one.signal.emit(asio::cancellation_type::terminal);
            co_await async_wait_until([&] { return one.done() && idle(locks); });
            const versioned_state after = co_await x.read();
            BOOST_TEST((after.version == before.version || after.value == std::to_string(i)));
            BOOST_TEST((one.failed || after.value == std::to_string(i)));
        }
        co_await locks.close();
    });
}

/// A cancelled update has counted once or not at all. This also holds between its operations and while it
/// waits.
BOOST_AUTO_TEST_CASE(updates_may_be_cancelled_at_any_moment) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const versioned likes(locks, "likes", persistent);
        bool stops = false;
        int others = 0;
        const auto other = co_await start(
            [](const versioned& of, const bool& stop, int& count) -> asio::awaitable<void> {
                while (!stop) {
                    co_await of.update(add_one);
                    ++count;
                }
            }(likes, stops, others));
        int sure = 0;
        int in_doubt = 0;
        for (int i = 0; i != 60; ++i) {
            asio::cancellation_signal signal;
            bool done = false;
            std::exception_ptr thrown;
            likes.update(add_one, asio::bind_cancellation_slot(
                                      signal.slot(), [&](std::exception_ptr e, versioned_state) {
                                          thrown = std::move(e);
                                          done = true;
                                      }));
            for (int turn = 0; turn != i; ++turn) {
                co_await asio::post(asio::deferred);
            }
            signal.emit(asio::cancellation_type::total);
            co_await async_wait_until([&] { return done; });
            if (!thrown) {
                ++sure;
                continue;
            }
            try {
                std::rethrow_exception(thrown);
            } catch (const lock_error& e) {
                BOOST_TEST((e.code() == asio::error::operation_aborted), e.what());
                in_doubt += std::string(e.what()).find("may have been") != std::string::npos;
            }
        }
        stops = true;
        co_await async_wait_until([&] { return other->done && idle(locks); });
        BOOST_TEST((other->thrown == nullptr));
        const int total = std::stoi((co_await likes.read()).value.value());
        BOOST_TEST((total >= sure + others && total <= sure + others + in_doubt), total);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_SUITE_END()

/// Fault 63: without a quorum protocol, several servers would store different values under one version.
BOOST_AUTO_TEST_CASE(independent_instances_are_refused, *label("fault-63")) {
    asio::io_context context;
    client locks(context.get_executor(),
                 config::from_uris({"memory://one", "memory://two", "memory://three"}));
    try {
        const versioned x(locks, "x");
        BOOST_ERROR("it was made");
    } catch (const config_error& e) {
        BOOST_TEST(e.field() == "instances");
        BOOST_TEST(std::string(e.what()) ==
                   "instances: 3 independent instances cannot keep the versioned value 'x', since "
                   "each would have versions of its own. Use a client with one instance: a server, "
                   "a Sentinel-monitored master, or a cluster");
    }
}

BOOST_AUTO_TEST_CASE(memory_keeps_versioned_values) {
    const config in_memory = config::from_uris({"memory://versioned"});
    run_test(in_memory, [&](client& locks) -> asio::awaitable<void> {
        const versioned x(locks, "x");
        const versioned_state one = co_await x.update(add_one);
        const versioned_state two = co_await x.update(add_one);
        BOOST_TEST(two.value.value() == "2");
        BOOST_TEST(two.version > one.version);
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
