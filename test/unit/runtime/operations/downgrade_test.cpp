// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writers that become readers, in virtual time.

#include "kinds/shared/shared.hpp"
#include "unit/runtime/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(shared_locks)

namespace {

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

/// Expects that all of them succeed soon.
void expect_done(virtual_deployment& in,
                 const std::vector<std::shared_ptr<virtual_downgrade>>& all) {
    for (const auto& one : all) {
        BOOST_TEST_REQUIRE(
            in.world().run_until([&] { return one->told == runtime::lease_result::done; }));
    }
}

/// Ann holds the lock as a writer, and has waited for Bob before. Her client therefore has a ticket in the
/// remote queue.
struct writer_after_wait {
    writer_after_wait() {
        one.server(0).tells_changes = true;
        const acquire first = one.granted(write(*bob));
        writer = write(*ann);
        one.world().run_for(50ms);
        BOOST_TEST(tickets_at(one) == 1U);
        first->let_go();
        one.granted(writer);
        BOOST_TEST(tickets_at(one) == 1U);
    }

    virtual_deployment one{1};
    std::unique_ptr<client> ann = one.make_client();
    std::unique_ptr<client> bob = one.make_client();
    acquire writer;  // The writer is Ann.
};

}  // namespace

/// A downgraded lease is a lease of a reader, so it keeps no ticket.
BOOST_FIXTURE_TEST_CASE(a_downgraded_writer_leaves_the_remote_queue, writer_after_wait) {
    expect_done(one, {downgrade(*ann, *writer)});
    one.world().run_for(5ms);
    BOOST_TEST(tickets_at(one) == 0U);
    writer->let_go();
    one.world().run_for(5ms);
    one.expect_silence();
}

/// Bob waits as a writer before the reader of Ann. This reader has a lease of its own. The first of two
/// downgrades has admitted it.
BOOST_FIXTURE_TEST_CASE(a_second_downgrade_keeps_the_ticket_of_admitted_readers,
                        writer_after_wait) {
    const acquire awaiting = write(*bob);
    one.world().run_for(50ms);
    const acquire reader = read_alone(*ann);
    expect_done(one, {downgrade(*ann, *writer), downgrade(*ann, *writer)});
    one.world().run_for(20ms);
    BOOST_TEST(tickets_at(one) == 2U);
    writer->let_go();
    one.granted(awaiting);
    awaiting->let_go();
    one.granted(reader);
    reader->let_go();
    one.world().run_for(5ms);
    BOOST_TEST(tickets_at(one) == 0U);
    one.expect_silence();
}

/// The server executes the first downgrade of Ann, but answers too late. Bob reads, and his share has a
/// larger fence than the writer of Ann. The reader of Ann arrives after that, before the second downgrade.
BOOST_FIXTURE_TEST_CASE(a_reader_after_an_unanswered_downgrade_gets_its_own_fence, one_server,
                        *label("fault-87")) {
    const acquire writer = ann->lock("a", policy_of(*ann, kinds::fenced_writer));
    const runtime::lock_policy fenced = policy_of(*ann, kinds::fenced_shared);

    server(0).latency = 300ms;
    const auto unanswered = downgrade(*ann, *writer, fenced);
    world().run_for(1ms);
    server(0).latency = 50us;
    BOOST_TEST_REQUIRE(world().run_until([&] { return unanswered->told.has_value(); }));
    BOOST_TEST((unanswered->told == runtime::lease_result::no_quorum));
    world().run_for(100ms);

    const auto others = bob->lock("a", fenced);
    const auto share = virtual_share::begin(*bob, *others);
    BOOST_TEST_REQUIRE(world().run_until([&] { return share->ended_with.has_value(); }));
    BOOST_TEST_REQUIRE(share->fence_number > writer->fence_number);

    const acquire reader = ann->acquire("a", fenced);
    expect_done(*this, {downgrade(*ann, *writer, fenced)});
    granted(reader);
    BOOST_TEST(reader->fence_number >= share->fence_number);
}

/// The first downgrade admits the waiting readers before the second one starts. A lease is not shared during
/// a round.
BOOST_FIXTURE_TEST_CASE(two_downgrades_at_once_admit_the_readers_that_wait, one_server) {
    const acquire writer = granted(write(*ann));
    const acquire reader = read(*ann);
    world().run_for(1ms);
    expect_done(*this, {downgrade(*ann, *writer), downgrade(*ann, *writer)});
    granted(reader);
    BOOST_TEST((reader->lease == writer->lease));
}

/// A lease keeps the options with which it was acquired.
BOOST_FIXTURE_TEST_CASE(a_downgraded_lease_is_shared_only_with_the_writers_options, one_server) {
    const acquire writer = granted(write(*ann));
    runtime::lock_policy longer = policy_of(*ann, kinds::shared);
    longer.lease.ttl *= 2;
    expect_done(*this, {downgrade(*ann, *writer, longer)});
    const acquire same = read(*ann);
    const acquire other = ann->acquire("a", longer);
    expect_granted({same, other});
    BOOST_TEST((same->lease == writer->lease));
    BOOST_TEST((other->lease != writer->lease));
}

/// The previous writer of the client had the same lease, and has never read.
BOOST_FIXTURE_TEST_CASE(a_lease_reports_a_reader_from_the_start_of_its_downgrade, one_server,
                        *label("fault-40")) {
    const acquire first = write(*ann);
    const acquire writer = write(*ann);
    granted(first);
    first->let_go();
    granted(writer);
    BOOST_TEST_REQUIRE((writer->lease == first->lease));
    BOOST_TEST(!writer->is_shared());

    server(0).latency = 300ms;
    const auto unanswered = downgrade(*ann, *writer);
    BOOST_TEST(writer->is_shared());
    BOOST_TEST(!first->is_shared());
    BOOST_TEST_REQUIRE(world().run_until([&] { return unanswered->told.has_value(); }));
    BOOST_TEST((unanswered->told == runtime::lease_result::no_quorum));
    BOOST_TEST(writer->is_shared());

    server(0).latency = 50us;
    expect_done(*this, {downgrade(*ann, *writer)});
    const acquire reader = granted(read(*ann));
    BOOST_TEST_REQUIRE((reader->lease == writer->lease));
    reader->let_go();
    writer->let_go();
    BOOST_TEST(reader->is_shared());
    BOOST_TEST(writer->is_shared());
    BOOST_TEST(!first->is_shared());
}

BOOST_AUTO_TEST_SUITE_END()
