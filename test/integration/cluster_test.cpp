// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A Redis Cluster whose slots move, and whose nodes join and leave. cluster_chaos_test covers these cases
// with many concurrent lock users.

#include "instance_rig.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "locks.hpp"
#include "support/contains.hpp"
#include "support/documented_rights.hpp"
#include "support/fake_server.hpp"
#include "support/meter.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_test)

using boost::unit_test::label;
using core::step;
using instance::state;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

/// Returns a cluster of three masters that the test cases share. Each case uses names of its own and moves
/// slots back.
redis_cluster& three() {
    static redis_cluster masters(3);
    return masters;
}

instance::redis::redis_settings settings_with(core::milliseconds failover_quarantine) {
    instance::redis::redis_settings settings = quick_settings();
    settings.failover_quarantine = failover_quarantine;
    return settings;
}

void run_until_all_ready(instance_rig& rig, std::size_t masters = 3) {
    rig.run_until([&] {
        const instance::status status = rig.status();
        return status.nodes.size() >= masters &&
               std::ranges::all_of(status.nodes,
                                   [](const auto& one) { return one.state == state::ready; });
    });
}

std::size_t commands_of(redis_cluster& of, std::size_t i, const std::string& name) {
    const std::string stats = *of[i].command({"INFO", "commandstats"});
    const auto at = stats.find("cmdstat_" + name + ":calls=");
    return at == std::string::npos ? 0 : std::stoul(stats.substr(stats.find('=', at) + 1));
}

/// Moves a slot to `to` for some time, and then back.
class moved_slot {
public:
    explicit moved_slot(const std::string& key)
        : slot_(redis_cluster::slot_of(three()[0], key)), from_(three().first_owner_of(key)) {}
    ~moved_slot() {
        try {
            three().move(slot_, to(), from_);
        } catch (const std::exception& failure) {
            BOOST_ERROR("slot " << slot_ << " cannot be moved back: " << failure.what());
        }
    }
    moved_slot(const moved_slot&) = delete;
    moved_slot& operator=(const moved_slot&) = delete;

    [[nodiscard]] std::size_t slot() const { return slot_; }
    [[nodiscard]] std::size_t from() const { return from_; }
    [[nodiscard]] std::size_t to() const { return (from_ + 1) % 3; }

private:
    std::size_t slot_;
    std::size_t from_;
};

BOOST_AUTO_TEST_SUITE(on_three_masters)

BOOST_AUTO_TEST_CASE(each_key_is_locked_at_the_master_of_its_slot) {
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    BOOST_TEST(rig.subject().starting());
    run_until_all_ready(rig);
    strings granted;
    for (int i = 0; i != 30; ++i) {
        rig.submit(step::acquire, "each:" + std::to_string(i), "ann");
        granted.emplace_back("granted");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
    for (int i = 0; i != 30; ++i) {
        const std::string key = "each:" + std::to_string(i);
        BOOST_TEST(three()[three().first_owner_of(key)].command({"GET", key}).value() == "ann");
    }
    BOOST_TEST(rig.acquire("each:7", "bob") == "denied: another");
    for (int i = 0; i != 30; ++i) {
        rig.submit(step::release, "each:" + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
    const instance::status status = rig.status();
    BOOST_TEST(status.address == three().uri());
    BOOST_TEST((status.state == state::ready));
    BOOST_TEST_REQUIRE(status.nodes.size() == 3U);
    BOOST_TEST(status.nodes[0].role == "master");
}

BOOST_AUTO_TEST_CASE(one_reachable_seed_is_enough_to_find_the_nodes) {
    const reserved_port nobody;
    instance_rig rig("redis+cluster://127.0.0.1:" + std::to_string(nobody.number()) +
                     ",127.0.0.1:" + std::to_string(three()[2].port()));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    instance_rig none("redis+cluster://127.0.0.1:" + std::to_string(nobody.number()));
    const std::string reason = none.run_until_down();
    BOOST_TEST(contains(reason, "no node reports the map of the cluster"), reason);
    BOOST_TEST(contains(reason, std::to_string(nobody.number())), reason);
    BOOST_TEST(none.acquire("k", "ann") == "failed: down");
}

BOOST_AUTO_TEST_CASE(a_standalone_server_is_rejected_as_a_cluster) {
    const redis_server single;
    instance_rig rig("redis+cluster://127.0.0.1:" + std::to_string(single.port()));
    const meter costs(rig.executor(), loop_may_rest);
    const std::string reason = rig.run_until_down();
    BOOST_TEST(contains(reason, "cluster support disabled"), reason);
}

// The redirection names the new node. The client requests one new map, however many commands were redirected.
BOOST_AUTO_TEST_CASE(commands_follow_a_slot_that_has_moved, *label("fault-69")) {
    const moved_slot slot("{moved}");
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    BOOST_TEST(rig.acquire("{moved}:held", "ann") == "granted");
    three().move(slot.slot(), slot.from(), slot.to());
    for (std::size_t i = 0; i != 3; ++i) {
        three()[i].command({"CONFIG", "RESETSTAT"});
    }
    strings granted;
    for (int i = 0; i != 100; ++i) {
        rig.submit(step::acquire, "{moved}:" + std::to_string(i), "ann");
        granted.emplace_back("granted");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
    BOOST_TEST(rig.extend("{moved}:held", "ann", 20min) == "granted");
    BOOST_TEST(rig.acquire("{moved}:held", "bob") == "denied: another");
    BOOST_TEST(three()[slot.to()].command({"GET", "{moved}:held"}).value() == "ann");
    BOOST_TEST(rig.release("{moved}:held", "ann") == "granted");
    std::size_t maps = 0;
    std::size_t sets = 0;
    for (std::size_t i = 0; i != 3; ++i) {
        maps += commands_of(three(), i, "cluster|shards");
        sets += commands_of(three(), i, "set");
    }
    BOOST_TEST(maps <= 3U);
    BOOST_TEST(sets <= 202U);
    for (int i = 0; i != 100; ++i) {
        rig.submit(step::release, "{moved}:" + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
}

// The client follows ASK by sending ASKING before each command. ASK does not change the map.
BOOST_AUTO_TEST_CASE(commands_follow_ask_redirects_while_a_slot_moves, *label("fault-71")) {
    const moved_slot slot("{moving}");
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    BOOST_TEST(rig.acquire("{moving}:old", "ann") == "granted");
    three().begin_to_move(slot.slot(), slot.from(), slot.to());
    // A new key is created at the target, which may not have the scripts yet.
    three()[slot.to()].command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.acquire("{moving}:new", "ann") == "granted");
    BOOST_TEST(rig.acquire("{moving}:new", "bob") == "denied: another");
    BOOST_TEST(rig.extend("{moving}:new", "ann", 20min) == "granted");
    BOOST_TEST(rig.remaining("{moving}:new") == "denied: another");
    // An old key is still at the source.
    BOOST_TEST(rig.acquire("{moving}:old", "bob") == "denied: another");
    BOOST_TEST(rig.extend("{moving}:old", "ann", 20min) == "granted");
    three().move_keys(slot.slot(), slot.from(), slot.to());
    BOOST_TEST(rig.extend("{moving}:old", "ann", 30min) == "granted");
    BOOST_TEST(rig.release("{moving}:old", "ann") == "granted");
    BOOST_TEST(rig.release("{moving}:new", "bob") != "granted");
    BOOST_TEST(rig.release("{moving}:new", "ann") == "granted");
    BOOST_TEST(rig.acquire("{moving}:old", "bob") == "granted");
    three().end_move(slot.slot(), slot.to());
    BOOST_TEST(rig.release("{moving}:old", "bob") == "granted");
}

// The lock's key and its counter are on different nodes, or one of them does not exist.
BOOST_AUTO_TEST_CASE(fenced_locks_work_throughout_a_slow_migration, *label("fault-72")) {
    const moved_slot slot("{fenced}");
    const std::string key = "{fenced}";
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    std::uint64_t last = 0;
    const auto lock_and_release = [&](const char* when) {
        const core::vote granted = rig.ask_fence(fenced_acquire, key, "ann");
        BOOST_TEST(to_text(granted) == "granted",
                   when << ": " << (granted.detail ? *granted.detail : ""));
        BOOST_TEST(granted.value > last, when);
        last = granted.value;
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, key, "bob")) == "denied: another", when);
        BOOST_TEST(rig.extend(key, "ann", 20min) == "granted", when);
        const core::vote raised = rig.ask_fence(step::confirm, key, "ann", last + 5);
        BOOST_TEST(to_text(raised) == "granted", when);
        last = raised.value;
        // Only the holder may raise the counter. Otherwise a later holder could get a smaller fence.
        const core::vote strange = rig.ask_fence(step::confirm, key, "bob", last + 5);
        BOOST_TEST(to_text(strange) == "denied: another", when);
        BOOST_TEST(rig.release(key, "ann") == "granted", when);
    };
    lock_and_release("before");
    three().begin_to_move(slot.slot(), slot.from(), slot.to());
    lock_and_release("the counter is here");
    three().move_keys(slot.slot(), slot.from(), slot.to());
    lock_and_release("the counter is there");
    three().end_move(slot.slot(), slot.to());
    lock_and_release("after");
}

BOOST_AUTO_TEST_CASE(a_held_fenced_lock_survives_the_move_of_its_keys_one_by_one,
                     *label("fault-72")) {
    const moved_slot slot("{between}");
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const core::vote granted = rig.ask_fence(fenced_acquire, "{between}", "ann");
    three().begin_to_move(slot.slot(), slot.from(), slot.to());
    three().move_key("{between}", slot.from(), slot.to());
    BOOST_TEST(rig.extend("{between}", "ann", 20min) == "granted");
    const core::vote raised = rig.ask_fence(step::confirm, "{between}", "ann", granted.value + 9);
    BOOST_TEST(to_text(raised) == "granted");
    BOOST_TEST(raised.value == granted.value + 9);
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "{between}", "bob", granted.value + 20)) ==
               "denied: another");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "{between}", "bob")) == "denied: another");
    three().move_keys(slot.slot(), slot.from(), slot.to());
    three().end_move(slot.slot(), slot.to());
    BOOST_TEST(rig.release("{between}", "ann") == "granted");
}

// A key of one reader becomes a set of two by a command that a node refuses while the slot moves. The second
// reader therefore waits.
BOOST_AUTO_TEST_CASE(a_second_reader_waits_while_the_slot_moves, *label("fault-81")) {
    const std::string first = "reader:" + std::string(40, 'a');
    const std::string second = "reader:" + std::string(40, 'b');
    for (const auto* kind : {&kinds::shared, &kinds::fenced_shared}) {
        const std::string key = "{readers of " + std::string(kind->traits().name) + "}";
        const moved_slot slot(key);
        instance_rig rig(three().uri());
        const meter costs(rig.executor(), loop_may_rest);
        run_until_all_ready(rig);
        BOOST_TEST(to_text(rig.ask({step::acquire, *kind}, key, first)) == "granted");
        three().begin_to_move(slot.slot(), slot.from(), slot.to());
        const auto joins = rig.submit({step::acquire, *kind, true}, key, second);
        for (int i = 0; i != 10; ++i) {
            const auto renewed = rig.ask({step::extend, kinds::shared}, key, first, 20min);
            BOOST_TEST(to_text(renewed) == "granted");
        }
        BOOST_TEST(!rig.voted(joins));
        three().move_keys(slot.slot(), slot.from(), slot.to());
        three().end_move(slot.slot(), slot.to());
        rig.run_until([&] { return rig.voted(joins); });
        BOOST_TEST(to_text(rig.vote_on(joins)) == "granted");
        for (const std::string& reader : {first, second}) {
            BOOST_TEST(to_text(rig.ask({step::release, *kind}, key, reader)) == "granted");
        }
    }
}

/// As for a second reader, the required set cannot be created while the slot moves. An existing set moves as
/// a whole, and its permits can be acquired, renewed and released at any time.
BOOST_AUTO_TEST_CASE(a_second_permit_waits_while_the_slot_moves, *label("fault-81")) {
    const auto& kind = kinds::semaphore(3, 1);
    const auto permit = [](int slot) {
        return "permit:3*1:0000000" + std::to_string(slot) + std::string(32, 'a');
    };
    const auto ask = [&](instance_rig& rig, step what, const std::string& key, int slot) {
        return to_text(
            rig.ask_fence({what, kind, true}, key, permit(slot), what == step::acquire ? 0 : 1));
    };
    for (const bool is_set : {false, true}) {
        const std::string key = is_set ? "{set of permits}" : "{one permit}";
        const moved_slot slot(key);
        instance_rig rig(three().uri());
        const meter costs(rig.executor(), loop_may_rest);
        run_until_all_ready(rig);
        BOOST_TEST(ask(rig, step::acquire, key, 0) == "granted");
        if (is_set) {
            BOOST_TEST(ask(rig, step::acquire, key, 1) == "granted");
        }
        three().begin_to_move(slot.slot(), slot.from(), slot.to());
        const auto joins = rig.submit({step::acquire, kind, true}, key, permit(2));
        for (int i = 0; i != 10; ++i) {
            BOOST_TEST(ask(rig, step::extend, key, 0) == "granted");
        }
        BOOST_TEST(rig.voted(joins) == is_set);
        three().move_keys(slot.slot(), slot.from(), slot.to());
        BOOST_TEST(ask(rig, step::extend, key, 0) == "granted");
        three().end_move(slot.slot(), slot.to());
        rig.run_until([&] { return rig.voted(joins); });
        BOOST_TEST(to_text(rig.vote_on(joins)) == "granted");
        for (const int one : {0, 2}) {
            BOOST_TEST(ask(rig, step::extend, key, one) == "granted");
            BOOST_TEST(ask(rig, step::release, key, one) == "granted");
        }
        BOOST_TEST(ask(rig, step::release, key, 1) == (is_set ? "granted" : "denied: nobody"));
        BOOST_TEST(rig.acquire(key, "ann") == "granted");
        BOOST_TEST(rig.release(key, "ann") == "granted");
    }
}

/// The names of a lock are sent in one command, or in one for each slot.
BOOST_AUTO_TEST_CASE(a_lock_has_names_in_several_slots) {
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const strings more{"several:2", "several:3", "{several:1}:too", "several:4"};
    const auto all = [&](step what) {
        return step_of_kind(what, kinds::multi).with_more_keys(more);
    };
    std::set<std::size_t> owners;
    for (const std::string& name : more) {
        owners.insert(three().first_owner_of(name));
    }
    BOOST_TEST(owners.size() > 1U);
    BOOST_TEST(to_text(rig.ask(all(step::remaining), "several:1")) == "denied: nobody");
    BOOST_TEST(to_text(rig.ask(all(step::acquire), "several:1", "ann")) == "granted");
    for (const std::string& name : more) {
        BOOST_TEST(rig.acquire(name, "bob") == "denied: another");
    }
    BOOST_TEST(to_text(rig.ask(all(step::extend), "several:1", "ann")) == "granted");
    BOOST_TEST(to_text(rig.ask(all(step::extend), "several:1", "bob")) == "denied: another");
    BOOST_TEST(to_text(rig.ask(all(step::remaining), "several:1")) == "denied: another");
    BOOST_TEST(rig.release("several:3", "ann") == "granted");
    BOOST_TEST(to_text(rig.ask(all(step::extend), "several:1", "ann")) == "denied: nobody");
    BOOST_TEST(to_text(rig.ask(all(step::acquire).healing(), "several:1", "ann")) == "granted");
    BOOST_TEST(to_text(rig.ask(all(step::release), "several:1", "ann")) == "granted");
    BOOST_TEST(to_text(rig.ask(all(step::release), "several:1", "ann")) == "denied: nobody");

    // The last slot in the order is taken, so the client must release the names that it acquired before.
    std::string last = "several:1";
    for (const std::string& name : more) {
        last = std::max(last, name, [](const std::string& a, const std::string& b) {
            return redis_cluster::slot_of(three()[0], a) < redis_cluster::slot_of(three()[0], b);
        });
    }
    BOOST_TEST(rig.acquire(last, "bob") == "granted");
    BOOST_TEST(to_text(rig.ask(all(step::acquire), "several:1", "ann")) == "denied: partial");
    BOOST_TEST(to_text(rig.ask(all(step::release), "several:1", "ann")) == "denied: another");
    for (const std::string& name : more) {
        BOOST_TEST(rig.acquire(name, "cid") == (name == last ? "denied: another" : "granted"));
        rig.release(name, "cid");
    }
    BOOST_TEST(rig.release(last, "bob") == "granted");
}

/// A slot with some of the names moves, and both nodes refuse a command for several of them. The client then
/// acquires them one by one.
BOOST_AUTO_TEST_CASE(several_names_are_served_while_a_slot_moves, *label("fault-81")) {
    const std::string key = "{moving names}:1";
    const moved_slot slot(key);
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const auto all = [&](step what) {
        return step_of_kind(what, kinds::multi)
            .with_more_keys({"{moving names}:2", "{moving names}:3", "elsewhere"});
    };
    const auto ask = [&](step what, const std::string& token) {
        return to_text(rig.ask(all(what), key, token));
    };
    BOOST_TEST(ask(step::acquire, "ann") == "granted");
    three().begin_to_move(slot.slot(), slot.from(), slot.to());
    BOOST_TEST(ask(step::extend, "ann") == "granted");
    three()[slot.from()].command({"MIGRATE", "127.0.0.1", std::to_string(three()[slot.to()].port()),
                                  "{moving names}:2", "0", "5000"});
    BOOST_TEST(ask(step::extend, "ann") == "granted");
    BOOST_TEST(ask(step::remaining, "") == "denied: another");
    BOOST_TEST(ask(step::release, "ann") == "granted");
    BOOST_TEST(ask(step::acquire, "bob") == "granted");
    BOOST_TEST(ask(step::extend, "ann") == "denied: another");
    three().move_keys(slot.slot(), slot.from(), slot.to());
    BOOST_TEST(ask(step::extend, "bob") == "granted");
    three().end_move(slot.slot(), slot.to());
    BOOST_TEST(ask(step::extend, "bob") == "granted");
    BOOST_TEST(ask(step::release, "bob") == "granted");
    BOOST_TEST(ask(step::remaining, "") == "denied: nobody");
}

// This client cannot have a key in the slot of such a name, so it sends nothing.
BOOST_AUTO_TEST_CASE(fenced_and_shared_locks_reject_names_that_span_slots, *label("fault-73")) {
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    for (const std::string key : {"a}b", "{}", "{}a}"}) {
        const core::vote vote = rig.ask_fence(fenced_acquire, key, "ann");
        BOOST_TEST(to_text(vote) == "failed: server error");
        BOOST_TEST(contains(*vote.detail, "no {hash tag}"), *vote.detail);
        BOOST_TEST(rig.acquire(key, "ann") == "granted");
        BOOST_TEST(rig.release(key, "ann") == "granted");
        // The set of readers could not be created. A single reader does not need one.
        const std::string reader = "reader:" + std::string(40, 'a');
        BOOST_TEST(to_text(rig.ask({step::acquire, kinds::shared}, key, reader)) == "granted");
        const core::vote second =
            rig.ask({step::acquire, kinds::shared, true}, key, "reader:" + std::string(40, 'b'));
        BOOST_TEST(to_text(second) == "failed: server error");
        BOOST_TEST(contains(*second.detail, "no {hash tag}"), *second.detail);
        BOOST_TEST(to_text(rig.ask({step::release, kinds::shared}, key, reader)) == "granted");
        // The same applies to permits.
        const auto& kind = kinds::semaphore(2, 1);
        const std::string permit = "permit:2*1:" + std::string(40, '0');
        BOOST_TEST(to_text(rig.ask({step::acquire, kind}, key, permit)) == "granted");
        const core::vote more =
            rig.ask({step::acquire, kind, true}, key, "permit:2*1:" + std::string(40, '1'));
        BOOST_TEST(to_text(more) == "failed: server error");
        BOOST_TEST(contains(*more.detail, "no {hash tag}"), *more.detail);
        BOOST_TEST(to_text(rig.ask({step::release, kind}, key, permit)) == "granted");
    }
    for (const std::string key : {"{", "a{b", "{a}", "x{a}y}"}) {
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, key, "ann")) == "granted");
        BOOST_TEST(rig.release(key, "ann") == "granted");
    }
}

// The second reader or permit needs a key that the cluster has in another slot.
BOOST_AUTO_TEST_CASE(a_name_that_spans_slots_is_refused_before_the_first_reader_or_permit,
                     *label("fault-144")) {
    const auto is_clear = [](const std::string& name) {
        return [name](const config_error& problem) {
            BOOST_TEST(problem.field() == "resource");
            return std::string(problem.what()) ==
                   "resource: '" + name +
                       "' has a } but no {hash tag}, so a Cluster cannot keep the keys of this "
                       "lock "
                       "in one slot. Use a name without }, or one that begins with a hash tag";
        };
    };
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        config plain;
        plain.instances = {three().uri()};
        client locks(executor, plain);
        config prefixed = plain;
        prefixed.key_prefix = "{app}:";
        client tagged(executor, prefixed);
        config in_memory;
        in_memory.instances = {"memory://fault-144"};
        client memory(executor, in_memory);
        lock_options fenced;
        fenced.fencing = true;
        lock_options ordered;
        ordered.order = queue_order::fifo;
        for (const std::string name : {"a}b", "{}", "{}a}"}) {
            BOOST_CHECK_EXCEPTION(shared_mutex(locks, name), config_error, is_clear(name));
            BOOST_CHECK_EXCEPTION(semaphore(locks, name, 2), config_error, is_clear(name));
            BOOST_CHECK_EXCEPTION(mutex(locks, name, fenced), config_error, is_clear(name));
            BOOST_CHECK_EXCEPTION(mutex(locks, name, ordered), config_error, is_clear(name));
            BOOST_TEST(is_held(co_await mutex(locks, name).acquire()));
            for (client* const one : {&tagged, &memory}) {
                const shared_mutex document(*one, name);
                const lease first = co_await document.acquire_shared();
                BOOST_TEST(is_held(co_await document.acquire_shared()));
                const semaphore permits(*one, name + "permits", 2);
                const lease permit = co_await permits.acquire();
                BOOST_TEST(is_held(co_await permits.acquire()));
            }
        }
        BOOST_TEST(is_held(co_await shared_mutex(locks, "x{a}y}").acquire_shared()));
    }());
}

// Later commands do not overtake a postponed one.
BOOST_AUTO_TEST_CASE(commands_for_one_key_stay_in_their_order, *label("fault-74")) {
    const moved_slot slot("{order}");
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    three().move(slot.slot(), slot.from(), slot.to());
    rig.submit(step::acquire, "{order}", "ann");
    rig.flush();
    rig.submit(step::release, "{order}", "ann");
    rig.flush();
    rig.submit(step::acquire, "{order}", "bob");
    rig.flush();
    rig.submit(step::release, "{order}", "bob");
    BOOST_TEST(rig.votes() == strings(4, "granted"), boost::test_tools::per_element());
    BOOST_TEST(!three()[slot.to()].has("{order}"));
}

// A command that was given up is not sent again.
BOOST_AUTO_TEST_CASE(a_withdrawn_acquire_is_not_sent_to_the_new_owner, *label("fault-74")) {
    const moved_slot slot("{given up}");
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    three().move(slot.slot(), slot.from(), slot.to());
    const auto tag = rig.submit(step::acquire, "{given up}", "ann");
    rig.flush();
    rig.withdraw_silently(tag);
    rig.run_until([&] { return rig.voted(tag); });
    BOOST_TEST(to_text(rig.vote_on(tag)) == "failed: withdrawn");
    BOOST_TEST(!three()[slot.to()].has("{given up}"));
}

// One master behind two instances would vote twice.
BOOST_AUTO_TEST_CASE(a_cluster_rejects_a_node_that_another_instance_uses, *label("fault-78")) {
    auto settings = quick_settings();
    instance_rig first(three().uri(), settings);
    run_until_all_ready(first);
    // Both rigs' clients have the same index, so another address represents the first.
    instance::redis::address other;
    other.display = "redis://first";
    const std::string info = *three()[0].command({"INFO", "server"});
    const std::string run_id = info.substr(info.find("run_id:") + 7, 40);
    settings.connected = std::make_shared<instance::redis::voters>();
    BOOST_TEST(settings.connected->join(0, run_id, other).empty());
    instance_rig second(three().uri(), settings);
    second.run_until([&] { return contains(second.status().reason, "it is the same server as"); });
}

BOOST_AUTO_TEST_CASE(a_batch_of_releases_across_slots_is_granted) {
    instance_rig rig(three().uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    strings granted;
    for (int i = 0; i != 20; ++i) {
        rig.submit(step::acquire, "one:" + std::to_string(i), "ann");
        granted.emplace_back("granted");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
    for (int i = 0; i != 20; ++i) {
        rig.submit(step::release, "one:" + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == granted, boost::test_tools::per_element());
}

// Two nodes redirect a command to each other. It fails with their message, after a bounded time.
BOOST_AUTO_TEST_CASE(endless_redirects_fail_after_a_bounded_number, *label("fault-69")) {
    std::atomic<std::size_t> sent{0};
    std::string other;
    const auto map_of = [](std::uint16_t port) {
        return "*1\r\n%2\r\n" + bulk_string("slots") + "*2\r\n:0\r\n:16383\r\n" +
               bulk_string("nodes") + "*1\r\n%3\r\n" + bulk_string("endpoint") +
               bulk_string("127.0.0.1") + bulk_string("port") + ":" + std::to_string(port) +
               "\r\n" + bulk_string("role") + bulk_string("master");
    };
    const reserved_port here;
    const reserved_port there;
    const auto answer = [&](std::uint16_t moved_to) {
        return [&, moved_to](const fake_server::words& command) -> fake_reply {
            if (command[0] == "CLUSTER") {
                return command[1] == "INFO" ? bulk_string("cluster_state:ok\r\n")
                                            : map_of(here.number());
            }
            if (command[0] == "SET") {
                ++sent;
                return "-MOVED 1 127.0.0.1:" + std::to_string(moved_to) + "\r\n";
            }
            return answer_as_server(command);
        };
    };
    const fake_server first(answer(there.number()), here.number());
    const fake_server second(answer(here.number()), there.number());
    instance_rig rig("redis+cluster://127.0.0.1:" + std::to_string(here.number()), [] {
        auto settings = quick_settings();
        settings.stall_timeout = 60s;
        return settings;
    }());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    const auto vote = rig.ask(step::acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(*vote.detail, "MOVED"), *vote.detail);
    BOOST_TEST(sent <= 17U);
}

namespace {

/// Returns a node whose map assigns all slots to the port. Its epoch is given. With `is_ok` false, the node
/// is cut off from the cluster.
fake_server map_teller(const std::atomic<std::uint16_t>& owner, const std::atomic<int>& epoch,
                       bool is_ok = true) {
    return fake_server([&owner, &epoch, is_ok](const fake_server::words& command) -> fake_reply {
        if (command[0] == "CLUSTER" && command[1] == "INFO") {
            return bulk_string(std::string("cluster_state:") + (is_ok ? "ok" : "fail") +
                               "\r\ncluster_current_epoch:" + std::to_string(epoch) + "\r\n");
        }
        if (command[0] == "CLUSTER" && command[1] == "SLOTS") {
            return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + bulk_string("127.0.0.1") + ":" +
                   std::to_string(owner) + "\r\n";
        }
        if (command[0] == "CLUSTER") {  // As servers before 7.0 reply.
            return "-ERR Unknown subcommand or wrong number of arguments for 'SHARDS'\r\n";
        }
        return answer_as_server(command);
    });
}

std::string seeds(const std::vector<const fake_server*>& nodes) {
    std::string result;
    for (const fake_server* const one : nodes) {
        result += (result.empty() ? "redis+cluster://127.0.0.1:" : ",127.0.0.1:") +
                  std::to_string(one->port());
    }
    return result;
}

bool is_at(const instance_rig& rig, std::uint16_t port) {
    const auto nodes = rig.status().nodes;
    return std::ranges::any_of(nodes, [&](const auto& one) {
        return one.address == "redis://127.0.0.1:" + std::to_string(port) &&
               one.state == state::ready;
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_map_of_a_node_that_is_cut_off_is_ignored, *label("fault-70")) {
    const fake_server right([](const auto& command) { return answer_as_server(command); });
    const fake_server wrong([](const auto& command) { return answer_as_server(command); });
    const std::atomic<std::uint16_t> at_right{right.port()};
    const std::atomic<std::uint16_t> at_wrong{wrong.port()};
    const std::atomic<int> old_epoch{1};
    const std::atomic<int> new_epoch{7};
    const fake_server cut_off = map_teller(at_wrong, old_epoch, false);
    const fake_server well = map_teller(at_right, new_epoch);
    instance_rig rig(seeds({&cut_off, &well}));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return is_at(rig, right.port()); });
    BOOST_TEST(rig.status().nodes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_map_with_an_older_epoch_is_ignored, *label("fault-70")) {
    fake_server right([](const auto& command) { return answer_as_server(command); });
    const fake_server wrong([](const auto& command) { return answer_as_server(command); });
    const std::atomic<std::uint16_t> at_right{right.port()};
    const std::atomic<std::uint16_t> at_wrong{wrong.port()};
    std::atomic<int> first_epoch{7};
    const std::atomic<int> second_epoch{5};
    const fake_server first = map_teller(at_right, first_epoch);
    const fake_server second = map_teller(at_wrong, second_epoch);
    instance_rig rig(seeds({&first, &second}));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return is_at(rig, right.port()); });
    // From here on, the epochs of both nodes are behind.
    first_epoch = 6;
    const std::size_t before = second.accepted();
    right.say("-bye\r\n");  // An unsolicited reply ends the connection.
    rig.run_until([&] { return second.accepted() > before && is_at(rig, right.port()); });
    BOOST_TEST(!is_at(rig, wrong.port()));
}

// All known nodes are unreachable, but the names in the URI still work.
BOOST_AUTO_TEST_CASE(seeds_find_the_nodes_after_all_addresses_change, *label("fault-70")) {
    std::optional<fake_server> old_node(
        std::in_place, [](const auto& command) { return answer_as_server(command); });
    const fake_server new_node([](const auto& command) { return answer_as_server(command); });
    std::atomic<std::uint16_t> owner{old_node->port()};
    const std::atomic<int> epoch{1};
    const fake_server seed = map_teller(owner, epoch);
    instance_rig rig(seeds({&seed}));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return is_at(rig, old_node->port()); });
    owner = new_node.port();
    old_node.reset();
    rig.run_until([&] { return is_at(rig, new_node.port()); });
}

/// The user has exactly the rights that docs/permissions.md lists.
BOOST_AUTO_TEST_CASE(the_documented_rights_suffice_for_a_cluster) {
    const moved_slot slot("{rights}");
    strings rights{"ACL", "SETUSER", "colock", ">x"};
    const strings usual = documented_rights();
    rights.insert(rights.end(), usual.begin(), usual.end());
    rights.insert(rights.end(), {"+cluster|info", "+cluster|shards", "+asking"});
    for (std::size_t i = 0; i != 3; ++i) {
        three()[i].command(rights);
    }
    const std::string uri = three().uri();
    instance_rig rig(uri.substr(0, uri.find("127")) + "colock:x@" + uri.substr(uri.find("127")));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    three().begin_to_move(slot.slot(), slot.from(), slot.to());
    for (const std::string key : {"{rights}", "another"}) {
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, key, "ann")) == "granted");
        BOOST_TEST(rig.extend(key, "ann", 20min) == "granted");
        BOOST_TEST(rig.release(key, "ann") == "granted");
    }
    three().move_keys(slot.slot(), slot.from(), slot.to());
    three().end_move(slot.slot(), slot.to());
}

BOOST_AUTO_TEST_SUITE_END()

// These tests kill nodes, so each has a cluster of its own.
BOOST_AUTO_TEST_SUITE(cluster_failover_test)

/// A quarantine that is not over when a test looks, however slow the machine is.
constexpr core::milliseconds endless = 10min;

/// Three masters with one replica each. They take five seconds to detect the death of a node, because a busy
/// machine may stop a node for some seconds.
struct with_replicas {
    redis_cluster nodes{3, 1, {"--cluster-node-timeout", "5000"}};

    /// Kills the master of the key and waits until its replica has taken over. Returns the number of the
    /// replica.
    std::size_t kill_master_of(const std::string& key) {
        const std::size_t master = nodes.first_owner_of(key);
        nodes[master].kill();
        const std::size_t replica = master + 3;
        redis_cluster::wait_until_promoted(nodes[replica]);
        return replica;
    }
};

bool is_quarantined(const instance_rig& rig, const redis_server& node) {
    const std::string address = "redis://127.0.0.1:" + std::to_string(node.port());
    return std::ranges::any_of(rig.status().nodes, [&](const auto& one) {
        return one.address == address && one.state == state::quarantined;
    });
}

/// Acquires the lock again and again, until this node has granted it. Then releases it. Returns whether the
/// node was quarantined before.
///
/// The vote "quarantined" does not show that. The slot may be quarantined before the client has connected to
/// the node. This function looks at the node after each handler, so it sees even a short quarantine.
bool is_quarantined_before_it_grants(instance_rig& rig, const redis_server& node,
                                     const std::string& key) {
    bool was_quarantined = false;
    auto tag = rig.submit(step::acquire, key, "bob");
    rig.run_until([&] {
        was_quarantined = was_quarantined || is_quarantined(rig, node);
        if (!rig.voted(tag)) {
            return false;
        }
        if (to_text(rig.vote_on(tag)) == "granted" && node.has(key)) {
            return true;
        }
        tag = rig.submit(step::acquire, key, "bob");
        return false;
    });
    rig.votes();
    BOOST_TEST(rig.release(key, "bob") == "granted");
    return was_quarantined;
}

// A master that dies never replies with MOVED.
BOOST_FIXTURE_TEST_CASE(a_promoted_master_is_found_and_quarantined, with_replicas,
                        *label("fault-70")) {
    const auto settings = settings_with(endless);
    instance_rig rig(nodes.uri(), settings);
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    BOOST_TEST(rig.acquire("k", "ann", 500ms) == "granted");
    const auto killed_at = std::chrono::steady_clock::now();
    const std::size_t promoted = kill_master_of("k");
    rig.run_until([&] { return is_quarantined(rig, nodes[promoted]); });
    const auto end_of_quarantine = [&](std::chrono::steady_clock::time_point began) {
        return core::gone_at(began, endless, settings.quarantine.drift);
    };
    BOOST_TEST((rig.status().quarantined_until >= end_of_quarantine(killed_at)));
    BOOST_TEST(
        (rig.status().quarantined_until <= end_of_quarantine(std::chrono::steady_clock::now())));
    BOOST_TEST(rig.acquire("k", "bob") == "failed: quarantined");
    BOOST_TEST(contains(rig.status().why_quarantined, "failover_quarantine"));
    // The other masters continue to serve.
    for (const std::string key : {"a", "b", "c", "d", "e"}) {
        if (nodes.first_owner_of(key) != nodes.first_owner_of("k")) {
            BOOST_TEST(rig.acquire(key, "ann") == "granted");
        }
    }
    // A client with a shorter quarantine waits for its end.
    instance_rig other(nodes.uri(), settings_with(1s));
    BOOST_TEST(is_quarantined_before_it_grants(other, nodes[promoted], "k"));
}

// A dead master has no replica. Its slots are manually assigned to another master, without their locks.
BOOST_AUTO_TEST_CASE(a_slot_reassigned_to_another_master_is_quarantined, *label("fault-70")) {
    redis_cluster nodes(3, 0, {"--cluster-require-full-coverage", "no"});
    instance_rig rig(nodes.uri(3), settings_with(endless));
    const meter costs(rig.executor(), loop_may_rest);
    instance_rig other(nodes.uri(3), settings_with(1s));
    run_until_all_ready(rig);
    run_until_all_ready(other);
    BOOST_TEST(rig.acquire("k", "ann", 900ms) == "granted");
    const std::size_t dead = nodes.first_owner_of("k");
    const std::size_t slot = redis_cluster::slot_of(nodes[dead], "k");
    nodes[dead].kill();
    const std::string of_dead = "redis://127.0.0.1:" + std::to_string(nodes[dead].port());
    for (instance_rig* const one : {&rig, &other}) {
        one->run_until([&] {
            const auto all = one->status().nodes;
            const auto found = std::ranges::find(all, of_dead, &node_info::address);
            return found == all.end() || found->state == state::down ||
                   found->state == state::connecting;
        });
    }
    nodes.end_move(slot, (dead + 1) % 3);
    core::vote vote;
    rig.run_until([&] {
        vote = rig.ask(step::acquire, "k", "bob");
        return vote.reason == core::failure::quarantined;
    });
    BOOST_TEST(contains(*vote.detail, "its slot was taken over"), *vote.detail);
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    for (const std::string key : {"a", "b", "c", "d", "e"}) {  // Other slots continue to serve.
        if (nodes.first_owner_of(key) != dead) {
            BOOST_TEST(rig.acquire(key, "ann") == "granted");
        }
    }
    other.run_until([&] { return other.acquire("k", "bob") == "granted"; });
}

// A manual failover delays writes for a moment, and loses none.
BOOST_FIXTURE_TEST_CASE(a_manual_failover_loses_no_lock, with_replicas, *label("fault-76")) {
    instance_rig rig(nodes.uri(), settings_with(300ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const std::size_t master = nodes.first_owner_of("k");
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    redis_cluster::promote(nodes[master + 3]);
    rig.run_until([&] { return rig.extend("k", "ann", 20min) == "granted"; });
    rig.run_until([&] { return rig.acquire("k", "bob") == "denied: another"; });
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
}

// The slots move to the replica and back. In between, other clients may have acquired locks at the other
// node, and the last of these may not be replicated.
BOOST_FIXTURE_TEST_CASE(a_master_that_is_promoted_again_is_quarantined_again, with_replicas,
                        *label("fault-70")) {
    instance_rig rig(nodes.uri(), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const std::size_t first = nodes.first_owner_of("k");
    const std::size_t second = first + 3;
    for (const std::size_t next : {second, first}) {
        redis_cluster::wait_until_synchronized(nodes[next]);
        nodes.wait_until_agreed();
        redis_cluster::promote(nodes[next]);
        BOOST_TEST(is_quarantined_before_it_grants(rig, nodes[next], "k"));
    }
}

// A release that the dead master's node refuses is sent again when possible.
BOOST_FIXTURE_TEST_CASE(a_refused_release_can_be_sent_to_the_promoted_master, with_replicas,
                        *label("fault-70")) {
    instance_rig rig(nodes.uri(), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const std::size_t master = nodes.first_owner_of("k");
    nodes[master + 3].pause();  // It is not promoted before the client has found its master dead.
    nodes[master].kill();
    rig.run_until([&] { return rig.release("k", "ann") == "failed: down"; });
    nodes[master + 3].resume();
    const std::size_t before = rig.accepting_calls();
    redis_cluster::wait_until_promoted(nodes[master + 3]);
    rig.run_until([&] { return rig.accepting_calls() > before; });
    rig.run_until([&] { return rig.release("k", "ann").starts_with("denied"); });
}

// Without the quarantine, a promoted replica grants a lock a second time if the first grant was not
// replicated.
BOOST_FIXTURE_TEST_CASE(without_quarantine_a_lost_lock_is_granted_twice, with_replicas,
                        *label("fault-70")) {
    instance_rig rig(nodes.uri(), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig);
    const std::size_t master = nodes.first_owner_of("k");
    nodes[master + 3].pause();  // The replica receives nothing from now on.
    BOOST_TEST(rig.acquire("other", "ann") != "");
    // Writes more data than the sockets can hold. The replica must then synchronize again, and misses the
    // lock.
    nodes[master].command({"CLIENT", "KILL", "TYPE", "replica"});
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    nodes[master].kill();
    nodes[master + 3].resume();
    redis_cluster::wait_until_promoted(nodes[master + 3]);
    const auto granted_again = [&] { return rig.acquire("k", "bob") == "granted"; };
    rig.run_until(granted_again);
}

// Another cluster, which has none of the locks, takes over the address of the only node. Its epoch is higher.
BOOST_AUTO_TEST_CASE(a_cluster_at_the_address_of_another_one_is_quarantined, *label("fault-91")) {
    redis_cluster nodes(1);
    instance_rig rig(nodes.uri(), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_all_ready(rig, 1);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    const auto killed_at = std::chrono::steady_clock::now();
    nodes[0].kill();
    std::filesystem::remove(nodes[0].folder() / "nodes.conf");
    nodes[0].restart();
    nodes[0].command({"CLUSTER", "SET-CONFIG-EPOCH", "99"});
    nodes[0].command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    rig.run_until([&] { return rig.acquire("k", "bob") == "granted"; });
    const instance::status status = rig.status();
    BOOST_TEST((status.quarantined_until >= killed_at + 1s));
    BOOST_TEST(contains(status.reason, "the map of another cluster"), status.reason);
    BOOST_TEST((std::chrono::steady_clock::now() >= status.quarantined_until));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
