// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The like counter's stores. A process that resumes in its critical section after the lock has passed to
// another must not write.

#include "like_store.hpp"
#include "support/redis_server.hpp"
#include "support/run.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace colock::test;
using namespace like_counter;
namespace asio = boost::asio;

const entity_id post("ann.post");
const wish like{post, user_name("bob"), true};

// Named variables, because GCC 12 destroys such temporaries of a co_await expression twice.
const visit_id first_visit{"first"};
const visit_id second_visit{"second"};
const visit_id third_visit{"third"};
const std::optional<user_name> nobody;

/// Returns whether an action is refused as stale.
asio::awaitable<bool> is_stale(asio::awaitable<departure> action) {
    try {
        co_await std::move(action);
    } catch (const stale_write&) {
        co_return true;
    }
    co_return false;
}

/// Both visits have read that there is no like. Only the later one can write it.
asio::awaitable<void> who_has_read_is_not_overtaken(like_store& store) {
    const entry first = co_await store.enter(like, first_visit, 1min, 10);
    const entry second = co_await store.enter(like, second_visit, 1min, 11);
    BOOST_TEST(!first.liked);
    BOOST_TEST(!second.liked);
    BOOST_TEST(co_await is_stale(store.write_and_leave(like, first_visit, 10)));
    const departure left = co_await store.write_and_leave(like, second_visit, 11);
    BOOST_TEST(left.set_changed);
    const entity_record record = co_await store.read(post, nobody, 0);
    BOOST_TEST(record.likes == 1);
    BOOST_TEST(record.counted == 1);
    BOOST_TEST(co_await store.author_total(post.author()) == 1);
    // A stale visit cannot enter either.
    bool refused = false;
    try {
        co_await store.enter(like, third_visit, 1min, 10);
    } catch (const stale_write&) {
        refused = true;
    }
    BOOST_TEST(refused);
}

/// The first visit writes before the second enters, so the write is not stale.
asio::awaitable<void> who_writes_before_another_has_come(like_store& store) {
    co_await store.enter(like, first_visit, 1min, 10);
    co_await store.write_and_leave(like, first_visit, 10);
    const entry second = co_await store.enter(like, second_visit, 1min, 11);
    BOOST_TEST(second.liked);
    BOOST_TEST(co_await store.author_total(post.author()) == 1);
}

/// Each lock has a guard and a fence of its own. The users are different.
asio::awaitable<void> who_has_another_lock_is_not_in_the_way(like_store& store) {
    const visit_id here{"first", ":1"};
    const visit_id there{"second", ":2"};
    const wish other{post, user_name("carol"), true};
    const entry first = co_await store.enter(like, here, 1min, 20);
    const entry second = co_await store.enter(other, there, 1min, 10);
    BOOST_TEST(first.present == 1);
    BOOST_TEST(second.present == 1);
    const departure one = co_await store.write_and_leave(other, there, 10);
    const departure both = co_await store.write_and_leave(like, here, 20);
    BOOST_TEST(one.present == 0);
    BOOST_TEST(both.present == 0);
    BOOST_TEST(both.likes == 2);
    BOOST_TEST(co_await store.author_total(post.author()) == 2);
    const visit_id late{"third", ":1"};
    const visit_id next{"fourth", ":1"};
    co_await store.enter(other, next, 1min, 21);
    BOOST_TEST(co_await is_stale(store.write_and_leave(like, late, 20)));
}

void with_both_stores(asio::awaitable<void> (*test)(like_store&)) {
    run_test([test]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const auto in_memory = make_memory_store(executor);
        co_await test(*in_memory);
        const redis_server server;
        const auto on_server = make_redis_store(executor, server.uri(), 10s);
        co_await test(*on_server);
        on_server->close();
    }());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(like_store_test)

BOOST_AUTO_TEST_CASE(the_write_of_an_overtaken_holder_is_rejected) {
    with_both_stores(who_has_read_is_not_overtaken);
}

BOOST_AUTO_TEST_CASE(a_write_before_the_next_holder_enters_is_accepted) {
    with_both_stores(who_writes_before_another_has_come);
}

BOOST_AUTO_TEST_CASE(stays_under_different_locks_do_not_see_each_other) {
    with_both_stores(who_has_another_lock_is_not_in_the_way);
}

BOOST_AUTO_TEST_SUITE_END()
