// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Fenced readers and writers in virtual time: the fences of shares, and shares of a lease that has lost its
// keys.

#include "kinds/shared/shared.hpp"
#include "unit/runtime/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(shared_locks)

BOOST_FIXTURE_TEST_CASE(a_reader_gets_the_fence_of_the_last_writer, five_servers) {
    std::uint64_t last = 0;
    for (int i = 0; i != 20; ++i) {
        const acquire writer = granted(ann->acquire("a", policy_of(*ann, kinds::fenced_writer)));
        BOOST_TEST(writer->fence_number > last);
        last = writer->fence_number;
        writer->let_go();
        const acquire reader = granted(bob->acquire("a", policy_of(*bob, kinds::fenced_shared)));
        BOOST_TEST(reader->fence_number == last);
        reader->let_go();
    }
}

/// Ann reads with fencing.
struct fenced_reader {
    acquire read() { return ann->acquire("a", policy_of(*ann, kinds::fenced_shared)); }

    /// The servers lose the lease of Ann, and Bob writes in the meantime.
    std::uint64_t write_without_ann() {
        for (std::size_t i = 0; i != 3; ++i) {
            three.server(i).keys.erase("a");
        }
        const acquire writer =
            three.granted(bob->acquire("a", policy_of(*bob, kinds::fenced_writer)));
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
    // The client of Ann has not detected the loss yet.
    BOOST_TEST((reader->valid_until() > three.world().now()));
    const acquire next = three.granted(read());
    BOOST_TEST(next->fence_number >= written);
}

BOOST_FIXTURE_TEST_CASE(concurrent_fenced_readers_share_a_lease, fenced_reader) {
    const acquire next = read();
    const acquire with_it = read();
    three.expect_granted({next, with_it});
    BOOST_TEST((next->lease != reader->lease));
    BOOST_TEST((next->lease == with_it->lease));
    BOOST_TEST(next->fence_number == with_it->fence_number);
}

BOOST_FIXTURE_TEST_CASE(shares_requested_during_a_round_take_one_more_round, fenced_reader) {
    three.world().run_for(1ms);
    const std::size_t executed = three.executed();
    const auto first = virtual_share::begin(*ann, *reader);
    three.world().run_for(20us);  // Its round is under way.
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
    three.granted(writer);
    BOOST_TEST(writer->fence_number > third->fence_number);
}

/// During the round, the lease is released, the share is cancelled, or the client is closed.
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

/// The lease is renewed although servers do not answer the round of a share.
BOOST_FIXTURE_TEST_CASE(a_share_without_a_quorum_does_not_end_the_lease, fenced_reader) {
    three.server(0).is_silent = three.server(1).is_silent = true;
    const auto share = virtual_share::begin(*ann, *reader);
    three.world().run_for(251ms);
    BOOST_TEST((share->ended_with == runtime::lease_result::no_quorum));
    three.server(0).is_silent = three.server(1).is_silent = false;
    three.world().run_for(20s);
    BOOST_TEST((reader->valid_until() > three.world().now()));
}

BOOST_AUTO_TEST_SUITE_END()
