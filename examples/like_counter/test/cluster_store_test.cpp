// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The store on a Redis Cluster whose slots move.

#include "../service/data_server.hpp"
#include "../service/key_slot.hpp"
#include "../service/like_store.hpp"

#include "support/deadline.hpp"
#include "support/redis_cluster.hpp"
#include "support/reserved_port.hpp"
#include "support/run.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace like_counter::test {
namespace {

using namespace colock::test;
using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto guard_expiry = 10s;
// Not made where they are used: g++ 12 destroys an aggregate in a co_await expression twice.
const visit_id visit_of_bob{"bob"};

/// Three masters, which the test cases share. Each uses an author of its own, and puts slots back.
redis_cluster& three() {
    static redis_cluster masters(3);
    return masters;
}

/// Runs a test with a store, until nothing of the store is left.
void run_with_store(const std::function<asio::awaitable<void>(like_store&)>& test,
                    std::chrono::milliseconds command_timeout = 10s,
                    std::string uri = three().uri()) {
    const auto body = [&]() -> asio::awaitable<void> {
        const auto store =
            make_redis_store(co_await asio::this_coro::executor, uri, command_timeout);
        const std::shared_ptr<void> at_end(nullptr, [&store](void*) { store->close(); });
        co_await test(*store);
    };
    run_test(body());
}

wish like_of(const std::string& entity, const std::string& user) {
    return {entity_id(entity), user_name(user), true};
}

/// Returns the text of the error that a step throws.
template <typename Error, typename Result>
asio::awaitable<std::string> error_of(asio::awaitable<Result> step) {
    try {
        co_await std::move(step);
    } catch (const Error& error) {
        co_return error.what();
    }
    co_return "";
}

asio::awaitable<departure> enter_and_like(like_store& store, wish what,
                                          std::optional<std::uint64_t> fence = std::nullopt) {
    const visit_id visit{what.user.value()};
    const entry found = co_await store.enter(what, visit, guard_expiry, fence);
    BOOST_TEST(!found.liked);
    co_return co_await store.write_and_leave(what, visit, fence);
}

asio::awaitable<void> check(like_store& store, std::string entity, std::int64_t likes) {
    const entity_id name(entity);
    const entity_record found = co_await store.read(name, std::nullopt, 100);
    BOOST_TEST(found.likes == likes);
    BOOST_TEST(found.counted == likes);
    BOOST_TEST(found.users.size() == static_cast<std::size_t>(likes));
    BOOST_TEST(co_await store.author_total(name.author()) == likes);
}

/// Of a hash tag: an entity or an author.
struct place {
    explicit place(const std::string& tag)
        : slot(key_slot(tag)), from(three().first_owner_of(tag)), to((from + 1) % 3) {}
    void move() const { three().move(slot, from, to); }
    void move_back() const { three().move(slot, to, from); }

    std::size_t slot;
    std::size_t from;
    std::size_t to;
};

asio::awaitable<void> pause(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

BOOST_AUTO_TEST_SUITE(like_counter_cluster_store)

BOOST_AUTO_TEST_CASE(slots_match_those_of_the_cluster) {
    static_assert(key_slot("123456789") == 12739);
    for (const std::string key : {"", "a", "{a}", "x{a}y", "{}a", "{}{a}", "{a", "a}b", "{{a}}",
                                  "a{b}{c}", "likers:{ada.first}", "\xff\x80"}) {
        BOOST_TEST(key_slot(key) == redis_cluster::slot_of(three()[0], key), key);
    }
}

BOOST_AUTO_TEST_CASE(a_like_is_counted_in_both_slots) {
    BOOST_TEST(key_slot("{both.entity}") != key_slot("{both}"));
    run_with_store([](like_store& store) -> asio::awaitable<void> {
        BOOST_TEST(store.kind() == "redis+cluster");
        BOOST_TEST(co_await store.reachable());
        const departure left = co_await enter_and_like(store, like_of("both.entity", "bob"));
        BOOST_TEST(left.set_changed);
        BOOST_TEST(left.present == 0);
        BOOST_TEST(left.likes == 1);
        co_await enter_and_like(store, like_of("both.entity", "eve"), 7);
        co_await check(store, "both.entity", 2);
        wish back = like_of("both.entity", "bob");
        back.liked = false;
        const departure gone = co_await store.write_and_leave(back, visit_of_bob, 8);
        BOOST_TEST(gone.set_changed);
        co_await check(store, "both.entity", 1);
    });
}

BOOST_AUTO_TEST_CASE(a_write_with_a_stale_fence_is_rejected) {
    run_with_store([](like_store& store) -> asio::awaitable<void> {
        const wish stale = like_of("fenced.entity", "bob");
        co_await store.enter(stale, visit_of_bob, guard_expiry, 5);
        co_await enter_and_like(store, like_of("fenced.entity", "eve"), 6);
        const std::string why =
            co_await error_of<stale_write>(store.write_and_leave(stale, visit_of_bob, 5));
        BOOST_TEST(why != "");
        co_await check(store, "fenced.entity", 1);
    });
}

BOOST_AUTO_TEST_CASE(a_moved_slot_is_found) {
    for (const std::string tag : {"moved.entity", "moved"}) {
        run_with_store([&tag](like_store& store) -> asio::awaitable<void> {
            const place one(tag);
            const std::string entity = "moved.entity";
            const std::int64_t likes =
                (co_await store.read(entity_id(entity), std::nullopt, 0)).likes;
            auto fence = static_cast<std::uint64_t>(likes);
            co_await enter_and_like(store, like_of(entity, tag + " before"), ++fence);
            one.move();
            co_await enter_and_like(store, like_of(entity, tag + " moved"), ++fence);
            BOOST_TEST(three()[one.to].has((tag == "moved" ? "total:{" : "count:{") + tag + "}"));
            co_await check(store, entity, likes + 2);
            one.move_back();
            co_await enter_and_like(store, like_of(entity, tag + " moved back"), ++fence);
            co_await check(store, entity, likes + 3);
            BOOST_TEST(co_await store.reachable());
        });
    }
}

// Some of its keys are here, some there, others nowhere.
BOOST_AUTO_TEST_CASE(a_migrating_slot_is_waited_for) {
    const place entity("waits.entity");
    run_with_store([&entity](like_store& store) -> asio::awaitable<void> {
        co_await enter_and_like(store, like_of("waits.entity", "bob"), 1);
        three().begin_to_move(entity.slot, entity.from, entity.to);
        three().move_key("likers:{waits.entity}", entity.from, entity.to);
        std::optional<departure> left;
        asio::co_spawn(co_await asio::this_coro::executor,
                       enter_and_like(store, like_of("waits.entity", "eve"), 2),
                       [&left](const std::exception_ptr& failure, departure found) {
                           BOOST_TEST(!failure);
                           left = found;
                       });
        co_await pause(100ms);
        BOOST_TEST(!left);
        three().move_keys(entity.slot, entity.from, entity.to);
        three().end_move(entity.slot, entity.to);
        co_await async_wait_until([&left] { return left.has_value(); });
        BOOST_TEST(left->set_changed);
        BOOST_TEST(left->likes == 2);
        co_await check(store, "waits.entity", 2);
        entity.move_back();
    });
}

BOOST_AUTO_TEST_CASE(a_slot_that_migrates_for_too_long_fails_the_like) {
    const place entity("slow.entity");
    const auto refused = [](like_store& store) -> asio::awaitable<void> {
        const std::string why =
            co_await error_of<store_error>(enter_and_like(store, like_of("slow.entity", "bob")));
        BOOST_TEST(why.find("refused: ASK ") != std::string::npos, why);
    };
    three().begin_to_move(entity.slot, entity.from, entity.to);
    run_with_store(refused, 500ms);
    three().end_move(entity.slot, entity.to);
    run_with_store([](like_store& store) { return check(store, "slow.entity", 0); });
    entity.move_back();
}

asio::awaitable<void> move_there_and_back(const place& entity, const place& author) {
    for (int i = 0; i != 3; ++i) {
        for (const place* const one : {&entity, &author}) {
            co_await async_wait_until([] { return three().agreed(); });
            one->move();
        }
        for (const place* const one : {&entity, &author}) {
            co_await async_wait_until([] { return three().agreed(); });
            one->move_back();
        }
    }
}

// Each is counted once, however often its commands had to be sent.
BOOST_AUTO_TEST_CASE(likes_are_counted_once_while_slots_move) {
    const place entity("many.entity");
    const place author("many");
    run_with_store([&](like_store& store) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        bool moving = true;
        std::int64_t begun = 0;
        std::int64_t done = 0;
        asio::co_spawn(executor, move_there_and_back(entity, author),
                       [&moving](const std::exception_ptr& failure) {
                           BOOST_TEST(!failure);
                           moving = false;
                       });
        while (moving || begun < 100) {
            ++begun;
            asio::co_spawn(executor,
                           enter_and_like(store, like_of("many.entity", std::to_string(begun))),
                           [&done](const std::exception_ptr& failure, departure left) {
                               BOOST_TEST(!failure);
                               BOOST_TEST(left.set_changed);
                               ++done;
                           });
            co_await pause(2ms);
        }
        co_await async_wait_until([&] { return done == begun; });
        const entity_record found = co_await store.read(entity_id("many.entity"), std::nullopt, 0);
        BOOST_TEST(found.likes == begun);
        BOOST_TEST(found.counted == begun);
        BOOST_TEST(co_await store.author_total(author_name("many")) == begun);
    });
}

BOOST_AUTO_TEST_CASE(a_promoted_replica_is_found) {
    redis_cluster nodes(3, 1);
    nodes.wait_until_agreed();
    const auto test = [&nodes](like_store& store) -> asio::awaitable<void> {
        const author_name author("promoted");
        BOOST_TEST(co_await store.author_total(author) == 0);
        nodes[nodes.first_owner_of("promoted")].kill();
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        std::string why = "the replica has not taken over yet";
        while (why != "" && std::chrono::steady_clock::now() < deadline) {
            why = co_await error_of<store_error>(store.author_total(author));
            co_await pause(10ms);
        }
        BOOST_TEST(why == "");
        BOOST_TEST(co_await store.reachable());
    };
    run_with_store(test, 300ms, nodes.uri());
}

BOOST_AUTO_TEST_CASE(a_missing_cluster_is_reported) {
    const reserved_port nobody;
    const redis_server single;
    std::string why;
    const auto ask = [&](like_store& store) -> asio::awaitable<void> {
        BOOST_TEST(!co_await store.reachable());
        why = co_await error_of<store_error>(store.author_total(author_name("ada")));
    };
    run_with_store(ask, 200ms, "redis+cluster://127.0.0.1:" + std::to_string(nobody.number()));
    BOOST_TEST(why.starts_with("the data server did not answer: "), why);
    run_with_store(ask, 10s, "redis+cluster://127.0.0.1:" + std::to_string(single.port()));
    BOOST_TEST(why == "the data server refused: ERR This instance has cluster support disabled");
}

BOOST_AUTO_TEST_CASE(data_uris_are_checked) {
    for (const std::string good : {"redis+cluster://a", "redis+cluster://a:1,b,[::1]:3",
                                   "redis+cluster://ann:p%2Cw@a:1,b:2", "redis://a:1/2"}) {
        BOOST_CHECK_NO_THROW(check_data_uri(good));
    }
    for (const std::string bad :
         {"redis+cluster://", "redis+cluster://a,,b", "redis+cluster://a,", "redis+cluster://a:1/1",
          "redis+cluster://a:x", "rediss+cluster://a", "redis+cluster:a"}) {
        BOOST_CHECK_THROW(check_data_uri(bad), std::invalid_argument);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::test
