// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Readers and writers of one key, in virtual time.

#include <boost/test/unit_test.hpp>

#include "kinds/shared.hpp"
#include "virtual_world.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

namespace {

using client = virtual_deployment::client;
using acquire = std::shared_ptr<virtual_acquire>;

runtime::lock_policy policy_of(const client& of, const kinds::lock_kind& kind) {
    runtime::lock_policy policy = of.usual_policy();
    policy.set_kind(kind);
    if (kind.traits().clears_the_way) {
        policy.attempt_interval = kinds::writer_mark_ttl / 2;
    }
    return policy;
}

acquire read(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", policy_of(by, kinds::shared), deadline);
}
acquire write(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", policy_of(by, kinds::writer), deadline);
}

/// A reader that shares no lease of another.
acquire read_alone(client& by) {
    runtime::lock_policy policy = policy_of(by, kinds::shared);
    policy.handoff.limit = 0;
    return by.acquire("a", policy);
}

/// That are granted now, or will be soon.
void expect_granted(virtual_deployment& in, const std::vector<acquire>& all) {
    for (const acquire& one : all) {
        BOOST_TEST_REQUIRE(in.world().run_until([&] { return one->is_finished; }));
        BOOST_TEST_REQUIRE(one->granted());
    }
}

/// Tasks that read and write all the time, a tenth of it to write, and hold the lock for 2 ms.
class crowd {
public:
    crowd(virtual_deployment& in, std::size_t clients, std::uint64_t seed)
        : world_(in.world()), random_(seed) {
        constexpr std::size_t tasks = 4;  // of each
        for (std::size_t i = 0; i != clients; ++i) {
            clients_.push_back(in.make_client());
            for (std::size_t task = 0; task != tasks; ++task) {
                visit(*clients_.back());
            }
        }
    }

    /// For how long nobody held the lock.
    [[nodiscard]] core::duration longest_idle() const {
        return holders_ == 0 ? std::max(longest_idle_, world_.now() - idle_since_) : longest_idle_;
    }
    void end() { is_over_ = true; }

private:
    void visit(client& by) {
        if (is_over_) {
            return;
        }
        constexpr std::uint64_t writes_of_ten = 1;
        const bool writes = core::next_random(random_) % 10 < writes_of_ten;
        const acquire one = writes ? write(by) : read(by);
        one->on_finished = [this, &by, of = std::weak_ptr(one)] {
            const acquire held = of.lock();
            BOOST_TEST_REQUIRE(held->granted());
            if (holders_++ == 0) {
                longest_idle_ = std::max(longest_idle_, world_.now() - idle_since_);
            }
            world_.after(2ms, [this, &by, held] {
                held->let_go();
                if (--holders_ == 0) {
                    idle_since_ = world_.now();
                }
                visit(by);
            });
        };
    }

    virtual_world& world_;
    std::uint64_t random_;
    std::vector<std::unique_ptr<client>> clients_;
    std::size_t holders_ = 0;
    core::time_point idle_since_ = world_.now();
    core::duration longest_idle_{};
    bool is_over_ = false;
};

/// The writer enters as soon as the reader has left.
void expect_woken_by(virtual_deployment& in, virtual_acquire& reader, const acquire& writer) {
    const core::time_point released = in.world().now();
    reader.let_go();
    expect_granted(in, {writer});
    const core::duration took = writer->finished_at - released;
    BOOST_TEST((took < 20ms), std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                                  << " ms");
}

/// How many clients wait in the remote queue.
std::size_t tickets_at(virtual_deployment& in) {
    return in.server(0).keys.queue_of("a", in.world().now()).tickets.size();
}

/// No client sends anything any more.
void expect_silence(virtual_deployment& in) {
    const std::size_t executed = in.executed();
    in.world().run_for(5s);
    BOOST_TEST(in.executed() == executed);
}

/// Ann reads, Bob waits as a writer, and another reader of Ann, which does not share a lease, waits for Bob.
struct queue_of_readers {
    queue_of_readers() {
        one.server(0).tells_changes = true;
        holding = patient_reader();
        expect_granted(one, {holding});
        writer = write(*bob);
        one.world().run_for(kinds::writer_mark_ttl / 2 + 20ms);  // until it has left its mark
        waiting = read_alone(*ann);
        one.world().run_for(20ms);
        BOOST_TEST(tickets_at(one) == 2U);
    }

    acquire patient_reader() {
        runtime::lock_policy policy = policy_of(*ann, kinds::shared);
        policy.handoff.time = 1h;
        return ann->acquire("a", policy);
    }

    std::size_t tickets() { return tickets_at(one); }

    /// Once all have let go, nobody sends anything.
    void expect_nothing_left() {
        holding->let_go();
        expect_granted(one, {writer});
        writer->let_go();
        one.world().run_for(5ms);
        BOOST_TEST(tickets() == 0U);
        expect_silence(one);
    }

    virtual_deployment one{1};
    std::unique_ptr<client> ann = one.make_client();
    std::unique_ptr<client> bob = one.make_client();
    acquire holding;  // Ann's
    acquire waiting;  // Ann's
    acquire writer;   // Bob's
};

std::shared_ptr<virtual_downgrade> downgrade(const client& of, const virtual_acquire& writer,
                                             const runtime::lock_policy& readers) {
    const auto result = std::make_shared<virtual_downgrade>(writer.lease, writer.holder_number,
                                                            of.spec_of("a", readers));
    result->start(result);
    return result;
}
std::shared_ptr<virtual_downgrade> downgrade(const client& of, const virtual_acquire& writer) {
    return downgrade(of, writer, policy_of(of, kinds::shared));
}

/// That succeed soon.
void expect_done(virtual_deployment& in,
                 const std::vector<std::shared_ptr<virtual_downgrade>>& all) {
    for (const auto& one : all) {
        BOOST_TEST_REQUIRE(
            in.world().run_until([&] { return one->told == runtime::lease_result::done; }));
    }
}

/// Ann holds it as a writer, and has waited for Bob, so that her client has a ticket in the remote queue.
struct writer_after_wait {
    writer_after_wait() {
        one.server(0).tells_changes = true;
        const acquire first = write(*bob);
        expect_granted(one, {first});
        writer = write(*ann);
        one.world().run_for(50ms);
        BOOST_TEST(tickets_at(one) == 1U);
        first->let_go();
        expect_granted(one, {writer});
        BOOST_TEST(tickets_at(one) == 1U);
    }

    virtual_deployment one{1};
    std::unique_ptr<client> ann = one.make_client();
    std::unique_ptr<client> bob = one.make_client();
    acquire writer;  // Ann's
};

}  // namespace

BOOST_AUTO_TEST_SUITE(shared_locks)

BOOST_AUTO_TEST_CASE(a_thousand_readers_of_one_client_share_one_lease) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    std::vector<acquire> readers{read(*client)};
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    for (int i = 0; i != 999; ++i) {
        readers.push_back(read(*client));
    }
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    BOOST_TEST(client->engine().parts().counts.held == 1000U);
    for (const acquire& one : readers) {
        BOOST_TEST((one->valid_until() > five.world().now()));
        one->let_go();
        BOOST_TEST((one->valid_until() == core::time_point::min()));
        one->let_go();  // once more takes nothing away
    }
    five.world().run_for(10ms);
    BOOST_TEST(five.executed() == 10U);
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    BOOST_TEST(client->engine().parts().counts.acquired == 1000U);
    BOOST_TEST(client->engine().parts().counts.released == 1000U);
}

BOOST_AUTO_TEST_CASE(the_last_reader_to_leave_releases_the_lease) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const auto other = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire third = read(*client);
    expect_granted(one, {second, third});
    second->let_go();
    first->let_go();
    first->let_go();
    second->let_go();
    one.world().run_for(10ms);
    const acquire writer = write(*other, one.world().now() + 5ms);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
    BOOST_TEST((third->valid_until() > one.world().now()));
    third->let_go();
    expect_granted(one, {write(*other)});
}

BOOST_AUTO_TEST_CASE(readers_of_many_clients_hold_the_lock_together) {
    virtual_deployment five(5);
    std::vector<std::unique_ptr<client>> clients;
    std::vector<acquire> readers;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(five.make_client());
        readers.push_back(read(*clients.back()));
        expect_granted(five, readers);
    }
    const acquire writer = write(*clients.front(), five.world().now() + 50ms);
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
}

/// Whether free or held by other readers, an attempt that is not to wait is made in both forms.
BOOST_AUTO_TEST_CASE(a_single_attempt_joins_other_readers) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    expect_granted(five, {read(*ann, core::time_point::min())});
    expect_granted(five, {read(*bob, core::time_point::min())});
    runtime::lock_policy once = policy_of(*bob, kinds::shared);
    once.attempts = 1;
    const auto cid = five.make_client();
    expect_granted(five, {cid->acquire("a", once)});
}

/// It does so even if another operation attempts, or waits before this one. A task that waits for itself would be hard to
/// find otherwise.
BOOST_AUTO_TEST_CASE(an_error_reports_that_this_client_holds_the_lock) {
    virtual_deployment three(3);
    const auto ann = three.make_client();
    expect_granted(three, {read(*ann)});
    three.world().run_for(100ms);  // the lease is shared no more
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).latency = 50ms;
    }
    const acquire attempting = read(*ann);
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    three.world().run_for(10ms);
    for (const acquire& one : {behind, writer}) {
        one->cancel();
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return one->is_finished; }));
        BOOST_TEST(one->text == "'a': this client holds it already");
    }
    attempting->cancel();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return attempting->is_finished; }));
    BOOST_TEST(attempting->text.ends_with(", this client holds it already"), attempting->text);
}

/// The first attempt of a writer that was denied and waits has two parts.
BOOST_AUTO_TEST_CASE(an_error_in_a_second_round_includes_the_first_rounds_votes) {
    virtual_deployment three(3);
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    expect_granted(three, {read(*ann)});
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).latency = 50ms;
    }
    const acquire writer = write(*bob);
    three.world().run_for(120ms);
    writer->cancel();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST(writer->text.find("[server 0: denied, held by another holder]") != std::string::npos,
               writer->text);
}

/// They wait for the attempt of the first of them, since nobody else is in the way.
BOOST_AUTO_TEST_CASE(concurrent_single_attempts_of_one_client_share_a_lease) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    std::vector<acquire> readers;
    for (int i = 0; i != 10; ++i) {
        readers.push_back(read(*client, core::time_point::min()));
    }
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    five.world().run_for(100ms);  // the lease is shared no more
    const acquire next = read(*client, core::time_point::min());
    const acquire with_it = read(*client, core::time_point::min());
    expect_granted(five, {next, with_it});
    BOOST_TEST((next->lease != readers.front()->lease));
    BOOST_TEST((next->lease == with_it->lease));
}

/// Their own deadline counts, too. Fault 88: a reader of the same client is not in the way.
BOOST_AUTO_TEST_CASE(a_single_attempt_waits_for_another_reader_until_its_deadline,
                     *label("fault-88")) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    one.server(0).latency = 50ms;
    runtime::lock_policy once = policy_of(*client, kinds::shared);
    once.attempts = 1;
    const acquire first = client->acquire("a", once);
    const core::time_point deadline = one.world().now() + 20ms;
    const acquire second = client->acquire("a", once, deadline);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return second->is_finished; }));
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(second->text.find("[server 0: no answer yet]") != std::string::npos, second->text);
    BOOST_TEST((second->finished_at >= deadline));
    BOOST_TEST((second->finished_at < deadline + 5ms));
    expect_granted(one, {first});
}

/// Also if the other one has not begun yet, as the handler of the one before it is just called.
BOOST_AUTO_TEST_CASE(a_single_attempt_waits_for_a_reader_that_is_about_to_begin) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy policy = policy_of(*client, kinds::shared);
    policy.handoff.limit = 0;  // or it would share the lease of the first
    const acquire first = client->acquire("a", policy);
    const acquire second = client->acquire("a", policy);
    acquire third;
    first->on_finished = [&] { third = client->acquire("a", policy, core::time_point::min()); };
    expect_granted(one, {first, second});
    expect_granted(one, {third});
    const acquire fourth = client->acquire("b");
    const acquire fifth = client->acquire("b", policy);
    one.world().run_for(10us);
    fourth->cancel();
    expect_granted(one, {fifth, client->acquire("b", policy, core::time_point::min())});
}

BOOST_AUTO_TEST_CASE(the_next_single_attempt_waits_for_the_first_connection) {
    virtual_deployment one(1);
    one.server(0).is_up = false;
    one.server(0).is_starting = true;
    const auto client = one.make_client();
    const acquire first = read(*client);
    const acquire second = read(*client, core::time_point::min());
    one.world().run_for(300ms);
    first->cancel();
    one.world().run_for(350ms);
    BOOST_TEST(!second->is_finished, second->text);
    client->reach(0);
    expect_granted(one, {second});
}

/// An outage does not count that was over long ago, while others of the client held the lock.
BOOST_AUTO_TEST_CASE(an_earlier_outage_does_not_shorten_a_readers_wait) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto set_silent = [&](bool silent) {
        three.server(1).is_silent = three.server(2).is_silent = silent;
    };
    const acquire holder = read(*client);
    expect_granted(three, {holder});
    three.world().run_for(100ms);  // the lease is shared no more
    set_silent(true);
    const acquire failing = read(*client);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return failing->is_finished; }));
    BOOST_TEST((failing->outcome == acquire_outcome::no_quorum));
    set_silent(false);
    three.world().run_for(60s);
    BOOST_TEST((holder->valid_until() > three.world().now()));
    set_silent(true);
    const acquire next = read(*client);
    three.world().run_for(300ms);  // longer than an attempt, and shorter than it may wait
    set_silent(false);
    expect_granted(three, {next});
}

/// They take no longer than an attempt each.
BOOST_AUTO_TEST_CASE(single_attempts_are_denied_while_a_writer_holds_the_lock) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    expect_granted(five, {write(*ann)});
    const core::time_point began = five.world().now();
    for (int i = 0; i != 3; ++i) {
        const acquire first = read(*bob, core::time_point::min());
        const acquire second = read(*bob, core::time_point::min());
        BOOST_TEST_REQUIRE(
            five.world().run_until([&] { return first->is_finished && second->is_finished; }));
        BOOST_TEST((first->outcome == acquire_outcome::contended));
        BOOST_TEST((second->outcome == acquire_outcome::contended));
    }
    BOOST_TEST((five.world().now() - began < 20ms));
}

BOOST_AUTO_TEST_CASE(a_single_attempt_fails_behind_a_writer_or_a_waiting_reader) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const acquire reader = read(*ann);
    expect_granted(one, {reader});
    const acquire writer = write(*ann);
    const acquire behind_a_writer = read(*ann, core::time_point::min());
    BOOST_TEST(!behind_a_writer->running());
    reader->let_go();
    expect_granted(one, {writer});
    const acquire patient = read(*bob);
    one.world().run_for(50ms);  // it has been denied
    const acquire behind_a_reader = read(*bob, core::time_point::min());
    BOOST_TEST(!behind_a_reader->running());
    one.world().run_for(1ms);
    BOOST_TEST((behind_a_writer->outcome == acquire_outcome::contended));
    BOOST_TEST((behind_a_reader->outcome == acquire_outcome::contended));
    writer->let_go();
    expect_granted(one, {patient});
}

BOOST_AUTO_TEST_CASE(a_reader_waits_for_a_writer_and_a_writer_for_readers) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    const acquire writer = write(*ann);
    expect_granted(five, {writer});
    const acquire reader = read(*bob);
    five.world().run_for(300ms);
    BOOST_TEST(!reader->is_finished);
    writer->let_go();
    expect_granted(five, {reader});
    const acquire next = write(*ann);
    five.world().run_for(300ms);
    BOOST_TEST(!next->is_finished);
    reader->let_go();
    expect_granted(five, {next});
}

BOOST_AUTO_TEST_CASE(a_waiting_writer_blocks_later_readers_of_its_client) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const acquire first = read(*ann);
    expect_granted(five, {first});
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    const acquire with_it = read(*ann);
    five.world().run_for(300ms);
    BOOST_TEST(!writer->is_finished);
    BOOST_TEST(!behind->is_finished);
    first->let_go();
    expect_granted(five, {writer});
    BOOST_TEST(!behind->is_finished);
    writer->let_go();
    expect_granted(five, {behind, with_it});  // together
    BOOST_TEST((behind->lease == with_it->lease));
}

/// Fault 42.
BOOST_AUTO_TEST_CASE(overlapping_readers_of_other_clients_do_not_starve_a_writer,
                     *label("fault-42")) {
    virtual_deployment three(3);
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 4; ++i) {
        clients.push_back(three.make_client());
    }
    const auto writing = three.make_client();
    std::vector<acquire> reading;
    // Each reads for 40 ms, again and again, so that there are always some.
    const auto step = [&] {
        for (std::size_t i = 0; i != clients.size(); ++i) {
            if (reading.size() <= i) {
                reading.push_back(read(*clients[i]));
            } else if (reading[i]->is_finished &&
                       three.world().now() - reading[i]->finished_at > 40ms) {
                reading[i]->let_go();
                reading[i] = read(*clients[i]);
            }
        }
        three.world().run_for(3ms);
    };
    for (int i = 0; i != 50; ++i) {
        step();
    }
    const core::time_point begun = three.world().now();
    const acquire writer = write(*writing);
    while (!writer->is_finished && three.world().now() - begun < 2s) {
        step();
    }
    BOOST_TEST_REQUIRE(writer->granted());
    BOOST_TEST_MESSAGE("a writer has waited "
                       << std::chrono::duration_cast<std::chrono::milliseconds>(
                              writer->finished_at - begun)
                              .count()
                       << " ms");
    BOOST_TEST((writer->finished_at - begun < 300ms));
    writer->let_go();
    const core::time_point released = three.world().now();
    for (const acquire& one : reading) {
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return one->is_finished; }));
        BOOST_TEST((three.world().now() - released < 300ms));
    }
}

/// Fault 42.
BOOST_AUTO_TEST_CASE(a_waiting_writer_keeps_new_readers_out_immediately, *label("fault-42")) {
    for (const bool has_remote_queue : {false, true}) {
        virtual_deployment three(3);
        three.tell_changes(has_remote_queue);
        const auto ann = three.make_client();
        const auto bob = three.make_client();
        const auto cid = three.make_client();
        const acquire reader = read(*ann);
        expect_granted(three, {reader});
        runtime::lock_policy policy = policy_of(*bob, kinds::writer);
        policy.retry = {250ms, 250ms};
        const acquire writer = bob->acquire("a", policy);
        three.world().run_for(20ms);
        const acquire late = read(*cid, core::time_point::min());
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return late->is_finished; }));
        BOOST_TEST((late->outcome == acquire_outcome::contended));
        reader->let_go();
        expect_granted(three, {writer});
    }
}

/// Fault 42: one that gives up at its deadline, after its attempts, or without waiting.
BOOST_AUTO_TEST_CASE(a_writer_that_gave_up_does_not_keep_readers_out, *label("fault-42")) {
    struct row {
        std::size_t attempts;
        core::duration time;  // until the deadline
    };
    virtual_deployment three(3);
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    expect_granted(three, {read(*ann)});
    for (const auto& [attempts, time] :
         {row{0, 0ms}, row{0, 70ms}, row{0, 300ms}, row{1, 0ms}, row{1, 70ms}, row{1, 1h},
          row{2, 70ms}, row{2, 1h}, row{3, 70ms}, row{3, 1h}}) {
        const core::time_point deadline = three.world().now() + time;
        runtime::lock_policy policy = policy_of(*bob, kinds::writer);
        policy.attempts = attempts;
        const acquire writer = bob->acquire("a", policy, deadline);
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return writer->is_finished; }));
        BOOST_TEST((writer->outcome == acquire_outcome::contended));
        three.world().run_for(1ms);
        const acquire next = read(*cid, core::time_point::min());
        expect_granted(three, {next});
        next->let_go();
    }
}

/// Fault 42: also if the servers are far away, compared with the waits between its attempts.
BOOST_AUTO_TEST_CASE(a_writer_with_few_attempts_keeps_readers_out_until_the_last,
                     *label("fault-42")) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    expect_granted(one, {read(*ann)});
    one.server(0).latency = 10ms;
    runtime::lock_policy policy = policy_of(*bob, kinds::writer);
    policy.attempts = 4;
    const acquire writer = bob->acquire("a", policy);
    one.world().run_for(31ms);         // its second round has come
    constexpr std::size_t rounds = 5;  // the first attempt has two
    while (bob->engine().parts().counts.attempts < rounds) {
        BOOST_TEST((one.server(0).keys.mark_until("a", one.world().now()) > one.world().now()));
        one.world().run_for(1ms);
    }
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
}

/// Fault 43: also after an attempt that has left its mark in the key, of which no server tells it.
BOOST_AUTO_TEST_CASE(a_waiting_writer_is_woken_when_the_reader_releases, *label("fault-43")) {
    for (const auto waited : {100ms, 600ms, 700ms, 1300ms, 5200ms}) {
        virtual_deployment three(3);
        three.tell_changes();
        const auto reading = three.make_client();
        const auto writing = three.make_client();
        const acquire reader = read(*reading);
        expect_granted(three, {reader});
        runtime::lock_policy patient = policy_of(*writing, kinds::writer);
        patient.retry = {1min, 1min};
        const acquire writer = writing->acquire("a", patient);
        three.world().run_for(waited);
        BOOST_TEST(!writer->is_finished);
        BOOST_TEST_CONTEXT("after " << waited.count() << " ms") {
            expect_woken_by(three, *reader, writer);
        }
    }
}

/// Fault 43: readers that came before a waiting writer, and wait as well, are in no writer's way, and no mark is in theirs. The
/// first writer keeps Bob out, the second comes after him.
BOOST_AUTO_TEST_CASE(a_writer_behind_a_waiting_reader_does_not_keep_it_out, *label("fault-43")) {
    for (const std::size_t servers : {1, 5}) {
        virtual_deployment some(servers);
        some.tell_changes();
        const auto ann = some.make_client();
        const auto bob = some.make_client();
        const auto cid = some.make_client();
        const auto dan = some.make_client();
        const acquire holder = read(*ann);
        expect_granted(some, {holder});
        const acquire first = write(*dan, some.world().now() + 100ms);
        some.world().run_for(80ms);
        const acquire reader = read(*bob);
        some.world().run_for(19ms);
        const acquire second = write(*cid);
        some.world().run_for(21ms);
        BOOST_TEST(first->is_finished);
        const core::time_point released = some.world().now();
        holder->let_go();
        expect_granted(some, {reader});
        BOOST_TEST((reader->finished_at - released < 20ms));
        reader->let_go();
        const core::time_point released_again = some.world().now();
        expect_granted(some, {second});
        BOOST_TEST((second->finished_at - released_again < 20ms));
    }
}

/// Fault 43: whatever they do, one of them enters soon after the last has left.
BOOST_AUTO_TEST_CASE(readers_and_writers_never_all_wait, *label("fault-43")) {
    for (const std::size_t servers : {1, 3, 5}) {
        for (const std::size_t clients : {2, 3, 4, 8}) {
            for (const std::uint64_t seed : {113, 120, 126}) {
                virtual_deployment some(servers);
                some.tell_changes();
                crowd all(some, clients, seed);
                std::uint64_t random = seed;
                for (int ms = 0; ms != 1500; ++ms) {
                    for (std::size_t i = 0; i != servers; ++i) {
                        some.server(i).latency = 20us + core::next_random(random) % 800 * 1us;
                    }
                    some.world().run_for(1ms);
                }
                BOOST_TEST_CONTEXT(servers << " servers, " << clients << " clients, seed "
                                           << seed) {
                    BOOST_TEST((all.longest_idle() < 20ms));
                }
                all.end();
                some.world().run_for(1s);
            }
        }
    }
}

/// A reader that expects others waits for its turn in the queue first; and it is its turn if only readers hold the lock.
BOOST_AUTO_TEST_CASE(a_reader_at_the_head_of_the_queue_joins_other_readers) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    expect_granted(three, {read(*ann)});
    const acquire writer = write(*bob);
    three.world().run_for(20ms);
    const acquire late = read(*cid, three.world().now() + 50ms);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return late->is_finished; }));
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    writer->cancel();
    three.world().run_for(1ms);
    const core::time_point now = three.world().now();
    const acquire next = read(*cid);
    expect_granted(three, {next});
    BOOST_TEST((next->finished_at - now < 1ms));
}

/// It is told of the end of a writer's hold, and mostly waits for that.
BOOST_AUTO_TEST_CASE(a_reader_at_the_head_of_the_queue_sends_few_commands) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const acquire writer = write(*ann);
    expect_granted(three, {writer});
    const std::size_t executed = three.executed();
    const acquire reader = read(*bob);
    three.world().run_for(5s);
    BOOST_TEST(three.executed() - executed < 300U);  // 20 a server and second; more at first
    writer->let_go();
    expect_granted(three, {reader});
}

/// Fault 43: how long it has been in the queue counts from when it came, though the client has done nothing for long before.
BOOST_AUTO_TEST_CASE(a_writer_of_an_idle_client_waits_for_its_turn, *label("fault-43")) {
    virtual_deployment one(1);
    one.tell_changes();
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const auto cid = one.make_client();
    const acquire first = write(*ann);
    expect_granted(one, {first});
    const acquire second = write(*bob);
    one.world().run_for(10ms);
    const acquire reader = read(*cid);
    one.world().run_for(10ms);
    first->let_go();
    expect_granted(one, {second});
    second->let_go();  // Bob hears that others wait, and joins the queue at once the next time
    expect_granted(one, {reader});
    one.world().run_for(10ms);
    const acquire mutex = ann->acquire("a");  // the first in the queue, which leaves no mark
    one.world().run_for(7s);
    const auto& attempts = bob->engine().parts().counts.attempts;
    const std::uint64_t attempts_before = attempts;
    const acquire writer = write(*bob);
    one.world().run_for(100ms);
    BOOST_TEST(attempts == attempts_before);
    BOOST_TEST((one.server(0).keys.mark_until("a", one.world().now()) == core::time_point::min()));
    reader->let_go();
    expect_granted(one, {mutex});
    mutex->let_go();
    expect_granted(one, {writer});
}

/// Fault 42: nor behind a mutex that waits, and leaves no mark. The readers are of ever new clients, which know of no queue.
BOOST_AUTO_TEST_CASE(a_writer_behind_a_mutex_does_not_starve, *label("fault-42")) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto cid = three.make_client();
    const auto dan = three.make_client();
    std::vector<std::unique_ptr<client>> readers;
    const auto read_anew = [&] {
        readers.push_back(three.make_client());
        return read(*readers.back(), three.world().now() + 20ms);
    };
    acquire reading = read_anew();
    expect_granted(three, {reading});
    const acquire mutex = cid->acquire("a");
    three.world().run_for(5ms);
    const acquire writer = write(*dan);
    const core::time_point begun = three.world().now();
    const auto is_over = [&] { return mutex->is_finished || writer->is_finished; };
    while (!is_over() && three.world().now() - begun < 10s) {
        const acquire next = read_anew();
        three.world().run_for(20ms);  // so that one always reads, if it may
        if (reading->granted()) {
            reading->let_go();
        }
        reading = next;
        three.world().run_for(20ms);
    }
    BOOST_TEST_REQUIRE(is_over());
    BOOST_TEST((three.world().now() - begun > 1s));  // or the readers have not overlapped
    const acquire& first = mutex->is_finished ? mutex : writer;
    first->let_go();
    expect_granted(three, {mutex, writer});
}

/// Readers of new clients, which know of no queue, come one after the other, so that one always reads. A mutex waits for them,
/// first in the remote queue.
class overlapping_readers {
public:
    overlapping_readers() {
        in.tell_changes();
        reading_ = read_anew();
        expect_granted(in, {reading_});
        mutex = mutexes->acquire("a");
        in.world().run_for(5ms);
    }

    /// Until the condition holds, or that time is over. False if the newcomers could not read either.
    template <typename Condition>
    [[nodiscard]] bool run_until(const Condition& condition, core::duration at_most) {
        const core::time_point end = in.world().now() + at_most;
        while (!condition() && in.world().now() < end) {
            const acquire next = read_anew();
            in.world().run_for(20ms);
            if (!next->granted()) {
                return false;
            }
            reading_->let_go();
            reading_ = next;
            in.world().run_for(20ms);
        }
        return true;
    }

    /// A client that has met the queue: it joins at once the next time.
    std::unique_ptr<client> make_experienced() {
        auto result = in.make_client();
        const acquire writer = write(*result, in.world().now() + 10ms);
        in.world().run_for(20ms);
        BOOST_TEST_REQUIRE((writer->outcome == acquire_outcome::contended));
        return result;
    }

    virtual_deployment in{3};
    std::unique_ptr<client> mutexes = in.make_client();
    acquire mutex;

private:
    acquire read_anew() {
        clients_.push_back(in.make_client());
        return read(*clients_.back(), in.world().now() + 20ms);
    }

    std::vector<std::unique_ptr<client>> clients_;
    acquire reading_;
};

/// Fault 97: a reader goes past a mutex that waits, as the newcomers do, but not at once.
BOOST_FIXTURE_TEST_CASE(a_reader_behind_a_mutex_does_not_starve, overlapping_readers,
                        *label("fault-97")) {
    const auto dan = make_experienced();
    const acquire reader = read(*dan);
    const core::time_point begun = in.world().now();
    BOOST_TEST(run_until([&] { return reader->is_finished; }, 10s));
    BOOST_TEST_REQUIRE(reader->is_finished);
    BOOST_TEST(reader->granted());
    BOOST_TEST((reader->finished_at - begun >= 5s));
    BOOST_TEST((reader->finished_at - begun < 5100ms));
    BOOST_TEST(!mutex->is_finished);
}

/// Fault 97: one that has little time attempts before it gives up.
BOOST_FIXTURE_TEST_CASE(a_reader_behind_a_mutex_makes_an_attempt_at_its_deadline,
                        overlapping_readers, *label("fault-97")) {
    const auto dan = make_experienced();
    const core::time_point deadline = in.world().now() + 50ms;
    const acquire reader = read(*dan, deadline);
    BOOST_TEST(run_until([&] { return reader->is_finished; }, 1s));
    BOOST_TEST(reader->granted());
    BOOST_TEST((reader->finished_at - deadline < 1ms));
}

/// Fault 97: also one that was denied, and has waited in the queue since.
BOOST_AUTO_TEST_CASE(a_reader_that_was_denied_does_not_starve_behind_a_mutex, *label("fault-97")) {
    virtual_deployment one(1);
    one.tell_changes();
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const auto cid = one.make_client();
    const auto dan = one.make_client();
    const acquire holder = ann->acquire("a");
    expect_granted(one, {holder});
    const acquire mutex = bob->acquire("a");
    one.world().run_for(5ms);
    const acquire reader = read(*cid);
    one.world().run_for(500ms);
    holder->let_go();
    const acquire newcomer = read(*dan);  // is there before the mutex is told
    expect_granted(one, {newcomer});
    const core::time_point begun = one.world().now();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return reader->is_finished; }, 10s));
    BOOST_TEST(reader->granted());
    BOOST_TEST((reader->finished_at - begun < 5s));
    BOOST_TEST(!mutex->is_finished);
}

/// Fault 97: no reader goes past the mark of a writer, however long it waits, and its attempts are rare.
BOOST_AUTO_TEST_CASE(a_reader_waits_behind_a_writer_mark, *label("fault-97")) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    const acquire holder = read_alone(*ann);
    expect_granted(three, {holder});
    const acquire writer = write(*bob);
    three.world().run_for(100ms);
    const acquire reader = read(*cid);
    three.world().run_for(21s);
    BOOST_TEST(!reader->is_finished);
    BOOST_TEST(!writer->is_finished);
    // Each attempt may have two parts, and the first one comes before the client joins the queue.
    BOOST_TEST(cid->engine().parts().counts.attempts <= 2U * (1 + 21 / 5));
    holder->let_go();
    expect_granted(three, {writer});
    BOOST_TEST(!reader->is_finished);
    writer->let_go();
    expect_granted(three, {reader});
}

/// Fault 42: one that is cancelled, also in the middle of an attempt.
BOOST_AUTO_TEST_CASE(a_cancelled_writer_removes_its_writer_mark, *label("fault-42")) {
    for (const bool has_remote_queue : {false, true}) {
        virtual_deployment three(3);
        three.tell_changes(has_remote_queue);
        const auto ann = three.make_client();
        const auto bob = three.make_client();
        const acquire reader = read(*ann);
        expect_granted(three, {reader});
        for (const auto waited : {50us, 150us, 500us, 20'000us, 700'000us}) {
            const acquire writer = write(*bob);
            three.world().run_for(waited);
            writer->cancel();
            three.world().run_for(1ms);
            const acquire next = read(*bob, core::time_point::min());
            expect_granted(three, {next});
            next->let_go();
            three.world().run_for(60ms);
        }
    }
}

/// Fault 42: and only its own, so that others still keep readers out. Writers that poll all have marks.
BOOST_AUTO_TEST_CASE(a_cancelled_writer_keeps_the_writer_marks_of_others, *label("fault-42")) {
    virtual_deployment three(3);
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    const auto dan = three.make_client();
    const acquire reader = read(*ann);
    expect_granted(three, {reader});
    const acquire patient = write(*bob);
    three.world().run_for(20ms);
    for (int i = 0; i != 20; ++i) {
        const acquire writer = write(*cid);
        three.world().run_for(20ms);
        writer->cancel();
        three.world().run_for(1ms);
        const acquire late = read(*dan, core::time_point::min());
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return late->is_finished; }));
        BOOST_TEST((late->outcome == acquire_outcome::contended));
    }
    patient->cancel();
    three.world().run_for(1ms);
    expect_granted(three, {read(*dan, core::time_point::min())});
}

/// Fault 42: whenever it is cancelled, and however long its program has done something else before.
BOOST_AUTO_TEST_CASE(a_writer_cancelled_at_any_time_removes_its_writer_mark, *label("fault-42")) {
    for (const core::duration busy : {0ms, 300ms}) {
        for (core::duration waited = 1ms; waited < 1200ms; waited += 7ms) {
            virtual_deployment one(1);
            const auto ann = one.make_client();
            const auto bob = one.make_client(50ms);
            expect_granted(one, {read(*ann)});
            const acquire writer = write(*bob);
            one.world().run_for(waited);
            one.world().be_busy_for(busy);
            writer->cancel();
            one.world().run_for(1ms);
            BOOST_TEST(
                (one.server(0).keys.mark_until("a", one.world().now()) == core::time_point::min()));
        }
    }
}

/// It does not wait after its attempt. So it neither sets a mark nor removes one.
BOOST_AUTO_TEST_CASE(a_single_attempt_sets_no_writer_mark) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    expect_granted(one, {read(*ann)});
    const std::size_t executed = one.executed();
    const acquire writer = write(*bob, core::time_point::min());
    one.world().run_for(10ms);
    BOOST_TEST(!writer->running());
    BOOST_TEST(one.executed() == executed + 1);
}

/// Fault 42: one that has the lock of a quorum may have left its mark at the others, where a reader had not left yet.
BOOST_AUTO_TEST_CASE(releasing_a_writer_lease_removes_its_writer_mark, *label("fault-42")) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const acquire reader = read(*ann);
    expect_granted(three, {reader});
    const acquire writer = write(*bob);
    three.world().run_for(20ms);
    three.server(2).latency = 50ms;
    reader->let_go();
    three.world().run_for(10us);
    three.server(2).latency = 50us;
    expect_granted(three, {writer});
    three.world().run_for(1ms);
    const auto mark = [&] { return three.server(2).keys.mark_until("a", three.world().now()); };
    BOOST_TEST((mark() > three.world().now()));
    writer->let_go();
    three.world().run_for(1ms);
    BOOST_TEST((mark() == core::time_point::min()));
}

/// Fault 43: also if the readers leave at any moment between two attempts of the writer, be it right after the second.
BOOST_AUTO_TEST_CASE(a_writer_detects_the_release_of_a_reader_at_any_moment, *label("fault-43")) {
    for (auto waited = 0us; waited < 1200ms; waited += 250us) {
        virtual_deployment one(1);
        one.server(0).tells_changes = true;
        const auto reading = one.make_client();
        const auto writing = one.make_client();
        const acquire reader = read(*reading);
        expect_granted(one, {reader});
        const acquire writer = write(*writing);
        one.world().run_for(waited);
        BOOST_TEST_CONTEXT("after " << waited.count() << " us") {
            expect_woken_by(one, *reader, writer);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_shared_after_handoff_time) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    one.world().run_for(49ms);
    const acquire second = read(*client);
    expect_granted(one, {second});
    BOOST_TEST((second->lease == first->lease));
    one.world().run_for(2ms);
    const acquire third = read(*client);
    expect_granted(one, {third});
    BOOST_TEST((third->lease != first->lease));  // a reader of its own at the servers
    const acquire fourth = read(*client);
    expect_granted(one, {fourth});
    BOOST_TEST((fourth->lease == third->lease));
    for (const acquire& reader : {first, second, third, fourth}) {
        BOOST_TEST((reader->valid_until() > one.world().now()));
        reader->let_go();
    }
    one.world().run_for(10ms);
    expect_granted(one, {write(*client)});
}

BOOST_AUTO_TEST_CASE(readers_behind_a_writer_that_gives_up_share_the_lease) {
    for (const bool by_itself : {false, true}) {
        BOOST_TEST_CONTEXT((by_itself ? "its time is up" : "it is cancelled")) {
            virtual_deployment one(1);
            const auto client = one.make_client();
            const acquire first = read(*client);
            expect_granted(one, {first});
            const acquire writer =
                write(*client, by_itself ? one.world().now() + 20ms : core::never);
            const acquire behind = read(*client);
            const acquire with_it = read(*client);
            one.world().run_for(10ms);
            BOOST_TEST(!behind->is_finished);
            if (!by_itself) {
                writer->cancel();
            }
            expect_granted(one, {behind, with_it});
            BOOST_TEST(writer->is_finished);
            BOOST_TEST((behind->lease == first->lease));
            BOOST_TEST((first->valid_until() > one.world().now()));
        }
    }
}

/// The client learns of a waiting writer by its renewals, however long a lease may be shared.
BOOST_AUTO_TEST_CASE(a_lease_is_not_shared_while_a_writer_waits_for_it) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    runtime::lock_policy patient = policy_of(*ann, kinds::shared);
    patient.handoff.time = 1h;
    const acquire first = ann->acquire("a", patient);
    expect_granted(one, {first});
    const acquire writer = write(*bob);
    one.world().run_for(5s);  // there is a renewal
    const acquire late = ann->acquire("a", patient);
    one.world().run_for(100ms);
    BOOST_TEST(!late->is_finished);
    first->let_go();
    expect_granted(one, {writer});
    writer->let_go();
    expect_granted(one, {late});
}

BOOST_AUTO_TEST_CASE(all_lock_kinds_and_options_share_one_local_queue) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire reader = read(*client);
    expect_granted(one, {reader});
    const acquire mutex = client->acquire("a");
    runtime::lock_policy longer = policy_of(*client, kinds::shared);
    longer.lease.ttl = 20s;
    const acquire other = client->acquire("a", longer);
    one.world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);
    reader->let_go();
    expect_granted(one, {mutex});
    BOOST_TEST(!other->is_finished);
    mutex->let_go();
    expect_granted(one, {other});
    const acquire usual = read(*client);  // has a lease of its own
    expect_granted(one, {usual});
    BOOST_TEST((usual->lease != other->lease));
    BOOST_TEST((usual->valid_until() < other->valid_until()));
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_shared_lease_is_reported_to_each_reader) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire third = read(*client);
    expect_granted(one, {second, third});
    third->let_go();
    one.server(0).keys.clear();
    one.world().run_for(4s);  // there is a renewal
    for (const acquire& reader : {first, second}) {
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST((reader->valid_until() == core::time_point::min()));
    }
    BOOST_TEST((third->lease->loss(third->holder_number) == core::loss::none));
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    first->let_go();
    BOOST_TEST(client->engine().parts().counts.lost == 2U);
    BOOST_TEST(client->engine().parts().counts.released == 1U);
    const acquire mutex = client->acquire("a");
    one.world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);  // one of them has not let go
    second->let_go();
    expect_granted(one, {mutex});
    BOOST_TEST(client->engine().parts().counts.held == 1U);
}

/// By then the lease has been given back by itself.
BOOST_AUTO_TEST_CASE(releasing_a_lost_share_after_its_validity_reports_the_loss) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    expect_granted(one, {second});
    one.server(0).keys.clear();
    one.world().run_for(1min);
    for (const acquire& reader : {first, second}) {
        const auto release = reader->release();
        one.world().run_for(10ms);
        BOOST_TEST((release->told == core::release_outcome::lost));
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST(client->engine().parts().counts.held == 0U);
    }
}

BOOST_AUTO_TEST_CASE(closing_reports_the_loss_to_readers_and_releases_once) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire writer = write(*client);
    expect_granted(one, {second});
    client->engine().close();
    one.world().run_for(10ms);
    BOOST_TEST((writer->outcome == acquire_outcome::closed));
    BOOST_TEST((second->lease->loss(second->holder_number) == core::loss::closed));
    first->let_go();
    second->let_go();
    one.world().run_for(10ms);
    BOOST_TEST(client->engine().closed());
    BOOST_TEST(one.executed() == 2U);
}

BOOST_AUTO_TEST_CASE(closing_a_client_fails_its_waiting_readers) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire holding = read(*client);
    expect_granted(one, {holding});
    const acquire attempting = read_alone(*client);
    const acquire behind = read(*client);
    client->engine().close();
    one.world().run_for(10ms);
    BOOST_TEST((attempting->outcome == acquire_outcome::closed));
    BOOST_TEST((behind->outcome == acquire_outcome::closed));
}

BOOST_AUTO_TEST_CASE(a_reader_gets_the_fence_of_the_last_writer) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    std::uint64_t last = 0;
    for (int i = 0; i != 20; ++i) {
        const acquire writer = ann->acquire("a", policy_of(*ann, kinds::fenced_writer));
        expect_granted(five, {writer});
        BOOST_TEST(writer->fence_number > last);
        last = writer->fence_number;
        writer->let_go();
        const acquire reader = bob->acquire("a", policy_of(*bob, kinds::fenced_shared));
        expect_granted(five, {reader});
        BOOST_TEST(reader->fence_number == last);
        reader->let_go();
    }
}

/// Another holder of a lease, whose caller writes down what comes of it.
class virtual_share final : public runtime::share_operation {
public:
    using share_operation::share_operation;
    void deliver() override {
        ended_with = result();
        fence_number = fence();
        holder_number = new_holder();
    }

    [[nodiscard]] static std::shared_ptr<virtual_share> begin(const client& of,
                                                              const virtual_acquire& reader) {
        const auto made =
            std::make_shared<virtual_share>(reader.lease, reader.holder_number,
                                            of.spec_of("a", policy_of(of, kinds::fenced_shared)));
        made->start(made);
        return made;
    }

    std::optional<runtime::lease_result> ended_with;
    std::uint64_t fence_number = 0;
    std::uint32_t holder_number = 0;
};

/// Ann reads, with fencing.
struct fenced_reader {
    acquire read() { return ann->acquire("a", policy_of(*ann, kinds::fenced_shared)); }

    /// The servers lose Ann's lease, and Bob writes in the meantime.
    std::uint64_t write_without_ann() {
        for (std::size_t i = 0; i != 3; ++i) {
            three.server(i).keys.erase("a");
        }
        const acquire writer = bob->acquire("a", policy_of(*bob, kinds::fenced_writer));
        expect_granted(three, {writer});
        writer->let_go();
        three.world().run_for(1ms);
        return writer->fence_number;
    }

    virtual_deployment three{3};
    std::unique_ptr<client> ann = three.make_client();
    std::unique_ptr<client> bob = three.make_client();
    acquire reader = ann->lock("a", policy_of(*ann, kinds::fenced_shared));
};

BOOST_FIXTURE_TEST_CASE(sharing_a_lease_with_missing_keys_fails, fenced_reader,
                        *label("fault-87")) {
    write_without_ann();
    const auto share = virtual_share::begin(*ann, *reader);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return share->ended_with.has_value(); }, 1s));
    BOOST_TEST_REQUIRE((share->ended_with == runtime::lease_result::no_quorum));
    BOOST_TEST(
        reader->lease->no_quorum_details() ==
        "'a': 0 of 3 instances confirmed, 2 required [server 0: denied, no such key] [server 1: "
        "denied, no such key] [server 2: vote not needed]");
}

BOOST_FIXTURE_TEST_CASE(a_reader_does_not_share_a_lease_with_missing_keys, fenced_reader,
                        *label("fault-87")) {
    const std::uint64_t written = write_without_ann();
    BOOST_TEST((reader->valid_until() > three.world().now()));  // Ann does not know of it yet
    const acquire next = read();
    expect_granted(three, {next});
    BOOST_TEST(next->fence_number >= written);
}

BOOST_FIXTURE_TEST_CASE(concurrent_fenced_readers_share_a_lease, fenced_reader) {
    const acquire next = read();
    const acquire with_it = read();
    expect_granted(three, {next, with_it});
    BOOST_TEST((next->lease != reader->lease));
    BOOST_TEST((next->lease == with_it->lease));
    BOOST_TEST(next->fence_number == with_it->fence_number);
}

BOOST_FIXTURE_TEST_CASE(shares_requested_during_a_round_take_one_more_round, fenced_reader) {
    three.world().run_for(1ms);
    const std::size_t executed = three.executed();
    const auto first = virtual_share::begin(*ann, *reader);
    three.world().run_for(20us);  // its round is under way
    const auto second = virtual_share::begin(*ann, *reader);
    const auto third = virtual_share::begin(*ann, *reader);
    three.world().run_for(1ms);
    BOOST_TEST(three.executed() - executed == 6U);
    for (const auto& one : {first, second, third}) {
        BOOST_TEST((one->ended_with == runtime::lease_result::done));
        BOOST_TEST((reader->lease->valid_until(one->holder_number) > three.world().now()));
    }
    BOOST_TEST(first->fence_number >= reader->fence_number);
    BOOST_TEST(second->fence_number >= first->fence_number);
    BOOST_TEST(third->fence_number == second->fence_number);
    const acquire writer = bob->acquire("a", policy_of(*bob, kinds::fenced_writer));
    reader->let_go();
    for (const auto& one : {first, second, third}) {
        three.world().run_for(10ms);
        BOOST_TEST(!writer->is_finished);
        reader->lease->let_go(one->holder_number);
    }
    expect_granted(three, {writer});
    BOOST_TEST(writer->fence_number > third->fence_number);
}

/// It is released, or lost, while the round is under way; or its client is closed.
BOOST_AUTO_TEST_CASE(a_pending_share_fails_when_its_lease_ends) {
    enum class end { released, cancelled, closed };
    for (const end how : {end::released, end::cancelled, end::closed}) {
        fenced_reader with;
        const auto share = virtual_share::begin(*with.ann, *with.reader);
        with.three.world().run_for(20us);
        if (how == end::released) {
            with.reader->let_go();
        } else if (how == end::cancelled) {
            share->cancel();
        } else {
            with.ann->engine().close();
        }
        with.three.world().run_for(1ms);
        BOOST_TEST((share->ended_with == (how == end::released    ? runtime::lease_result::not_held
                                          : how == end::cancelled ? runtime::lease_result::cancelled
                                                                  : runtime::lease_result::ended)));
        BOOST_TEST(with.ann->engine().parts().counts.held == (how == end::cancelled ? 1U : 0U));
    }
}

/// A lease is renewed while a server does not answer the round of a share.
BOOST_FIXTURE_TEST_CASE(a_share_without_a_quorum_does_not_end_the_lease, fenced_reader) {
    three.server(0).is_silent = three.server(1).is_silent = true;
    const auto share = virtual_share::begin(*ann, *reader);
    three.world().run_for(251ms);
    BOOST_TEST((share->ended_with == runtime::lease_result::no_quorum));
    three.server(0).is_silent = three.server(1).is_silent = false;
    three.world().run_for(20s);
    BOOST_TEST((reader->valid_until() > three.world().now()));
}

/// The reader that waits for Bob gives up. The writer behind it is kept out by a reader of its own client, and needs no
/// ticket in the remote queue.
BOOST_FIXTURE_TEST_CASE(a_client_leaves_the_remote_queue_if_no_waiter_needs_it, queue_of_readers) {
    const acquire local_writer = write(*ann);
    waiting->cancel();
    one.world().run_for(5ms);
    BOOST_TEST(tickets() == 1U);  // that of the other client
    local_writer->cancel();
    expect_nothing_left();
}

BOOST_FIXTURE_TEST_CASE(a_client_leaves_the_remote_queue_if_waiters_share_a_lease,
                        queue_of_readers) {
    const acquire behind = patient_reader();
    waiting->cancel();
    expect_granted(one, {behind});
    BOOST_TEST((behind->lease == holding->lease));
    one.world().run_for(5ms);
    BOOST_TEST(tickets() == 1U);
    behind->let_go();
    expect_nothing_left();
}

/// A downgraded lease is a reader's: it keeps no ticket.
BOOST_FIXTURE_TEST_CASE(a_downgraded_writer_leaves_the_remote_queue, writer_after_wait) {
    expect_done(one, {downgrade(*ann, *writer)});
    one.world().run_for(5ms);
    BOOST_TEST(tickets_at(one) == 0U);
    writer->let_go();
    one.world().run_for(5ms);
    expect_silence(one);
}

/// Bob waits as a writer before Ann's reader, which has a lease of its own, and which the first of two downgrades has
/// admitted.
BOOST_FIXTURE_TEST_CASE(a_second_downgrade_keeps_the_ticket_of_admitted_readers,
                        writer_after_wait) {
    const acquire awaiting = write(*bob);
    one.world().run_for(50ms);
    const acquire reader = read_alone(*ann);
    expect_done(one, {downgrade(*ann, *writer), downgrade(*ann, *writer)});
    one.world().run_for(20ms);
    BOOST_TEST(tickets_at(one) == 2U);
    writer->let_go();
    expect_granted(one, {awaiting});
    awaiting->let_go();
    expect_granted(one, {reader});
    reader->let_go();
    one.world().run_for(5ms);
    BOOST_TEST(tickets_at(one) == 0U);
    expect_silence(one);
}

/// The server executes Ann's first downgrade, but answers too late. So Bob reads, and his share has a larger fence than
/// Ann's writer. Ann's reader comes after that, and before the second downgrade.
BOOST_AUTO_TEST_CASE(a_reader_after_an_unanswered_downgrade_gets_its_own_fence,
                     *label("fault-87")) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const acquire writer = ann->lock("a", policy_of(*ann, kinds::fenced_writer));
    const runtime::lock_policy fenced = policy_of(*ann, kinds::fenced_shared);

    one.server(0).latency = 300ms;
    const auto unanswered = downgrade(*ann, *writer, fenced);
    one.world().run_for(1ms);
    one.server(0).latency = 50us;
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return unanswered->told.has_value(); }));
    BOOST_TEST((unanswered->told == runtime::lease_result::no_quorum));
    one.world().run_for(100ms);

    const auto others = bob->lock("a", fenced);
    const auto share = virtual_share::begin(*bob, *others);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return share->ended_with.has_value(); }));
    BOOST_TEST_REQUIRE(share->fence_number > writer->fence_number);

    const acquire reader = ann->acquire("a", fenced);
    expect_done(one, {downgrade(*ann, *writer, fenced)});
    expect_granted(one, {reader});
    BOOST_TEST(reader->fence_number >= share->fence_number);
}

/// The options of a lease are those that it was taken with.
BOOST_AUTO_TEST_CASE(a_downgraded_lease_is_shared_only_with_the_writers_options) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire writer = write(*client);
    expect_granted(one, {writer});
    runtime::lock_policy longer = policy_of(*client, kinds::shared);
    longer.lease.ttl *= 2;
    expect_done(one, {downgrade(*client, *writer, longer)});
    const acquire same = read(*client);
    const acquire other = client->acquire("a", longer);
    expect_granted(one, {same, other});
    BOOST_TEST((same->lease == writer->lease));
    BOOST_TEST((other->lease != writer->lease));
}

/// The writer before it in the client had the same lease, and has never read.
BOOST_AUTO_TEST_CASE(a_lease_reports_a_reader_from_the_start_of_its_downgrade, *label("fault-40")) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = write(*client);
    const acquire writer = write(*client);
    expect_granted(one, {first});
    first->let_go();
    expect_granted(one, {writer});
    BOOST_TEST_REQUIRE((writer->lease == first->lease));
    BOOST_TEST(!writer->is_shared());

    one.server(0).latency = 300ms;
    const auto unanswered = downgrade(*client, *writer);
    BOOST_TEST(writer->is_shared());
    BOOST_TEST(!first->is_shared());
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return unanswered->told.has_value(); }));
    BOOST_TEST((unanswered->told == runtime::lease_result::no_quorum));
    BOOST_TEST(writer->is_shared());

    one.server(0).latency = 50us;
    expect_done(one, {downgrade(*client, *writer)});
    const acquire reader = read(*client);
    expect_granted(one, {reader});
    BOOST_TEST_REQUIRE((reader->lease == writer->lease));
    reader->let_go();
    writer->let_go();
    BOOST_TEST(reader->is_shared());
    BOOST_TEST(writer->is_shared());
    BOOST_TEST(!first->is_shared());
}

BOOST_AUTO_TEST_SUITE_END()
