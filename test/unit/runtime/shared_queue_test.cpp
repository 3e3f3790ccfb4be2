// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Readers, writers and mutexes that wait for one key in the remote queue, in virtual time.

#include "kinds/shared/shared.hpp"
#include "unit/runtime/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(shared_locks)

namespace {

/// Tasks that continuously read and write. One in ten visits is a write. They hold the lock for 2 ms.
class crowd {
public:
    crowd(virtual_deployment& in, std::size_t clients, std::uint64_t seed)
        : world_(in.world()), random_(seed) {
        constexpr std::size_t tasks = 4;  // Per client.
        for (std::size_t i = 0; i != clients; ++i) {
            clients_.push_back(in.make_client());
            for (std::size_t task = 0; task != tasks; ++task) {
                visit(*clients_.back());
            }
        }
    }

    /// Returns the longest time without a holder.
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

/// Ann reads, and Bob waits as a writer. Another reader of Ann, which does not share a lease, waits behind
/// Bob.
struct queue_of_readers {
    queue_of_readers() {
        one.server(0).tells_changes = true;
        holding = patient_reader();
        one.granted(holding);
        writer = write(*bob);
        one.world().run_for(kinds::writer_mark_ttl / 2 + 20ms);  // The writer has set its mark.
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

    /// Expects that no client sends anything after all releases.
    void expect_nothing_left() {
        holding->let_go();
        one.granted(writer);
        writer->let_go();
        one.world().run_for(5ms);
        BOOST_TEST(tickets() == 0U);
        one.expect_silence();
    }

    virtual_deployment one{1};
    std::unique_ptr<client> ann = one.make_client();
    std::unique_ptr<client> bob = one.make_client();
    acquire holding;  // Of Ann.
    acquire waiting;  // Of Ann.
    acquire writer;   // Of Bob.
};

}  // namespace

/// Fault 43: a reader that waits before a waiting writer does not block writers, and no mark blocks it. The
/// first writer keeps Bob out. The second writer arrives after Bob.
BOOST_AUTO_TEST_CASE(a_writer_behind_a_waiting_reader_does_not_keep_it_out, *label("fault-43")) {
    for (const std::size_t servers : {1U, 5U}) {
        virtual_deployment some(servers);
        some.tell_changes();
        const auto ann = some.make_client();
        const auto bob = some.make_client();
        const auto cid = some.make_client();
        const auto dan = some.make_client();
        const acquire holder = some.granted(read(*ann));
        const acquire first = write(*dan, some.world().now() + 100ms);
        some.world().run_for(80ms);
        const acquire reader = read(*bob);
        some.world().run_for(19ms);
        const acquire second = write(*cid);
        some.world().run_for(21ms);
        BOOST_TEST(first->is_finished);
        const core::time_point released = some.world().now();
        holder->let_go();
        some.granted(reader);
        BOOST_TEST((reader->finished_at - released < 20ms));
        reader->let_go();
        const core::time_point released_again = some.world().now();
        some.granted(second);
        BOOST_TEST((second->finished_at - released_again < 20ms));
    }
}

/// Fault 43: in any case, one of them enters soon after the last holder has left.
BOOST_AUTO_TEST_CASE(readers_and_writers_never_all_wait, *label("fault-43")) {
    for (const std::size_t servers : {1U, 3U, 5U}) {
        for (const std::size_t clients : {2U, 3U, 4U, 8U}) {
            for (const std::uint64_t seed : {113U, 120U, 126U}) {
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

/// A reader that expects contention first waits for its turn in the queue. It has its turn if only readers
/// hold the lock.
BOOST_AUTO_TEST_CASE(a_reader_at_the_head_of_the_queue_joins_other_readers) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    three.granted(read(*ann));
    const acquire writer = write(*bob);
    three.world().run_for(20ms);
    const acquire late = read(*cid, three.world().now() + 50ms);
    three.finish(late);
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    writer->cancel();
    three.world().run_for(1ms);
    const core::time_point now = three.world().now();
    const acquire next = three.granted(read(*cid));
    BOOST_TEST((next->finished_at - now < 1ms));
}

/// A notification reports the end of the writer, and the reader mostly waits for it.
BOOST_AUTO_TEST_CASE(a_reader_at_the_head_of_the_queue_sends_few_commands) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const acquire writer = three.granted(write(*ann));
    const std::size_t executed = three.executed();
    const acquire reader = read(*bob);
    three.world().run_for(5s);
    BOOST_TEST(three.executed() - executed < 300U);  // 20 per server and second, and more at first.
    writer->let_go();
    three.granted(reader);
}

/// Fault 43: the time in the queue counts from the arrival, even if the client was idle for long before.
BOOST_AUTO_TEST_CASE(a_writer_of_an_idle_client_waits_for_its_turn, *label("fault-43")) {
    virtual_deployment one(1);
    one.tell_changes();
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const auto cid = one.make_client();
    const acquire first = one.granted(write(*ann));
    const acquire second = write(*bob);
    one.world().run_for(10ms);
    const acquire reader = read(*cid);
    one.world().run_for(10ms);
    first->let_go();
    one.granted(second);
    second->let_go();  // Bob learns of waiters, and joins the queue directly the next time.
    one.granted(reader);
    one.world().run_for(10ms);
    const acquire mutex = ann->acquire("a");  // The first in the queue, which sets no mark.
    one.world().run_for(7s);
    const auto& attempts = bob->engine().parts().counts.attempts;
    const std::uint64_t attempts_before = attempts;
    const acquire writer = write(*bob);
    one.world().run_for(100ms);
    BOOST_TEST(attempts == attempts_before);
    BOOST_TEST((mark_at(one, 0) == core::time_point::min()));
    reader->let_go();
    one.granted(mutex);
    mutex->let_go();
    one.granted(writer);
}

/// Fault 42: a writer does not starve behind a waiting mutex, which sets no mark. The readers belong to new
/// clients without any knowledge of the queue.
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
    three.granted(reading);
    const acquire mutex = cid->acquire("a");
    three.world().run_for(5ms);
    const acquire writer = write(*dan);
    const core::time_point begun = three.world().now();
    const auto is_over = [&] { return mutex->is_finished || writer->is_finished; };
    while (!is_over() && three.world().now() - begun < 10s) {
        const acquire next = read_anew();
        three.world().run_for(20ms);  // One reader always reads, if permitted.
        if (reading->granted()) {
            reading->let_go();
        }
        reading = next;
        three.world().run_for(20ms);
    }
    BOOST_TEST_REQUIRE(is_over());
    BOOST_TEST((three.world().now() - begun > 1s));  // Otherwise the readers have not overlapped.
    const acquire& first = mutex->is_finished ? mutex : writer;
    first->let_go();
    three.expect_granted({mutex, writer});
}

/// Readers of new clients arrive one after the other and do not join the queue, so that one always reads. A
/// mutex waits for them at the head of the remote queue.
class overlapping_readers {
public:
    overlapping_readers() {
        in.tell_changes();
        reading_ = read_anew();
        in.granted(reading_);
        mutex = mutexes->acquire("a");
        in.world().run_for(5ms);
    }

    /// Runs until the condition holds or the time is over. Returns false if a newcomer could not read.
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

    /// Returns a client that has detected the queue, and joins it immediately the next time.
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

/// Fault 97: a reader overtakes a waiting mutex, like the newcomers, but not immediately.
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

/// Fault 97: a reader with a short deadline attempts before it gives up.
BOOST_FIXTURE_TEST_CASE(a_reader_behind_a_mutex_makes_an_attempt_at_its_deadline,
                        overlapping_readers, *label("fault-97")) {
    const auto dan = make_experienced();
    const core::time_point deadline = in.world().now() + 50ms;
    const acquire reader = read(*dan, deadline);
    BOOST_TEST(run_until([&] { return reader->is_finished; }, 1s));
    BOOST_TEST(reader->granted());
    BOOST_TEST((reader->finished_at - deadline < 1ms));
}

/// Fault 97: this also holds for a reader that was denied and has waited in the queue since.
BOOST_AUTO_TEST_CASE(a_reader_that_was_denied_does_not_starve_behind_a_mutex, *label("fault-97")) {
    virtual_deployment one(1);
    one.tell_changes();
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const auto cid = one.make_client();
    const auto dan = one.make_client();
    const acquire holder = one.granted(ann->acquire("a"));
    const acquire mutex = bob->acquire("a");
    one.world().run_for(5ms);
    const acquire reader = read(*cid);
    one.world().run_for(500ms);
    holder->let_go();
    const acquire newcomer = read(*dan);  // It arrives before the mutex is notified.
    one.granted(newcomer);
    const core::time_point begun = one.world().now();
    one.granted(reader, 10s);
    BOOST_TEST((reader->finished_at - begun < 5s));
    BOOST_TEST(!mutex->is_finished);
}

/// Fault 97: no reader overtakes the mark of a writer, however long it waits. Its attempts are rare.
BOOST_AUTO_TEST_CASE(a_reader_waits_behind_a_writer_mark, *label("fault-97")) {
    virtual_deployment three(3);
    three.tell_changes();
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    const auto cid = three.make_client();
    const acquire holder = three.granted(read_alone(*ann));
    const acquire writer = write(*bob);
    three.world().run_for(100ms);
    const acquire reader = read(*cid);
    three.world().run_for(21s);
    BOOST_TEST(!reader->is_finished);
    BOOST_TEST(!writer->is_finished);
    // Each attempt may have two parts. The first attempt comes before the client joins the queue.
    BOOST_TEST(cid->engine().parts().counts.attempts <= 2U * (1 + 21 / 5));
    holder->let_go();
    three.granted(writer);
    BOOST_TEST(!reader->is_finished);
    writer->let_go();
    three.granted(reader);
}

/// The reader that waits for Bob gives up. The writer behind it waits for a reader of its own client, and
/// needs no ticket in the remote queue.
BOOST_FIXTURE_TEST_CASE(a_client_leaves_the_remote_queue_if_no_waiter_needs_it, queue_of_readers) {
    const acquire local_writer = write(*ann);
    waiting->cancel();
    one.world().run_for(5ms);
    BOOST_TEST(tickets() == 1U);  // The ticket of the other client.
    local_writer->cancel();
    expect_nothing_left();
}

BOOST_FIXTURE_TEST_CASE(a_client_leaves_the_remote_queue_if_waiters_share_a_lease,
                        queue_of_readers) {
    const acquire behind = patient_reader();
    waiting->cancel();
    one.granted(behind);
    BOOST_TEST((behind->lease == holding->lease));
    one.world().run_for(5ms);
    BOOST_TEST(tickets() == 1U);
    behind->let_go();
    expect_nothing_left();
}

BOOST_AUTO_TEST_SUITE_END()
