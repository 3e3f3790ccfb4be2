// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// `client::inspect` and `client::break_lock`: what they report, on which servers, and what they change.

#include "integration/locks.hpp"
#include "integration/replication.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/scripts.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(inspect_test)

using boost::unit_test::label;

/// Returns a configuration in which a busy machine does not look like a silent server.
config calm(config result) {
    result.instance_timeout = 20s;
    return result;
}

config config_of(const std::string& uri) {
    config result = calm(config::from_uris({uri}));
    result.failover_quarantine = 0ms;
    return result;
}

config labelled(config result) {
    result.label = "web-1";
    return calm(std::move(result));
}

const instance_inspection& first_of(const inspection& found) {
    BOOST_TEST_REQUIRE(!found.instances.empty());
    BOOST_TEST(found.instances.front().failure == "");
    return found.instances.front();
}

std::string token_of(const lease& held) {
    return std::string(held.token());
}

/// Waits until all instances have answered what was sent so far. An acquire ends with the answers of a
/// quorum.
asio::awaitable<void> settled_votes(const client& locks) {
    co_await async_wait_until([&] { return idle(locks); });
}

/// Three servers that all cases share.
struct three : shared_servers<3> {
    [[nodiscard]] config configuration() { return calm(instances.config()); }
};

// --- What is reported -------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(the_holder_of_a_mutex_is_reported, three) {
    run_test(labelled(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        mutex lock(locks, "x", with_ttl(1min));
        const inspection before = co_await locks.inspect("x");
        BOOST_TEST(before.resource == "x");
        BOOST_TEST(before.answered == 3U);
        BOOST_TEST(before.quorum == 2U);
        BOOST_TEST(before.holders.empty());
        BOOST_TEST((first_of(before).content == key_content::nothing));
        BOOST_TEST((first_of(before).ttl == 0ms));

        lease held = co_await lock.acquire();
        co_await settled_votes(locks);
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST_REQUIRE(found.holders.size() == 1U);
        const quorum_holder& holder = found.holders.front();
        BOOST_TEST(holder.token == token_of(held));
        BOOST_TEST(holder.label == "web-1");
        BOOST_TEST(holder.instances == 3U);
        BOOST_TEST((holder.until >= held.valid_until() - 1s));
        BOOST_TEST((holder.until <= steady_clock::now() + 1min));
        for (std::size_t i = 0; i != 3; ++i) {
            const instance_inspection& one = found.instances.at(i);
            BOOST_TEST(one.address == instances[i].uri());
            BOOST_TEST((one.content == key_content::exclusive));
            BOOST_TEST((one.ttl > 0ms && one.ttl <= 1min));
            BOOST_TEST(one.holder_count == 1U);
            BOOST_TEST(one.holders.at(0).token == token_of(held));
        }
        BOOST_TEST(locks.counters().attempts == 1U);  // An inspection is none.
        co_await held.release();
        co_await locks.close();
    });
}

BOOST_FIXTURE_TEST_CASE(every_kind_of_lock_is_recognized, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lock_options fenced = with_ttl(1min);
        fenced.fencing = true;
        lease writer = co_await shared_mutex(locks, "writer", fenced).acquire();
        lease ann = co_await shared_mutex(locks, "readers", with_ttl(1min)).acquire_shared();
        client others(co_await asio::this_coro::executor, configuration());
        co_await all_ready(others);
        lease bob = co_await shared_mutex(others, "readers", with_ttl(1min)).acquire_shared();
        lease two = co_await semaphore(locks, "permits", 5, with_ttl(1min)).acquire(2);
        const multi_mutex both(locks, {"first", "second"}, with_ttl(1min));
        lease several = co_await both.acquire();
        co_await settled_votes(locks);
        co_await settled_votes(others);

        const inspection of_writer = co_await locks.inspect("writer");
        BOOST_TEST((first_of(of_writer).content == key_content::exclusive));
        BOOST_TEST(of_writer.holders.at(0).token == token_of(writer));
        const auto counted = std::ranges::count_if(
            of_writer.instances, [&](const auto& one) { return one.fence >= writer.fence(); });
        BOOST_TEST(counted >= 2);  // A fence needs a majority only.

        const inspection of_readers = co_await locks.inspect("readers");
        BOOST_TEST((first_of(of_readers).content == key_content::readers));
        BOOST_TEST(first_of(of_readers).holder_count == 2U);
        BOOST_TEST(of_readers.holders.size() == 2U);

        const inspection of_permits = co_await locks.inspect("permits");
        BOOST_TEST((first_of(of_permits).content == key_content::permits));
        BOOST_TEST(first_of(of_permits).permit_limit == 5U);
        BOOST_TEST(first_of(of_permits).permits_in_use == 2U);
        BOOST_TEST(first_of(of_permits).holders.at(0).permits == 2U);
        BOOST_TEST(of_permits.holders.at(0).token == token_of(two));

        for (const std::string_view name : {"first", "second"}) {
            const inspection of_name = co_await locks.inspect(name);
            BOOST_TEST(of_name.holders.at(0).token == token_of(several));
        }
        writer = lease();
        ann = lease();
        bob = lease();
        two = lease();
        several = lease();
        co_await locks.close();
        co_await others.close();
    });
}

BOOST_FIXTURE_TEST_CASE(results_and_values_are_recognized, shared_servers<1>) {
    run_test(calm(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const auto body = []() -> asio::awaitable<std::string> { co_return "done"; };
        const once_options options;
        const once_result ran = co_await once(locks, "job", body, options);
        BOOST_TEST(ran.value == "done");
        const inspection of_job = co_await locks.inspect("job");
        BOOST_TEST((first_of(of_job).content == key_content::once_result));
        BOOST_TEST(of_job.holders.empty());

        versioned value(locks, "value");
        const write_outcome written = co_await value.compare_exchange(0, "x");
        const inspection of_value = co_await locks.inspect("value");
        BOOST_TEST((first_of(of_value).content == key_content::versioned_value));
        BOOST_TEST(first_of(of_value).version == written.current.version);
        BOOST_TEST(first_of(of_value).has_value);
        BOOST_TEST((first_of(of_value).ttl == milliseconds::max()));

        instances[0].command({"RPUSH", "list", "x"});
        const inspection of_list = co_await locks.inspect("list");
        BOOST_TEST((first_of(of_list).content == key_content::other));
        BOOST_TEST(first_of(of_list).type == "list");

        hold_by_hand(instances[0], "theirs", 1min);
        const inspection of_theirs = co_await locks.inspect("theirs");
        BOOST_TEST((first_of(of_theirs).content == key_content::other_string));
        BOOST_TEST(of_theirs.holders.at(0).token == "somebody else");
        co_await locks.close();
    });
}

BOOST_FIXTURE_TEST_CASE(waiters_are_reported_by_the_instance_that_keeps_the_queue, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        client others(co_await asio::this_coro::executor, configuration());
        co_await all_ready(others);
        lease held = co_await mutex(locks, "x", patient()).acquire();
        pending_acquire waiter;
        waiter.start(mutex(others, "x", patient()));
        inspection found;
        std::size_t queues = 0;
        for (const stopwatch time; queues == 0 && time.elapsed() < default_timeout;) {
            found = co_await locks.inspect("x");
            queues = static_cast<std::size_t>(
                std::ranges::count_if(found.instances, [](const auto& one) {
                    return one.waiter_count == 1 && one.waiters.at(0).client != 0;
                }));
        }
        BOOST_TEST(queues == 1U);
        waiter.signal.emit(asio::cancellation_type::terminal);
        co_await held.release();
        co_await locks.close();
        co_await others.close();
    });
}

BOOST_FIXTURE_TEST_CASE(a_lock_on_a_minority_has_no_holder, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        hold_by_hand(instances[1], "x", 1min);
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST(found.answered == 3U);
        BOOST_TEST(found.holders.empty());
        BOOST_TEST((found.instances[0].content == key_content::nothing));
        BOOST_TEST(found.instances[1].holders.at(0).token == "somebody else");
        const break_result broken = co_await locks.break_lock("x", "somebody else");
        BOOST_TEST(broken.removed == 1U);
        BOOST_TEST(broken.absent == 2U);
        BOOST_TEST(!broken.was_held);
        BOOST_TEST(broken.is_ended);
        BOOST_TEST(instances.keys() == 0U);
        co_await locks.close();
    });
}

/// The quorum lasts as long as the second longest of three.
BOOST_FIXTURE_TEST_CASE(a_holder_ends_when_its_quorum_does, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        hold_by_hand(instances[0], "x", 100s);
        hold_by_hand(instances[1], "x", 300s);
        hold_by_hand(instances[2], "x", 200s);
        const inspection found = co_await locks.inspect("x");
        const auto left = found.holders.at(0).until - steady_clock::now();
        BOOST_TEST((left <= 200s && left > 100s));
        for (const std::size_t i : {1U, 2U}) {  // about 317 years, beyond the range of the clock
            instances[i].command({"PEXPIRE", "x", "9999999999999"});
        }
        const inspection distant = co_await locks.inspect("x");
        BOOST_TEST((distant.holders.at(0).until == steady_clock::time_point::max()));
        instances[1].command({"PERSIST", "x"});
        instances[2].command({"PERSIST", "x"});
        const inspection lasting = co_await locks.inspect("x");
        BOOST_TEST((lasting.holders.at(0).until == steady_clock::time_point::max()));
        BOOST_TEST((lasting.instances[2].holders.at(0).remaining == milliseconds::max()));
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_name_of_any_bytes_is_inspected_and_broken) {
    servers instances(1);
    run_test([&]() -> asio::awaitable<void> {
        config configuration = calm(instances.config());
        configuration.key_prefix = "app:";
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        for (const std::string& name :
             {std::string("\0\xff\r\n$1", 6), std::string("a}b"), std::string("{}"),
              std::string("x{tag}y"), std::string(65536, 'x')}) {
            lease held = co_await mutex(locks, name, with_ttl(1min)).acquire();
            const inspection found = co_await locks.inspect(name);
            BOOST_TEST((found.resource == name));
            BOOST_TEST(found.holders.at(0).token == token_of(held));
            const break_result broken = co_await locks.break_lock(name, held.token());
            BOOST_TEST(broken.was_held);
            BOOST_TEST(instances.keys() == 0U);
        }
        co_await locks.close();
    }());
}

// --- Servers that do not answer ---------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_server_that_is_down_is_reported_with_its_reason) {
    servers instances(3);
    run_test(calm(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        co_await settled_votes(locks);
        instances[2].kill();
        co_await async_wait_until([&] { return ready_instances(locks) == 2; });
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST(found.answered == 2U);
        BOOST_TEST(found.holders.at(0).token == token_of(held));
        BOOST_TEST(found.holders.at(0).instances == 2U);
        BOOST_TEST(found.instances[2].failure.starts_with("down, "), found.instances[2].failure);

        const break_result broken = co_await locks.break_lock("x", held.token());
        BOOST_TEST(broken.removed == 2U);
        BOOST_TEST(broken.failed == 1U);
        BOOST_TEST(broken.was_held);
        BOOST_TEST(broken.is_ended);
        BOOST_TEST(broken.failures.starts_with("[" + instances[2].uri() + ": down, "),
                   broken.failures);

        // Without a quorum there is still no error, because the rest is worth knowing.
        instances[1].kill();
        co_await async_wait_until([&] { return ready_instances(locks) == 1; });
        const inspection rest = co_await locks.inspect("x");
        BOOST_TEST(rest.answered == 1U);
        BOOST_TEST((first_of(rest).content == key_content::nothing));
        const break_result again = co_await locks.break_lock("x", held.token());
        BOOST_TEST(again.absent == 1U);
        BOOST_TEST(!again.is_ended);
        held = lease();
        co_await locks.close(asio::as_tuple(asio::use_awaitable));
    });
}

BOOST_AUTO_TEST_CASE(a_silent_server_delays_by_its_timeout_only) {
    servers instances(2);
    run_test([&]() -> asio::awaitable<void> {
        config configuration = instances.config();
        configuration.instance_timeout = 500ms;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        instances[1].pause();
        const stopwatch time;
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST((time.elapsed() >= 400ms));
        BOOST_TEST(found.instances[1].failure == "no answer in time");
        const break_result broken = co_await locks.break_lock("x", "t");
        BOOST_TEST(broken.failed >= 1U);
        BOOST_TEST(!broken.is_ended);
        instances[1].resume();
        co_await locks.close(asio::as_tuple(asio::use_awaitable));
    }());
}

/// A tool creates a client and inspects at once.
BOOST_FIXTURE_TEST_CASE(a_new_client_waits_for_its_connections, three) {
    run_test([&]() -> asio::awaitable<void> {
        for (int i = 0; i != 5; ++i) {
            client locks(co_await asio::this_coro::executor, configuration());
            const inspection found = co_await locks.inspect("x");
            BOOST_TEST(found.answered == 3U);
            co_await locks.close();
        }
        client locks(co_await asio::this_coro::executor, config_of("redis://127.0.0.1:1"));
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST(found.answered == 0U);
        BOOST_TEST(found.instances.at(0).failure.starts_with("down, "),
                   found.instances.at(0).failure);
        co_await locks.close();
    }());
}

// --- What is broken ---------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_broken_lock_is_free_at_once_and_its_holder_reports_the_loss, three) {
    run_test(configuration(), [&](client& former) -> asio::awaitable<void> {
        co_await all_ready(former);
        client next(co_await asio::this_coro::executor, configuration());
        co_await all_ready(next);
        client tool(co_await asio::this_coro::executor, configuration());
        co_await all_ready(tool);
        lease held = co_await mutex(former, "x", renewed_every(100ms, 1min)).acquire();
        pending_acquire waiter;
        waiter.start(mutex(next, "x", patient()));
        co_await async_wait_until([&] { return next.counters().contended >= 1; });
        const stopwatch time;
        const break_result broken = co_await tool.break_lock("x", held.token());
        BOOST_TEST(broken.was_held);
        BOOST_TEST(broken.is_ended);
        BOOST_TEST(broken.quorum == 2U);
        BOOST_TEST(broken.failures == "");
        co_await async_wait_until([&] { return waiter.result.has_value(); });
        BOOST_TEST(!*waiter.result, waiter.result->message());
        BOOST_TEST((time.elapsed() < 10s));  // Earlier than the ttl, and than the next poll.
        const auto [loss] = co_await held.wait_lost(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(!loss, loss.message());
        BOOST_TEST((held.loss() == errc::lease_lost), held.loss().message());
        BOOST_TEST(waiter.granted.valid());
        co_await waiter.granted.release();
        held = lease();
        co_await former.close();
        co_await next.close();
        co_await tool.close();
    });
}

/// Servers do not notify a client of its own writes.
BOOST_FIXTURE_TEST_CASE(waiters_of_the_same_client_are_notified, three) {
    run_test(configuration(), [&](client& former) -> asio::awaitable<void> {
        co_await all_ready(former);
        client locks(co_await asio::this_coro::executor, configuration());
        co_await all_ready(locks);
        lease held = co_await mutex(former, "x", patient()).acquire();
        pending_acquire waiter;
        waiter.start(mutex(locks, "x", patient()));
        co_await async_wait_until([&] { return locks.counters().contended >= 1; });
        const stopwatch time;
        co_await locks.break_lock("x", held.token());
        co_await async_wait_until([&] { return waiter.result.has_value(); });
        BOOST_TEST(!*waiter.result, waiter.result->message());
        BOOST_TEST((time.elapsed() < 10s));
        co_await waiter.granted.release();
        held = lease();
        co_await locks.close();
        co_await former.close();
    });
}

BOOST_FIXTURE_TEST_CASE(a_wrong_token_removes_nothing, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        lease permit = co_await semaphore(locks, "s", 5, with_ttl(1min)).acquire();
        co_await settled_votes(locks);
        const std::size_t keys = instances.keys();
        for (const std::string& other :
             {std::string(40, '0'), "reader:" + std::string(40, '0'), token_of(permit),
              token_of(held) + "x", std::string("writer:1"), std::string("x")}) {
            const break_result broken = co_await locks.break_lock("x", other);
            BOOST_TEST(broken.removed == 0U, other);
            BOOST_TEST(broken.absent == 3U, other);
            BOOST_TEST(!broken.was_held);
            BOOST_TEST(broken.is_ended);
        }
        BOOST_TEST(instances.keys() == keys);
        BOOST_TEST(held.valid());
        held = lease();
        permit = lease();
        co_await locks.close();
    });
}

BOOST_FIXTURE_TEST_CASE(one_reader_and_one_permit_can_be_removed, three) {
    run_test(configuration(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        client others(co_await asio::this_coro::executor, configuration());
        co_await all_ready(others);
        lease ann = co_await shared_mutex(locks, "r", renewed_every(100ms, 1min)).acquire_shared();
        lease bob = co_await shared_mutex(others, "r", renewed_every(100ms, 1min)).acquire_shared();
        lease one = co_await semaphore(locks, "s", 3, renewed_every(100ms, 1min)).acquire(2);
        lease two = co_await semaphore(others, "s", 3, renewed_every(100ms, 1min)).acquire();
        co_await settled_votes(locks);
        co_await settled_votes(others);
        const break_result reader = co_await locks.break_lock("r", bob.token());
        BOOST_TEST(reader.was_held);
        const break_result permits = co_await locks.break_lock("s", two.token());
        BOOST_TEST(permits.was_held);
        co_await async_wait_until([&] { return !bob.valid() && !two.valid(); });
        const std::uint64_t renewed = locks.counters().renewed;
        co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 4; });
        BOOST_TEST(ann.valid());
        BOOST_TEST(one.valid());
        // A renewal that overlaps with the removal may have restored the permit on one instance.
        bob = lease();
        two = lease();
        co_await settled(others);
        const inspection of_permits = co_await locks.inspect("s");
        BOOST_TEST(first_of(of_permits).permits_in_use == 2U);
        ann = lease();
        one = lease();
        co_await locks.close();
        co_await others.close();
    });
}

// --- Deployments ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(memory_instances_are_inspected_and_broken) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = config_of("memory://inspect1");
        configuration.instances.emplace_back("memory://inspect2");
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST(found.holders.at(0).token == token_of(held));
        BOOST_TEST(found.instances.at(0).address == "memory://inspect1");
        const break_result broken = co_await locks.break_lock("x", held.token());
        BOOST_TEST(broken.removed == 2U);
        const inspection after = co_await locks.inspect("x");
        BOOST_TEST((first_of(after).content == key_content::nothing));
        held = lease();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_name_in_a_cluster_is_inspected_and_broken_while_its_slot_moves) {
    redis_cluster cluster(2);
    run_test(config_of(cluster.uri()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lock_options options = with_ttl(1min);
        options.fencing = true;
        for (const std::string& name : {std::string("x"), std::string("{tag}y")}) {
            lease held = co_await mutex(locks, name, options).acquire();
            const inspection before = co_await locks.inspect(name);
            BOOST_TEST(first_of(before).fence == held.fence());
            const std::size_t from = cluster.first_owner_of(name);
            const std::size_t slot = redis_cluster::slot_of(cluster[0], name);
            cluster.begin_to_move(slot, from, 1 - from);
            // Some of the keys of the name may be at the other node, so only the key itself is reported.
            const inspection during = co_await locks.inspect(name);
            BOOST_TEST((first_of(during).content == key_content::exclusive));
            BOOST_TEST(during.holders.at(0).token == token_of(held));
            const break_result broken = co_await locks.break_lock(name, held.token());
            BOOST_TEST(broken.removed == 1U);
            const inspection nothing = co_await locks.inspect(name);
            BOOST_TEST((first_of(nothing).content == key_content::nothing));
            cluster.move_keys(slot, from, 1 - from);
            cluster.end_move(slot, 1 - from);
            const inspection after = co_await locks.inspect(name);
            BOOST_TEST((first_of(after).content == key_content::nothing));
            BOOST_TEST(first_of(after).fence != 0U);
        }
        // A name without auxiliary keys in its slot.
        lease plain = co_await mutex(locks, "a}b", with_ttl(1min)).acquire();
        const inspection found = co_await locks.inspect("a}b");
        BOOST_TEST(found.holders.at(0).token == token_of(plain));
        plain = lease();
        co_await locks.close();
    });
}

BOOST_AUTO_TEST_CASE(a_name_behind_sentinels_is_inspected_and_broken) {
    run_test([]() -> asio::awaitable<void> {
        redis_server master;
        std::vector<fake_sentinel> sentinels(3);
        std::string hosts;
        for (fake_sentinel& one : sentinels) {
            one.name(master.port());
            hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        }
        const config configuration = config_of("redis+sentinel://" + hosts + "/mymaster");
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        const inspection found = co_await locks.inspect("x");
        BOOST_TEST(found.holders.at(0).token == token_of(held));
        const break_result broken = co_await locks.break_lock("x", held.token());
        BOOST_TEST(broken.was_held);
        BOOST_TEST(!master.has("x"));
        held = lease();
        co_await locks.close();
    }());
}

/// The server itself refuses a write of a script that is called in this way.
BOOST_FIXTURE_TEST_CASE(the_script_of_an_inspection_writes_nothing, shared_servers<1>) {
    redis_server& server = instances[0];
    const std::string token(40, 'a');
    const auto report = [&] {
        const std::vector<std::string> call{"EVAL_RO",
                                            std::string(kinds::scripts::report.text),
                                            "4",
                                            "x",
                                            "{x}:colock:fence",
                                            "{x}:colock:queue",
                                            "{x}:colock:waiters",
                                            "100",
                                            "{x}:colock:ticket:",
                                            "{x}:colock:waiters:"};
        return server.command(call).value();
    };
    server.command({"SET", "{x}:colock:fence", "7"});
    server.command({"RPUSH", "{x}:colock:queue", "ticket:1", "ticket:2"});
    server.command({"SET", "{x}:colock:ticket:2", ""});
    server.command({"ZADD", "{x}:colock:waiters", "1", "1.1"});
    BOOST_TEST(report().starts_with("7:nothing"));
    server.command({"SET", "x", token, "PX", "60000"});
    BOOST_TEST(report().starts_with("5:token"));
    server.command({"DEL", "x"});
    server.command({"ZADD", "x", "1000", "reader:" + token, "-900", "writer:7"});
    server.command({"PEXPIRE", "x", "900"});
    BOOST_TEST(report().find("7:readers") == 0U);
    server.command({"DEL", "x"});
    server.command({"ZADD", "x", "-61000", "semaphore:3", "51000", "permit:3*1:" + token});
    server.command({"PEXPIRE", "x", "60000"});
    BOOST_TEST(report().starts_with("7:permits"));
    server.command({"DEL", "x"});
    server.command({"HSET", "x", "v", "5", "d", "x", "e", "0", "w", " aa:4:5", "n", "1"});
    BOOST_TEST(report().starts_with("6:record"));
    BOOST_TEST(server.keys().size() == 5U);
}

// --- Errors -----------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(impossible_arguments_are_refused, shared_servers<1>) {
    run_test(calm(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
        const std::size_t calls = executed(instances, "evalsha");
        for (const std::string& name : {std::string(), std::string(65537, 'x')}) {
            const auto [e, found] = co_await locks.inspect(name, as_tuple);
            BOOST_TEST((e == errc::invalid_argument), e.message());
            BOOST_TEST(found.instances.empty());
            const auto [e2, broken] = co_await locks.break_lock(name, "t", as_tuple);
            BOOST_TEST((e2 == errc::invalid_argument), e2.message());
            BOOST_TEST(broken.quorum == 0U);
        }
        for (const std::string& token :
             {std::string(), std::string(1025, 'x'), std::string("done:0:x")}) {
            const auto [e, broken] = co_await locks.break_lock("x", token, as_tuple);
            BOOST_TEST((e == errc::invalid_argument), e.message());
            BOOST_TEST(e.details().starts_with("'x': holder: "), e.details());
            BOOST_TEST(broken.quorum == 0U);
        }
        BOOST_TEST(executed(instances, "evalsha") == calls);
        co_await locks.close();
    });
}

BOOST_FIXTURE_TEST_CASE(a_closed_client_fails, shared_servers<1>) {
    run_test(calm(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
        co_await locks.close();
        const auto [e, found] = co_await locks.inspect("x", as_tuple);
        BOOST_TEST((e == errc::client_closed), e.message());
        const auto [e2, broken] = co_await locks.break_lock("x", "t", as_tuple);
        BOOST_TEST((e2 == errc::client_closed), e2.message());
        const client other = std::move(locks);
        // NOLINTNEXTLINE(bugprone-use-after-move): this is the subject of the test
        const auto [e3, nothing] = co_await locks.inspect("x", as_tuple);
        BOOST_TEST((e3 == errc::client_closed), e3.message());
    });
}

BOOST_AUTO_TEST_CASE(an_inspection_can_be_cancelled) {
    servers instances(1);
    run_test(calm(instances.config()), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        instances[0].pause();
        const auto [e, found] = co_await locks.inspect(
            "x", asio::cancel_after(20ms, asio::as_tuple(asio::use_awaitable)));
        BOOST_TEST((e == aborted), e.message());
        BOOST_TEST(found.instances.empty());
        std::optional<error> closed;
        locks.break_lock("x", "t",
                         [&](error why, const break_result&) { closed = std::move(why); });
        instances[0].resume();
        co_await locks.close();
        co_await async_wait_until([&] { return closed.has_value(); });
        BOOST_TEST((!*closed || *closed == errc::client_closed), closed->message());
    });
}

BOOST_AUTO_TEST_CASE(the_words_for_contents_are_complete) {
    for (const auto& [content, word] : {std::pair{key_content::nothing, "nothing"},
                                        {key_content::exclusive, "exclusive"},
                                        {key_content::readers, "readers"},
                                        {key_content::permits, "permits"},
                                        {key_content::once_result, "once_result"},
                                        {key_content::versioned_value, "versioned_value"},
                                        {key_content::other_string, "other_string"},
                                        {key_content::other, "other"}}) {
        BOOST_TEST(to_string(content) == word);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
