// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writers that wait for readers, and the writer marks that keep new readers out, in virtual time.

#include "kinds/shared/shared.hpp"
#include "unit/runtime/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(shared_locks)

namespace {

/// Expects that the writer enters as soon as the reader has left.
void expect_woken_by(virtual_deployment& in, virtual_acquire& reader, const acquire& writer) {
    const core::time_point released = in.world().now();
    reader.let_go();
    in.granted(writer);
    const core::duration took = writer->finished_at - released;
    BOOST_TEST((took < 20ms), std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
                                  << " ms");
}

}  // namespace

/// Fault 42: overlapping readers.
BOOST_AUTO_TEST_CASE(overlapping_readers_of_other_clients_do_not_starve_a_writer,
                     *label("fault-42")) {
    virtual_deployment three(3);
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 4; ++i) {
        clients.push_back(three.make_client());
    }
    const auto writing = three.make_client();
    std::vector<acquire> reading;
    // Each client repeatedly reads for 40 ms, so that there is always a reader.
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
        three.finish(one);
        BOOST_TEST((three.world().now() - released < 300ms));
    }
}

/// Fault 42: new readers.
BOOST_AUTO_TEST_CASE(a_waiting_writer_keeps_new_readers_out_immediately, *label("fault-42")) {
    for (const bool has_remote_queue : {false, true}) {
        virtual_deployment three(3);
        three.tell_changes(has_remote_queue);
        const auto ann = three.make_client();
        const auto bob = three.make_client();
        const auto cid = three.make_client();
        const acquire reader = three.granted(read(*ann));
        runtime::lock_policy policy = policy_of(*bob, kinds::writer);
        policy.retry = {250ms, 250ms};
        const acquire writer = bob->acquire("a", policy);
        three.world().run_for(20ms);
        const acquire late = read(*cid, core::time_point::min());
        three.finish(late);
        BOOST_TEST((late->outcome == acquire_outcome::contended));
        reader->let_go();
        three.granted(writer);
    }
}

/// Fault 42: the writer gives up at its deadline, after its attempts, or without waiting.
BOOST_AUTO_TEST_CASE(a_writer_that_gave_up_does_not_keep_readers_out, *label("fault-42")) {
    struct row {
        std::size_t attempts;
        core::duration time;  // Until the deadline.
    };
    virtual_deployment three(3);
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    three.granted(read(*ann));
    for (const auto& [attempts, time] :
         {row{0, 0ms}, row{0, 70ms}, row{0, 300ms}, row{1, 0ms}, row{1, 70ms}, row{1, 1h},
          row{2, 70ms}, row{2, 1h}, row{3, 70ms}, row{3, 1h}}) {
        const core::time_point deadline = three.world().now() + time;
        runtime::lock_policy policy = policy_of(*bob, kinds::writer);
        policy.attempts = attempts;
        const acquire writer = bob->acquire("a", policy, deadline);
        three.finish(writer);
        BOOST_TEST((writer->outcome == acquire_outcome::contended));
        three.world().run_for(1ms);
        const acquire next = three.granted(read(*cid, core::time_point::min()));
        next->let_go();
    }
}

/// Fault 42: this also holds if the latency is long compared with the waits between attempts.
BOOST_FIXTURE_TEST_CASE(a_writer_with_few_attempts_keeps_readers_out_until_the_last, one_server,
                        *label("fault-42")) {
    granted(read(*ann));
    server(0).latency = 10ms;
    runtime::lock_policy policy = policy_of(*bob, kinds::writer);
    policy.attempts = 4;
    const acquire writer = bob->acquire("a", policy);
    world().run_for(31ms);             // Its second round has arrived.
    constexpr std::size_t rounds = 5;  // The first attempt has two rounds.
    while (bob->engine().parts().counts.attempts < rounds) {
        BOOST_TEST((mark_at(*this, 0) > world().now()));
        world().run_for(1ms);
    }
    finish(writer);
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
}

/// Fault 43: this also holds after an attempt that wrote a mark into the key. A server does not notify a
/// client of its own write.
BOOST_AUTO_TEST_CASE(a_waiting_writer_is_woken_when_the_reader_releases, *label("fault-43")) {
    for (const auto waited : {100ms, 600ms, 700ms, 1300ms, 5200ms}) {
        virtual_deployment three(3);
        three.tell_changes();
        const auto reading = three.make_client();
        const auto writing = three.make_client();
        const acquire reader = three.granted(read(*reading));
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

/// Fault 42: the writer is cancelled, also during an attempt.
BOOST_AUTO_TEST_CASE(a_cancelled_writer_removes_its_writer_mark, *label("fault-42")) {
    for (const bool has_remote_queue : {false, true}) {
        virtual_deployment three(3);
        three.tell_changes(has_remote_queue);
        const auto ann = three.make_client();
        const auto bob = three.make_client();
        const acquire reader = three.granted(read(*ann));
        for (const auto waited : {50us, 150us, 500us, 20'000us, 700'000us}) {
            const acquire writer = write(*bob);
            three.world().run_for(waited);
            writer->cancel();
            three.world().run_for(1ms);
            const acquire next = three.granted(read(*bob, core::time_point::min()));
            next->let_go();
            three.world().run_for(60ms);
        }
    }
}

/// Fault 42: a cancelled writer removes only its own mark, so that others still keep readers out. All polling
/// writers have marks.
BOOST_FIXTURE_TEST_CASE(a_cancelled_writer_keeps_the_writer_marks_of_others, three_servers,
                        *label("fault-42")) {
    const auto dan = make_client();
    const acquire reader = granted(read(*ann));
    const acquire patient = write(*bob);
    world().run_for(20ms);
    for (int i = 0; i != 20; ++i) {
        const acquire writer = write(*cyd);
        world().run_for(20ms);
        writer->cancel();
        world().run_for(1ms);
        const acquire late = read(*dan, core::time_point::min());
        finish(late);
        BOOST_TEST((late->outcome == acquire_outcome::contended));
    }
    patient->cancel();
    world().run_for(1ms);
    granted(read(*dan, core::time_point::min()));
}

/// Fault 42: the writer is cancelled at any time, also after its program was busy.
BOOST_AUTO_TEST_CASE(a_writer_cancelled_at_any_time_removes_its_writer_mark, *label("fault-42")) {
    for (const core::duration busy : {0ms, 300ms}) {
        for (core::duration waited = 1ms; waited < 1200ms; waited += 7ms) {
            virtual_deployment one(1);
            const auto ann = one.make_client();
            const auto bob = one.make_client(50ms);
            one.granted(read(*ann));
            const acquire writer = write(*bob);
            one.world().run_for(waited);
            one.world().be_busy_for(busy);
            writer->cancel();
            one.world().run_for(1ms);
            BOOST_TEST((mark_at(one, 0) == core::time_point::min()));
        }
    }
}

/// The writer does not wait after its attempt. It therefore neither sets nor removes a mark.
BOOST_FIXTURE_TEST_CASE(a_single_attempt_sets_no_writer_mark, one_server) {
    granted(read(*ann));
    const std::size_t before = executed();
    const acquire writer = write(*bob, core::time_point::min());
    world().run_for(10ms);
    BOOST_TEST(!writer->running());
    BOOST_TEST(executed() == before + 1);
}

/// Fault 42: a writer with the lock of a quorum may have left its mark on an instance where a reader had not
/// left yet. After a downgrade, the former writer still removes the mark. Another reader of its client does
/// not.
BOOST_AUTO_TEST_CASE(releasing_a_writer_lease_removes_its_writer_mark, *label("fault-42")) {
    for (const bool downgrades : {false, true}) {
        virtual_deployment three(3);
        three.tell_changes();
        const auto ann = three.make_client();
        const auto bob = three.make_client();
        const acquire reader = three.granted(read(*ann));
        const acquire writer = write(*bob);
        three.world().run_for(20ms);
        three.server(2).latency = 50ms;
        reader->let_go();
        three.world().run_for(10us);
        three.server(2).latency = 50us;
        three.granted(writer);
        three.world().run_for(1ms);
        const auto mark = [&] { return mark_at(three, 2); };
        BOOST_TEST((mark() > three.world().now()));
        if (downgrades) {
            const auto downgrade = std::make_shared<virtual_downgrade>(
                writer->lease, writer->holder_number,
                bob->spec_of("a", policy_of(*bob, kinds::shared)));
            downgrade->start(downgrade);
            BOOST_TEST_REQUIRE(
                three.world().run_until([&] { return downgrade->told.has_value(); }));
            BOOST_TEST((downgrade->told == runtime::lease_result::done));
            const acquire beside = three.granted(read_alone(*bob));
            beside->let_go();
            three.world().run_for(1ms);
            BOOST_TEST((mark() > three.world().now()));
        }
        writer->let_go();
        three.world().run_for(1ms);
        BOOST_TEST((mark() == core::time_point::min()));
    }
}

/// Fault 43: this also holds if the reader leaves at any moment between two attempts of the writer, even
/// right after the second.
BOOST_AUTO_TEST_CASE(a_writer_detects_the_release_of_a_reader_at_any_moment, *label("fault-43")) {
    for (auto waited = 0us; waited < 1200ms; waited += 250us) {
        virtual_deployment one(1);
        one.server(0).tells_changes = true;
        const auto reading = one.make_client();
        const auto writing = one.make_client();
        const acquire reader = one.granted(read(*reading));
        const acquire writer = write(*writing);
        one.world().run_for(waited);
        BOOST_TEST_CONTEXT("after " << waited.count() << " us") {
            expect_woken_by(one, *reader, writer);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
