// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/dialog.hpp"
#include "instance/redis/resolve.hpp"
#include "instance_rig.hpp"
#include "integration/locks.hpp"
#include "integration/majority.hpp"
#include "support/contains.hpp"
#include "support/fake_sentinel.hpp"
#include "support/fake_server.hpp"
#include "support/meter.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Servers that are silent, unreachable, or refuse the login. They are a minority or a majority.

namespace {

/// Whether the names under "slow.test" already resolve.
std::atomic<bool> slow_names_answer{false};
std::atomic<int> slow_names_asked{0};

/// The addresses of the name "sentinels.test".
std::mutex sentinels_mutex;
std::vector<std::string> addresses_of_sentinels;
std::atomic<int> sentinels_looked_up{0};

}  // namespace

/// Replaces the system's function. Some names then resolve slowly, and one has the addresses that a test
/// sets.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    using function = int(const char*, const char*, const addrinfo*, addrinfo**);
    static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    if (name != nullptr && std::string_view(name).ends_with("slow.test")) {
        ++slow_names_asked;
        while (!slow_names_answer) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return real("127.0.0.1", service, hints, result);
    }
    if (name != nullptr && std::string_view(name) == "sentinels.test") {
        const std::lock_guard lock(sentinels_mutex);
        ++sentinels_looked_up;
        *result = nullptr;
        for (const std::string& address : addresses_of_sentinels) {
            addrinfo* one = nullptr;
            real(address.c_str(), service, hints, &one);
            one->ai_next = *result;
            *result = one;
        }
        return *result == nullptr ? EAI_NONAME : 0;
    }
    return real(name, service, hints, result);
}

namespace {

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using way = tcp_proxy::way;

/// Acquires and releases `times` times. All acquires must succeed. On a busy machine a release may take
/// longer than the timeout, and then it continues in the background.
asio::awaitable<void> work(client& locks, std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) {
        lease held = co_await mutex(locks, "work" + std::to_string(i % 10)).acquire();
        BOOST_TEST(held.valid());
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST((e ? e == errc::no_quorum : result == release_result::released), e.message());
    }
}

instance_state state_of(const client& locks, std::size_t i) {
    return locks.instances()[i].state;
}

BOOST_AUTO_TEST_SUITE(network_test)

/// The number of commands that wait for the silent server is bounded, however many locks are acquired. No
/// operation waits for this server, because the timeout is longer than the test.
BOOST_AUTO_TEST_CASE(a_stopped_server_does_not_slow_the_others, *label("fault-29")) {
    servers five(5);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        constexpr std::size_t bound = 1000;
        config configuration = five.config();
        configuration.max_in_flight = bound;
        configuration.instance_timeout = 30s;
        configuration.silence_timeout = 1min;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        five[2].pause();
        const stopwatch since;
        co_await work(locks, 3000);
        BOOST_TEST((since.elapsed() < 25s));
        BOOST_TEST((state_of(locks, 2) == instance_state::ready));  // Its connection still exists.
        BOOST_TEST(locks.instances()[2].in_flight <= bound);
        BOOST_TEST(locks.instances()[2].in_flight > bound / 2);
        co_await work(locks, 1000);
        BOOST_TEST(locks.counters().releasing <= bound);
        BOOST_TEST(locks.instances()[2].in_flight <= bound);
        five[2].resume();
        co_await settled(locks);
        BOOST_TEST(five.keys() == 0U);
    }());
}

/// Uses the default timeout of an instance. The client detects that the server is silent and sends it no new
/// locks.
BOOST_AUTO_TEST_CASE(a_stopped_server_is_sent_no_new_acquires, *label("fault-29")) {
    servers five(5);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        config configuration = five.config();
        configuration.silence_timeout = 6s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        five[2].pause();
        const auto sent_since = [&, begin = stopwatch()](milliseconds time) {
            return begin.elapsed() >= time;
        };
        while (!sent_since(1s)) {
            co_await work(locks, 10);
        }
        const auto in_flight = locks.instances()[2].in_flight;
        const auto pending = locks.counters().releasing;
        co_await work(locks, 500);
        BOOST_TEST(locks.instances()[2].in_flight <= in_flight + 100);
        // The servers that reply may lag for a moment.
        co_await async_wait_until([&] { return locks.counters().releasing <= pending + 100; });
        BOOST_TEST((state_of(locks, 2) == instance_state::ready));  // Its connection still exists.
        co_await async_wait_until([&] { return state_of(locks, 2) != instance_state::ready; });
        // The instance first reports the end of the connection, and then fails the commands one by one.
        co_await async_wait_until([&] { return locks.instances()[2].in_flight == 0U; });
        five[2].resume();
        co_await all_ready(locks);
        co_await settled(locks);
        BOOST_TEST(five.keys() == 0U);
    }());
}

/// No operation waits for the server, because the timeout of a vote is longer than the test.
BOOST_AUTO_TEST_CASE(a_half_open_connection_is_detected_in_time, *label("fault-30")) {
    servers five(5);
    proxies network(five);
    for (const way which : {way::both, way::to_server, way::to_client}) {
        run_test([&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            constexpr milliseconds silence = 600ms;
            config configuration = network.config();
            configuration.instance_timeout = 1min;
            configuration.silence_timeout = silence;
            configuration.connect_timeout = 200ms;
            client locks(co_await asio::this_coro::executor, configuration);
            co_await all_ready(locks);
            lock_options often = with_ttl(5s);
            often.renew = 250ms;
            lease held = co_await mutex(locks, "held", often).acquire();
            network[1].drop(which);
            const stopwatch since;
            while (state_of(locks, 1) == instance_state::ready) {
                co_await work(locks, 10);
                BOOST_TEST_REQUIRE((since.elapsed() < silence + 5s));
            }
            BOOST_TEST((since.elapsed() > silence / 2));
            BOOST_TEST_MESSAGE("noticed after " << since.elapsed().count() << " ms");
            // A reconnect fails in the same way: the network accepts the connection and is silent.
            const auto renewed = locks.counters().renewed;
            const auto renewed_more = [&] { return locks.counters().renewed >= renewed + 2; };
            while (!renewed_more()) {
                co_await work(locks, 10);
                BOOST_TEST((state_of(locks, 1) != instance_state::ready));
            }
            BOOST_TEST(held.valid());
            BOOST_TEST(locks.counters().unavailable == 0U);
            network[1].resume();
            co_await all_ready(locks);
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await settled(locks);
            // The server may have stored a ticket that the client could not delete. It expires soon.
            const stopwatch left;
            co_await async_wait_until([&] { return five.keys() == 0; });
            BOOST_TEST((left.elapsed() < 2s));
        }());
    }
}

/// The timeouts are so long that the test fails if any operation waits for the names.
BOOST_AUTO_TEST_CASE(slow_name_lookups_do_not_delay_other_instances, *label("fault-31")) {
    servers four(4);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        slow_names_answer = false;
        slow_names_asked = 0;
        config configuration = four.config();
        for (const std::size_t i : {0U, 2U}) {
            configuration.instances[i] =
                "redis://" + std::to_string(i) + ".slow.test:" + std::to_string(four[i].port());
        }
        configuration.instances.push_back("memory://slow_names");
        configuration.connect_timeout = 5min;
        configuration.instance_timeout = 1min;
        client locks(co_await asio::this_coro::executor, configuration);
        const stopwatch since;
        co_await work(locks, 10);
        BOOST_TEST((since.elapsed() < 10s));
        BOOST_TEST(ready_instances(locks) == 3U);
        co_await async_wait_until([] { return slow_names_asked >= 2; });
        BOOST_TEST(slow_names_asked == 2);
        BOOST_TEST((state_of(locks, 0) == instance_state::connecting));
        slow_names_answer = true;
        co_await all_ready(locks);
        co_await work(locks, 10);
    }());
}

/// The client stops waiting for the name in time, and looks it up again.
BOOST_AUTO_TEST_CASE(a_slow_name_lookup_times_out_and_is_retried, *label("fault-31")) {
    servers one(1);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        slow_names_answer = false;
        config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {"redis://slow.test:" + std::to_string(one[0].port())};
        configuration.connect_timeout = 50ms;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return !locks.instances()[0].reason.empty(); });
        BOOST_TEST(locks.instances()[0].reason == "cannot resolve slow.test: no answer in time");
        const auto [e, nothing] = co_await mutex(locks, "x").try_acquire(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        slow_names_answer = true;
        co_await all_ready(locks);
        co_await work(locks, 1);
    }());
}

std::atomic<int> broken_pipes{0};

/// The thread that resolves a name may outlive the client. Its result is then discarded, and must not end the
/// program with a SIGPIPE.
BOOST_AUTO_TEST_CASE(a_slow_name_lookup_may_outlive_its_client, *label("fault-31")) {
    struct sigaction counted {};
    struct sigaction before {};
    counted.sa_handler = [](int) { ++broken_pipes; };
    BOOST_REQUIRE(::sigaction(SIGPIPE, &counted, &before) == 0);
    slow_names_answer = false;
    slow_names_asked = 0;
    const std::set<int> threads = meter::threads();
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        config configuration;
        configuration.instances = {"redis://slow.test:1"};
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([] { return slow_names_asked == 1; });
    }());
    BOOST_TEST(meter::added(meter::threads(), threads) == 1U);
    slow_names_answer = true;
    wait_until([&] { return meter::added(meter::threads(), threads) == 0; });
    BOOST_REQUIRE(::sigaction(SIGPIPE, &before, nullptr) == 0);
    BOOST_TEST(broken_pipes == 0);
}

/// Names that do not resolve while the object lives. The destructor waits until no lookup is left.
struct hanging_names {
    hanging_names() {
        slow_names_answer = false;
        slow_names_asked = 0;
    }
    ~hanging_names() {
        slow_names_answer = true;
        wait_until([this] {
            return meter::added(meter::threads(), threads) == 0 &&
                   meter::added(meter::descriptors(), descriptors) == 0;
        });
    }
    hanging_names(const hanging_names&) = delete;
    hanging_names& operator=(const hanging_names&) = delete;

    std::set<int> threads = meter::threads();
    std::set<int> descriptors = meter::descriptors();
};

/// A defect gave each attempt a thread and a descriptor while the name server was silent.
BOOST_AUTO_TEST_CASE(connect_attempts_share_a_hanging_name_lookup, *label("fault-101")) {
    using instance::redis::lookups;
    using instance::redis::resolver;
    const hanging_names names;
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const meter costs(executor, {.threads = 2, .descriptors = 10});
        const auto shared = std::make_shared<lookups>();
        for (int i = 0; i != 20; ++i) {
            for (const char* const name : {"a.slow.test", "b.slow.test"}) {
                resolver one(executor, shared);
                const auto found = co_await one.resolve(name, 5ms);
                BOOST_TEST(found.failure == "no answer in time");
            }
        }
        BOOST_TEST(slow_names_asked <= 2);
        slow_names_answer = true;
        resolver one(executor, shared);
        const auto found = co_await one.resolve("a.slow.test", 10s);
        BOOST_TEST(found.addresses == std::vector<std::string>{"127.0.0.1"});
        // This result was consumed, so the next lookup is a new one.
        co_await async_wait_until([] { return slow_names_asked == 2; });
        BOOST_TEST((co_await one.resolve("a.slow.test", 10s)).addresses.size() == 1U);
        BOOST_TEST(slow_names_asked == 3);
    }());
}

BOOST_AUTO_TEST_CASE(all_resolvers_waiting_for_a_name_get_its_addresses, *label("fault-101")) {
    using instance::redis::lookups;
    using instance::redis::resolver;
    const hanging_names names;
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        const auto executor = co_await asio::this_coro::executor;
        const auto shared = std::make_shared<lookups>();
        std::size_t answered = 0;
        for (int i = 0; i != 5; ++i) {
            asio::co_spawn(
                executor,
                [](auto where, auto with, std::size_t& count) -> asio::awaitable<void> {
                    resolver one(where, with);
                    const auto found = co_await one.resolve("slow.test", 10s);
                    count += found.addresses.size();
                }(executor, shared, answered),
                asio::detached);
        }
        co_await async_wait_until([] { return slow_names_asked == 1; });
        slow_names_answer = true;
        co_await async_wait_until([&] { return answered == 5; });
        BOOST_TEST(slow_names_asked == 1);
    }());
}

/// Each query to a node of a cluster is a new dialog.
BOOST_AUTO_TEST_CASE(dialogs_share_a_hanging_name_lookup, *label("fault-101")) {
    const hanging_names names;
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const meter costs(executor, {.threads = 1, .descriptors = 8});
        instance::redis::connection_settings settings;
        settings.connect_timeout = 5ms;
        instance::redis::address to;
        to.host = "slow.test";
        for (int i = 0; i != 20; ++i) {
            const auto one = std::make_shared<instance::redis::dialog>(executor, to, settings);
            BOOST_TEST(co_await one->open() == "cannot resolve slow.test: no answer in time");
        }
        BOOST_TEST(slow_names_asked == 1);
    }());
}

BOOST_AUTO_TEST_CASE(hanging_name_lookups_cost_one_thread_each, *label("fault-101")) {
    const hanging_names names;
    const std::string three = "a.slow.test:1,b.slow.test:1,c.slow.test:1";
    for (const std::string& uri :
         {"redis+sentinel://" + three + "/mymaster", "redis+cluster://" + three}) {
        const int asked = slow_names_asked;
        auto settings = quick_settings();
        settings.connection.connect_timeout = 5ms;
        instance_rig rig(uri, settings);
        const meter costs(rig.executor(), {.threads = 3, .descriptors = 16});
        // Any of the many attempts could exceed the limit.
        const stopwatch since;
        rig.run_until([&] { return slow_names_asked == asked + 3 && since.elapsed() > 500ms; });
    }
}

/// Returns the number of connections that a server has accepted since its statistics were reset. The query
/// itself is one of them.
std::size_t connections(const redis_server& server) {
    const std::string text = server.command({"INFO", "stats"}).value();
    const std::string field = "total_connections_received:";
    return std::stoul(text.substr(text.find(field) + field.size()));
}

/// Returns the configuration with short pauses before a reconnect.
config eager(config configuration) {
    configuration.reconnect_initial = 5ms;
    configuration.reconnect_maximum = 20ms;
    return configuration;
}

/// Returns the number of lock commands that a server has executed, in any database. The only script that is
/// sent by EVAL is the probe's. It calls each of these commands once.
std::size_t lock_commands(const redis_server& server) {
    const std::string all = command_statistics(server);
    return calls_of("set", all) + calls_of("pttl", all) - 2 * calls_of("eval", all);
}

/// The servers refuse the login. Makes attempts while the client reconnects several times.
asio::awaitable<void> check_shut_out(client& locks, servers& all) {
    for (auto& server : all) {
        server.command({"CONFIG", "RESETSTAT"});
    }
    for (auto& server : all) {
        for (std::size_t asked = 1; connections(server) < asked + 10; ++asked) {
            const auto [e, nothing] = co_await mutex(locks, "x").try_acquire(asio::as_tuple);
            BOOST_TEST((e == errc::no_quorum), e.message());
            BOOST_TEST(e.details().find("was refused") != std::string::npos, e.details());
            BOOST_TEST(ready_instances(locks) == 0U);
        }
    }
    BOOST_TEST(locks.counters().acquired == 0U);
    for (auto& server : all) {
        BOOST_TEST(lock_commands(server) == 0U);
        BOOST_TEST(server.command({"INFO", "stats"}).value().find("expired_keys:0\r\n") !=
                   std::string::npos);
        BOOST_TEST(server.command({"INFO", "keyspace"}).value().find("db") == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(a_login_refused_on_connect_fails_all_acquires, *label("fault-32")) {
    struct sample {
        std::vector<std::string> arguments;
        std::vector<std::string> forbids;
        std::string user;
        std::string database;
        std::string reason;  // A part of the reason.
    };
    const std::vector<sample> samples{
        {{"--requirepass", "secret"}, {}, "", "", "HELLO was refused: NOAUTH"},
        {{"--requirepass", "secret"}, {}, ":wrong@", "", "HELLO with AUTH was refused: WRONGPASS"},
        {{"--rename-command", "HELLO", ""}, {}, "", "", "HELLO was refused: ERR"},
        {{}, {}, "nobody:secret@", "", "HELLO with AUTH was refused: WRONGPASS"},
        {{}, {}, "", "/16", "SELECT 16 was refused: ERR DB index is out of range"},
        {{}, {"ACL", "SETUSER", "default", "-select"}, "", "/1", "SELECT 1 was refused: NOPERM"},
    };
    for (const sample& s : samples) {
        servers three(3, s.arguments);
        config configuration;
        configuration.restart_quarantine = 0ms;
        for (auto& server : three) {
            if (!s.forbids.empty()) {
                server.command(s.forbids);
            }
            configuration.instances.push_back(
                "redis://" + s.user + "127.0.0.1:" + std::to_string(server.port()) + s.database);
        }
        run_test([&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            client locks(co_await asio::this_coro::executor, eager(configuration));
            co_await async_wait_until([&] {
                const auto all = locks.instances();
                return std::none_of(all.begin(), all.end(),
                                    [](const instance_info& i) { return i.reason.empty(); });
            });
            for (const instance_info& one : locks.instances()) {
                BOOST_TEST(one.reason.find(s.reason) != std::string::npos, one.reason);
            }
            co_await check_shut_out(locks, three);
        }());
    }
}

/// The client was connected. Then the servers refuse the login for a while.
BOOST_AUTO_TEST_CASE(a_login_refused_on_reconnect_fails_acquires_until_allowed,
                     *label("fault-32")) {
    struct sample {
        std::vector<std::string> forbids;
        std::vector<std::string> allows;
    };
    const std::vector<sample> samples{
        {{"resetpass", ">new"}, {"resetpass", ">old"}},
        {{"off"}, {"on"}},
        {{"-select"}, {"+select"}},
        {{"-evalsha"}, {"+evalsha"}},
    };
    servers three(3);
    const auto set_user = [&](std::vector<std::string> rules) {
        rules.insert(rules.begin(), {"ACL", "SETUSER", "ann"});
        for (auto& server : three) {
            server.command(rules);
        }
    };
    set_user({"on", ">old", "~*", "+@all"});
    config configuration;
    configuration.restart_quarantine = 0ms;
    for (auto& server : three) {
        configuration.instances.push_back(
            "redis://ann:old@127.0.0.1:" + std::to_string(server.port()) + "/1");
    }
    for (const sample& s : samples) {
        run_test([&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            client locks(co_await asio::this_coro::executor, eager(configuration));
            co_await all_ready(locks);
            set_user(s.forbids);
            for (auto& server : three) {
                server.command({"CLIENT", "KILL", "USER", "ann"});
            }
            co_await async_wait_until([&] { return ready_instances(locks) == 0; });
            co_await async_wait_until([&] {
                const auto all = locks.instances();
                return std::all_of(all.begin(), all.end(), [](const instance_info& i) {
                    return i.reason.find("was refused") != std::string::npos;
                });
            });
            co_await check_shut_out(locks, three);
            set_user(s.allows);
            co_await all_ready(locks);
            const auto held = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST(held.owns_lock());
            BOOST_TEST(three[0].keys().empty());  // The key is in database 1.
        }());
    }
}

void resolve_sentinels_to(std::vector<std::string> addresses) {
    const std::lock_guard lock(sentinels_mutex);
    addresses_of_sentinels = std::move(addresses);
}

/// A name with two addresses. A server listens at one of them, and the other is silent.
struct half_silent_name {
    explicit half_silent_name(bool begins_with_silent) {
        resolve_sentinels_to(begins_with_silent ? std::vector<std::string>{good, bad}
                                                : std::vector<std::string>{bad, good});
    }

    const std::string good = "127.0.0.1";
    const std::string bad = "127.0.0.2";
    redis_server server;
    fake_server silent{[](const fake_server::words&) { return ""; }, server.port(), bad};
};

/// A defect made each reconnect begin with the other address, and wait for its timeout.
BOOST_AUTO_TEST_CASE(the_address_that_answered_is_tried_first, *label("fault-104")) {
    for (const bool begins_with_silent : {false, true}) {
        half_silent_name name(begins_with_silent);
        auto settings = quick_settings();
        settings.connection.connect_timeout = 2s;
        instance_rig rig("redis://sentinels.test:" + std::to_string(name.server.port()), settings);
        const meter costs(rig.executor());
        rig.run_until_ready();
        const std::size_t before = name.silent.accepted();
        for (int i = 0; i != 5; ++i) {
            const std::size_t changes = rig.state_changes();
            name.server.command({"CLIENT", "KILL", "TYPE", "normal"});
            rig.run_until([&] { return rig.state_changes() != changes; });
            rig.run_until_ready();
        }
        BOOST_TEST(name.silent.accepted() == before);
    }
}

/// A dialog with a silent server has timed out. The next dialog uses another address.
BOOST_AUTO_TEST_CASE(dialogs_try_the_address_that_answered_first, *label("fault-104")) {
    for (const bool begins_with_silent : {false, true}) {
        const half_silent_name name(begins_with_silent);
        run_test([&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const meter costs(executor);
            instance::redis::connection_settings settings;
            settings.connect_timeout = 1s;
            instance::redis::address to;
            to.host = "sentinels.test";
            to.port = std::to_string(name.server.port());
            for (int i = 0; i != 5; ++i) {
                const auto one = std::make_shared<instance::redis::dialog>(executor, to, settings);
                BOOST_TEST((co_await one->open()).empty() == (i != 0 || !begins_with_silent));
                one->close();
            }
            BOOST_TEST(name.silent.accepted() == (begins_with_silent ? 1U : 0U));
        }());
    }
}

/// A server that replies but is the wrong one must not hide the right one.
BOOST_AUTO_TEST_CASE(an_address_that_refuses_is_not_retried_immediately, *label("fault-104")) {
    const redis_server server;
    const fake_server refusing([](const fake_server::words&) { return "-ERR no\r\n"; },
                               server.port(), "127.0.0.2");
    for (const std::string first : {"127.0.0.1", "127.0.0.2"}) {
        resolve_sentinels_to({first, first == "127.0.0.1" ? "127.0.0.2" : "127.0.0.1"});
        instance_rig rig("redis://sentinels.test:" + std::to_string(server.port()));
        const meter costs(rig.executor(), loop_may_rest);
        rig.run_until_ready();
        BOOST_TEST(refusing.accepted() <= 1U);
    }
    BOOST_TEST(refusing.accepted() == 1U);
}

/// Three Sentinels behind one name, as in a headless service of Kubernetes.
struct sentinels_of_one_name {
    explicit sentinels_of_one_name(const std::vector<std::string>& ids) {
        std::vector<std::string> addresses;
        for (const std::string& id : ids) {
            addresses.push_back("127.0.0." + std::to_string(all.size() + 1));
            all.emplace_back(addresses.back(), port.number(), id);
        }
        resolve_sentinels_to(addresses);
    }

    [[nodiscard]] std::string uri() const {
        return "redis+sentinel://sentinels.test:" + std::to_string(port.number()) + "/mymaster";
    }

    reserved_port port;
    std::deque<fake_sentinel> all;
};

/// The Sentinel that replies first is cut off together with the old master. A defect accepted it as a
/// majority of one.
BOOST_AUTO_TEST_CASE(each_address_of_a_name_counts_as_a_sentinel, *label("fault-90")) {
    const redis_server old_master;
    const redis_server new_master;
    for (const std::vector<std::string>& ids :
         {std::vector<std::string>{"a", "b", "c"}, {"", "", ""}}) {
        sentinels_of_one_name three(ids);
        three.all[0].name(old_master.port());
        instance_rig rig(three.uri());
        const meter costs(rig.executor(), loop_may_rest);
        rig.run_until(
            [&] { return contains(rig.status().reason, "names another master or none"); });
        three.all[1].name(new_master.port());
        rig.run_until([&] {
            return contains(rig.status().reason, "127.0.0.2:") && three.all[1].asked() > 3 &&
                   three.all[2].asked() > 3;
        });
        BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
        three.all[2].name(new_master.port());
        rig.run_until_ready();
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
        BOOST_TEST(new_master.has("k"));
        BOOST_TEST(!old_master.has("k"));
        BOOST_TEST(rig.status().nodes.size() == 4U);
        BOOST_TEST(rig.release("k", "ann") == "granted");
    }
}

/// Only the IDs show that both addresses belong to one Sentinel. It counts as one of one, not as two of
/// three.
BOOST_AUTO_TEST_CASE(two_addresses_of_one_sentinel_have_one_vote, *label("fault-90")) {
    const redis_server master;
    sentinels_of_one_name same({"a", "a"});
    same.all[0].name(master.port());
    same.all[1].name(master.port());
    instance_rig alone(same.uri());
    alone.run_until_ready();
    BOOST_TEST(alone.status().nodes.size() == 2U);
    const fake_sentinel other("127.0.0.9", same.port.number(), "b");
    resolve_sentinels_to({"127.0.0.1", "127.0.0.2", "127.0.0.9"});
    instance_rig two(same.uri());
    two.run_until([&] { return contains(two.status().reason, "127.0.0.9:") && other.asked() > 3; });
    BOOST_TEST(two.acquire("k", "ann") == "failed: down");
}

/// The only Sentinel left is cut off with the old master, and the name has lost the other addresses.
BOOST_AUTO_TEST_CASE(a_name_that_loses_addresses_keeps_its_majority_size, *label("fault-90")) {
    const redis_server old_master;
    const redis_server new_master;
    sentinels_of_one_name three({"a", "b", "c"});
    for (fake_sentinel& one : three.all) {
        one.name(old_master.port());
    }
    instance_rig rig(three.uri());
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    resolve_sentinels_to({"127.0.0.1"});
    const int before = sentinels_looked_up;
    three.all.pop_back();
    three.all.pop_back();
    rig.run_until([&] { return sentinels_looked_up >= before + 2; });
    three.all[0].name(new_master.port());
    rig.run_until([&] { return !rig.subject().ready(); });
    const std::size_t asked = three.all[0].asked();
    rig.run_until([&] { return three.all[0].asked() > asked + 5; });
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    BOOST_TEST(contains(rig.status().reason, "127.0.0.3:"), rig.status().reason);
    BOOST_TEST(!new_master.has("k"));
}

/// One Sentinel under two names would be a majority of three.
BOOST_AUTO_TEST_CASE(one_sentinel_behind_two_hosts_has_one_vote, *label("fault-90")) {
    const redis_server master;
    fake_sentinel one;
    one.name(master.port());
    const std::string port = std::to_string(one.port());
    const reserved_port nobody;
    instance_rig rig("redis+sentinel://127.0.0.1:" + port + ",localhost:" + port +
                     ",127.0.0.1:" + std::to_string(nobody.number()) + "/mymaster");
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] {
        return one.asked() > 3 &&
               contains(rig.status().reason,
                        "localhost:" + port + " is also behind another host of the URI");
    });
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

BOOST_AUTO_TEST_CASE(acquires_fail_in_time_without_a_majority_and_then_recover,
                     *label("fault-33")) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test(
            [&]() -> asio::awaitable<void> {
                const meter costs(co_await asio::this_coro::executor);
                client locks(co_await asio::this_coro::executor, most.network.config());
                co_await all_ready(locks);
                most.each(hurt);
                lock_options options = with_ttl(10min);
                options.unavailable_timeout = 500ms;
                const stopwatch bounded;
                const auto [e, nothing] =
                    co_await mutex(locks, "x", options).acquire(asio::as_tuple);
                BOOST_TEST((e == errc::no_quorum), e.message());
                BOOST_TEST((bounded.elapsed() < 3s));
                const stopwatch once;
                const auto [try_error, none] =
                    co_await mutex(locks, "x", options).try_acquire(asio::as_tuple);
                BOOST_TEST((try_error == errc::no_quorum), try_error.message());
                BOOST_TEST((once.elapsed() < 2s));
                // The grants are rolled back although the other servers are still unreachable.
                co_await async_wait_until(
                    [&] { return !most.all[1].has("x") && !most.all[4].has("x"); });

                // A waiter with a longer timeout acquires the lock when the servers are back. If only the
                // connections come back, it does not wait for its backoff.
                lock_options patient;
                patient.unavailable_timeout = 1min;
                if (ready_instances(locks) < 3) {
                    patient.retry.initial = patient.retry.maximum = 1min;
                }
                pending_acquire waiting;
                const auto unavailable = locks.counters().unavailable;
                waiting.start(mutex(locks, "y", patient));
                co_await async_wait_until(
                    [&] { return locks.counters().unavailable != unavailable; });
                most.each(heal);
                co_await async_wait_until([&] { return waiting.result.has_value(); });
                BOOST_TEST(waiting.granted.valid());
                co_await waiting.granted.release();
                const lease held = co_await mutex(locks, "x").acquire();
                BOOST_TEST(held.valid());
                co_await all_ready(locks);
                co_await async_wait_until([&] { return locks.counters().releasing == 0; });
                BOOST_TEST(most.all.holding("y") == 0U);  // The failed attempts have left nothing.
            }(),
            60s);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
