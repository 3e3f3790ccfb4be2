// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A master that Sentinels monitor. These Sentinels are fake, so they can disagree. The Sentinels in
// failover_test are real.

#include "instance_rig.hpp"
#include "integration/replication.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "support/contains.hpp"
#include "support/fake_sentinel.hpp"
#include "support/meter.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(sentinel_test)

using boost::unit_test::label;
using core::step;
using instance::state;
using namespace std::chrono_literals;

/// Sentinels that all report the same master at first.
struct sentinels {
    explicit sentinels(std::uint16_t master, std::size_t count = 3,
                       std::chrono::milliseconds age = 1h)
        : all(count) {
        name(master, age);
    }

    [[nodiscard]] std::string uri(const std::string& query = {}) const {
        std::string hosts;
        for (const fake_sentinel& one : all) {
            hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        }
        return "redis+sentinel://" + hosts + "/mymaster" + query;
    }

    void name(std::uint16_t master, std::chrono::milliseconds age = 1h) {
        for (fake_sentinel& one : all) {
            one.name(master, age);
        }
    }

    fake_sentinel& operator[](std::size_t i) { return all[i]; }

    std::vector<fake_sentinel> all;
};

instance::redis::redis_settings settings_with(core::milliseconds failover_quarantine) {
    instance::redis::redis_settings settings = quick_settings();
    settings.failover_quarantine = failover_quarantine;
    settings.replicas_timeout = 200ms;
    return settings;
}

std::string address_of(const redis_server& server) {
    return "redis://127.0.0.1:" + std::to_string(server.port());
}

/// Waits until the instance is ready on this server and all Sentinels have replied.
void run_until_ready_on(instance_rig& rig, const redis_server& server) {
    rig.run_until([&] {
        const instance::status status = rig.status();
        return rig.subject().ready() && status.nodes.front().address == address_of(server) &&
               std::ranges::all_of(status.nodes,
                                   [](const auto& one) { return one.state == state::ready; });
    });
}

/// Makes the server a replica of an unreachable one and then a master again, as if it had been promoted.
void promote(const redis_server& server) {
    const reserved_port nobody;
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
    server.command({"REPLICAOF", "NO", "ONE"});
}

BOOST_AUTO_TEST_CASE(the_master_that_the_sentinels_name_is_used) {
    const redis_server master;
    const sentinels three(master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    BOOST_TEST(rig.subject().starting());
    run_until_ready_on(rig, master);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
    BOOST_TEST(master.command({"GET", "k"}).value() == "ann");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    const instance::status status = rig.status();
    BOOST_TEST(status.address == three.uri());
    BOOST_TEST_REQUIRE(status.nodes.size() == 4U);
    BOOST_TEST(status.nodes[0].address == address_of(master));
    BOOST_TEST(status.nodes[0].role == "master");
    BOOST_TEST((status.nodes[0].state == state::ready));
    BOOST_TEST(status.nodes[3].role == "sentinel");
    BOOST_TEST((status.nodes[3].state == state::ready));
}

BOOST_AUTO_TEST_CASE(permits_are_granted_by_the_master_that_the_sentinels_name) {
    const redis_server master;
    const sentinels three(master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, master);
    const auto& kind = kinds::semaphore(2, 1);
    const auto ask = [&](step what, char who) {
        return to_text(
            rig.ask_fence({what, kind, true}, "k", "permit:2*1:" + std::string(40, who), 0));
    };
    BOOST_TEST(ask(step::acquire, '0') == "granted");
    BOOST_TEST(ask(step::acquire, '1') == "granted");
    BOOST_TEST(ask(step::acquire, '2') == "denied: another");
    BOOST_TEST(ask(step::release, '0') == "granted");
    BOOST_TEST(ask(step::acquire, '2') == "granted");
    BOOST_TEST(ask(step::release, '1') == "granted");
    BOOST_TEST(ask(step::release, '2') == "granted");
    BOOST_TEST(master.keys().empty());
}

BOOST_AUTO_TEST_CASE(the_database_of_the_uri_is_used) {
    const redis_server master;
    const sentinels three(master.port());
    instance_rig rig(three.uri("/5"));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    rig.acquire("k", "ann");
    BOOST_TEST(master.command({"GET", "k"}, 5).value() == "ann");
}

// A Sentinel that is cut off still reports the old master.
BOOST_AUTO_TEST_CASE(a_minority_of_the_sentinels_is_ignored, *label("fault-64")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    three[0].switch_to(new_master.port());
    const std::size_t asked = three[0].asked();
    rig.run_until([&] { return three[0].asked() >= asked + 2; });
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(old_master.has("k"));
    three[1].switch_to(new_master.port());
    run_until_ready_on(rig, new_master);
    BOOST_TEST(rig.acquire("l", "ann") == "granted");
    BOOST_TEST(new_master.has("l"));
}

BOOST_AUTO_TEST_CASE(an_instance_is_down_without_a_sentinel_majority, *label("fault-64")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels two(old_master.port(), 2);
    instance_rig rig(two.uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    two[1].switch_to(new_master.port());
    rig.run_until([&] { return !rig.subject().ready(); });
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    const std::string reason = rig.status().reason;
    BOOST_TEST(contains(reason, "no majority of its Sentinels names one master 'mymaster'"),
               reason);
    two[0].switch_to(new_master.port());
    run_until_ready_on(rig, new_master);
    BOOST_TEST(rig.accepting_calls() > 0U);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_server_that_reports_to_be_a_replica_is_rejected, *label("fault-64")) {
    const redis_server master;
    const redis_server replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
    const sentinels three(replica.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return contains(rig.status().reason, "it is a replica"); });
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

BOOST_AUTO_TEST_CASE(locks_are_granted_after_all_sentinels_have_stopped) {
    const redis_server master;
    auto three = std::make_unique<sentinels>(master.port());
    instance_rig rig(three->uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    three.reset();
    rig.run_until([&] { return rig.status().nodes.back().state == state::down; });
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

// No Sentinel announces the failover, or one announces the failover of another master.
BOOST_AUTO_TEST_CASE(sentinels_are_polled_for_an_unannounced_failover, *label("fault-65")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    three.name(new_master.port());
    run_until_ready_on(rig, new_master);
}

BOOST_AUTO_TEST_CASE(a_message_about_another_master_changes_nothing, *label("fault-65")) {
    const redis_server master;
    const redis_server other;
    sentinels three(master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    const std::size_t asked = three[1].asked();
    three[0].announce("othermaster 127.0.0.1 1 127.0.0.1 " + std::to_string(other.port()));
    rig.run_until([&] { return three[1].asked() > asked; });
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(master.has("k"));
}

// The old master continues as a replica, on a working connection.
BOOST_AUTO_TEST_CASE(a_demoted_master_is_abandoned_for_the_new_one, *label("fault-66")) {
    const redis_server new_master;
    const redis_server old_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    old_master.command({"CONFIG", "SET", "replica-read-only", "yes"});
    old_master.command({"REPLICAOF", "127.0.0.1", std::to_string(new_master.port())});
    const auto vote = rig.ask(step::acquire, "k", "ann");
    BOOST_TEST((vote.kind == core::vote_kind::failed));
    rig.run_until([&] { return !rig.subject().ready(); });
    three.name(new_master.port());
    run_until_ready_on(rig, new_master);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

// The last locks that the old master granted were never replicated to the new one.
BOOST_AUTO_TEST_CASE(a_promoted_replica_is_quarantined, *label("fault-67")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri(), settings_with(500ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    rig.acquire("k", "ann");
    promote(new_master);
    const auto before = std::chrono::steady_clock::now();
    three.name(new_master.port(), 0ms);
    rig.run_until([&] { return rig.status().state == state::quarantined; });
    const std::string why = rig.status().why_quarantined;
    BOOST_TEST(contains(why, "it was a replica"), why);
    BOOST_TEST(contains(why, "failover_quarantine"), why);
    BOOST_TEST(rig.acquire("k", "bob") == "failed: quarantined");
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    run_until_ready_on(rig, new_master);
    BOOST_TEST((std::chrono::steady_clock::now() - before >= 500ms));
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
}

BOOST_AUTO_TEST_CASE(without_quarantine_an_unreplicated_lock_is_granted_twice, *label("fault-67")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri(), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    promote(new_master);
    three.name(new_master.port(), 0ms);
    run_until_ready_on(rig, new_master);
    BOOST_TEST(rig.acquire("k", "bob") == "granted");  // The ttl of ann is ten minutes.
}

// The Sentinels report how long ago it was promoted, so a client that starts much later need not wait.
BOOST_AUTO_TEST_CASE(a_late_client_waits_only_for_the_rest_of_the_quarantine) {
    const redis_server master;
    promote(master);
    sentinels three(master.port(), 3, 1min);
    instance_rig late(three.uri(), settings_with(10s));
    late.run_until_ready();
    BOOST_TEST((late.status().quarantined_until == core::time_point::min()));
    three.name(master.port(), 5s);
    instance_rig early(three.uri(), settings_with(10s));
    early.run_until([&] { return early.status().state == state::quarantined; });
    const auto left = early.status().quarantined_until - std::chrono::steady_clock::now();
    BOOST_TEST((left > 4s));
    BOOST_TEST((left < 9s));
}

BOOST_AUTO_TEST_CASE(a_new_master_is_quarantined_even_if_it_was_no_replica, *label("fault-67")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels three(old_master.port());
    instance_rig rig(three.uri(), settings_with(500ms));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, old_master);
    three.name(new_master.port(), 0ms);
    rig.run_until([&] { return rig.status().state == state::quarantined; });
    BOOST_TEST(contains(rig.status().why_quarantined, "a different server than the former master"));
    run_until_ready_on(rig, new_master);
}

BOOST_AUTO_TEST_CASE(an_initial_master_without_failover_is_not_quarantined) {
    const redis_server master;
    sentinels three(master.port(), 3, 0ms);
    instance_rig rig(three.uri(), settings_with(1h));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    BOOST_TEST((rig.status().quarantined_until == core::time_point::min()));
}

BOOST_AUTO_TEST_CASE(noreplicas_is_a_failed_vote, *label("fault-67")) {
    const redis_server master({"--min-replicas-to-write", "1"});
    const sentinels three(master.port());
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    const auto vote = rig.ask(step::acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(*vote.detail, "NOREPLICAS"), *vote.detail);
    BOOST_TEST(rig.subject().ready());
}

BOOST_AUTO_TEST_CASE(the_sentinels_have_a_password_of_their_own, *label("fault-68")) {
    const redis_server master({"--requirepass", "servers"});
    std::vector<fake_sentinel> two;
    two.emplace_back("sentinels");
    two.emplace_back("sentinels");
    two[0].name(master.port());
    two[1].name(master.port());
    const std::string hosts = two[0].host_and_port() + "," + two[1].host_and_port();
    instance_rig rig("redis+sentinel://:servers@" + hosts +
                     "/mymaster?sentinel_password=sentinels");
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();

    instance_rig wrong("redis+sentinel://:servers@" + hosts + "/mymaster?sentinel_password=wrong");
    wrong.run_until([&] {
        return contains(wrong.status().reason,
                        two[0].host_and_port() + " HELLO with AUTH was refused: WRONGPASS");
    });
    instance_rig none("redis+sentinel://:servers@" + hosts + "/mymaster");
    none.run_until([&] { return contains(none.status().reason, "NOAUTH"); });
    instance_rig wrong_at_server("redis+sentinel://:wrong@" + hosts +
                                 "/mymaster?sentinel_password=sentinels");
    wrong_at_server.run_until(
        [&] { return contains(wrong_at_server.status().nodes.front().reason, "WRONGPASS"); });
}

BOOST_AUTO_TEST_CASE(the_reason_names_a_master_unknown_to_the_sentinels) {
    const sentinels three(0);
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] {
        return contains(rig.status().reason, "it reports for 'mymaster': ERR No such master");
    });
}

namespace {

/// Returns settings with a timeout for replicas that is long enough on a busy machine.
instance::redis::redis_settings patient_settings(core::milliseconds failover_quarantine) {
    auto settings = settings_with(failover_quarantine);
    settings.replicas_timeout = 5s;
    return settings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_grant_counts_after_replicas_acknowledge_it, *label("fault-75")) {
    const redis_server master(at_once);
    const redis_server replica(replica_of(master));
    wait_until_streaming(master, replica);
    const sentinels three(master.port());
    instance_rig rig(three.uri("?replicas_acked=1"), patient_settings(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(replica.has("k"));
    BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(too_few_replicas_are_a_failed_vote, *label("fault-75")) {
    const redis_server master;
    const sentinels three(master.port());
    instance_rig rig(three.uri("?replicas_acked=2"), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    rig.submit(step::acquire, "k", "ann");
    rig.submit(step::remaining, "k");
    rig.submit(step::acquire, "k", "bob");
    const std::vector<std::string> votes = rig.votes();
    BOOST_TEST(votes[0] == "failed: not replicated");
    BOOST_TEST(votes[2] == "denied: another");
    BOOST_TEST(*rig.vote_on(0).detail == "0 of 2 acknowledged it in time (replicas_acked)");
    // The command was executed although it was not replicated. The lock must roll it back.
    BOOST_TEST(rig.release("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_lost_connection_fails_grants_that_wait_for_replicas, *label("fault-75")) {
    redis_server master;
    const sentinels three(master.port());
    instance_rig rig(three.uri("?replicas_acked=1"), [] {
        auto settings = settings_with(0ms);
        settings.replicas_timeout = 1h;
        return settings;
    }());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    const auto tag = rig.submit(step::acquire, "k", "ann");
    rig.run_until([&] { return master.has("k"); });
    master.kill();
    rig.run_until([&] { return rig.voted(tag); });
    BOOST_TEST(to_text(rig.vote_on(tag)) == "failed: connection lost");
}

// The replica that acknowledged is not the promoted one.
BOOST_AUTO_TEST_CASE(an_acknowledged_lock_can_be_lost_in_a_failover, *label("fault-75")) {
    for (const bool quarantined : {true, false}) {
        redis_server master(at_once);
        const redis_server acknowledging(replica_of(master));
        redis_server cut_off(replica_of(master));
        for (const redis_server* const replica :
             std::initializer_list<const redis_server*>{&acknowledging, &cut_off}) {
            wait_until_streaming(master, *replica);
        }
        // The replica gets no further data, and must not synchronize again.
        const reserved_port nobody;
        cut_off.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});

        sentinels three(master.port());
        instance_rig rig(three.uri("?replicas_acked=1"),
                         patient_settings(quarantined ? 1min : 0ms));
        const meter costs(rig.executor(), loop_may_rest);
        run_until_ready_on(rig, master);
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
        BOOST_TEST(acknowledging.has("k"));
        master.kill();
        cut_off.command({"REPLICAOF", "NO", "ONE"});
        acknowledging.command({"REPLICAOF", "127.0.0.1", std::to_string(cut_off.port())});
        wait_until([&] { return !acknowledging.has("k"); });
        three.name(cut_off.port(), 0ms);
        rig.run_until([&] {
            return rig.status().nodes.front().address == address_of(cut_off) &&
                   rig.status().state == (quarantined ? state::quarantined : state::ready);
        });
        BOOST_TEST(rig.acquire("k", "bob") == (quarantined ? "failed: quarantined" : "granted"));
    }
}

// As nanoseconds, the first value exceeds the range of a duration.
BOOST_AUTO_TEST_CASE(an_implausible_failover_time_is_ignored, *label("fault-105")) {
    const redis_server master;
    for (const std::chrono::milliseconds age :
         {std::chrono::milliseconds::max(), std::chrono::milliseconds::min(), -1ms}) {
        sentinels three(master.port(), 3, age);
        instance_rig rig(three.uri());
        const meter costs(rig.executor(), loop_may_rest);
        run_until_ready_on(rig, master);
    }
}

/// The user has exactly the rights that docs/permissions.md lists.
BOOST_AUTO_TEST_CASE(the_documented_rights_suffice_for_a_real_sentinel) {
    const redis_server master;
    const redis_server real({"--sentinel"});
    real.command(
        {"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(master.port()), "1"});
    real.command({"ACL", "SETUSER", "colock", "on", ">secret", "-@all", "+hello",
                  "+sentinel|master", "+subscribe", "&+switch-master"});
    const std::string uri = "redis+sentinel://127.0.0.1:" + std::to_string(real.port()) +
                            "/mymaster?sentinel_user=colock&sentinel_password=";
    instance_rig rig(uri + "secret");
    const meter costs(rig.executor(), loop_may_rest);
    run_until_ready_on(rig, master);
    const auto subscribers = [&] { return *real.command({"CLIENT", "LIST", "TYPE", "PUBSUB"}); };
    BOOST_TEST(contains(subscribers(), "name=colock"));
    real.command({"ACL", "SETUSER", "colock", "-sentinel|master"});
    rig.run_until([&] { return contains(rig.status().nodes.back().reason, "NOPERM"); });
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
