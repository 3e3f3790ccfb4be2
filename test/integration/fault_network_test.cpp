#include "integration/locks.hpp"
#include "integration/majority.hpp"

#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

// Servers that are silent, unreachable, or let nobody in: a few of them, or so many that no majority
// is left.

namespace {

/// Whether the names under "slow.test" have their address by now.
std::atomic<bool> slow_names_answer{false};
std::atomic<int> slow_names_asked{0};

}  // namespace

/// In place of the system's: some names take their time.
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
    return real(name, service, hints, result);
}

namespace {

using namespace colock;
using namespace colock::test;
using way = tcp_proxy::way;

/// Acquires and releases so often; all must succeed.
asio::awaitable<void> work(client& locks, std::size_t times) {
    for (std::size_t i = 0; i != times; ++i) {
        lease held = co_await mutex(locks, "work" + std::to_string(i % 10)).acquire();
        BOOST_TEST(held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }
}

instance_state state_of(const client& locks, std::size_t i) {
    return locks.instances()[i].state;
}

BOOST_AUTO_TEST_SUITE(fault_network_test)

/// What the silent one would have to be told is bounded, however much is done meanwhile; and nobody
/// waits for it: the timeout is longer than the test.
BOOST_AUTO_TEST_CASE(fault_29_stopped_server_costs_the_others_nothing) {
    servers five(5);
    run_test([&]() -> asio::awaitable<void> {
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
        BOOST_TEST((state_of(locks, 2) == instance_state::ready));  // it accepted, after all
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

/// With the timeouts as they are by default. It is noticed, and no new locks are sent to it.
BOOST_AUTO_TEST_CASE(fault_29_stopped_server_is_not_sent_more_and_more) {
    servers five(5);
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, five.config());
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
        // Those that answer may be a little behind.
        BOOST_TEST(locks.instances()[2].in_flight <= in_flight + 100);
        BOOST_TEST(locks.counters().releasing <= pending + 100);
        co_await async_wait_until([&] { return state_of(locks, 2) != instance_state::ready; });
        // It is told first that the connection has ended, and then command by command.
        co_await async_wait_until([&] { return locks.instances()[2].in_flight == 0U; });
        five[2].resume();
        co_await all_ready(locks);
        co_await settled(locks);
        BOOST_TEST(five.keys() == 0U);
    }());
}

/// Nobody waits for it: the timeout of a vote is longer than the test.
BOOST_AUTO_TEST_CASE(fault_30_half_open_connection_is_noticed_in_time) {
    servers five(5);
    proxies network(five);
    for (const way which : {way::both, way::to_server, way::to_client}) {
        run_test([&]() -> asio::awaitable<void> {
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
            // And again when it is connected to: the network accepts, and is silent.
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
            // But perhaps a ticket of a line, which that server has set and we could not delete.
            const stopwatch left;
            co_await async_wait_until([&] { return five.keys() == 0; });
            BOOST_TEST((left.elapsed() < 2s));
        }());
    }
}

/// Timeouts so long that the test fails if anybody waits for the names.
BOOST_AUTO_TEST_CASE(fault_31_slow_names_do_not_delay_the_others) {
    servers four(4);
    run_test([&]() -> asio::awaitable<void> {
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
        BOOST_TEST(slow_names_asked == 2);
        BOOST_TEST((state_of(locks, 0) == instance_state::connecting));
        slow_names_answer = true;
        co_await all_ready(locks);
        co_await work(locks, 10);
    }());
}

/// It gives up waiting for the name in time, and goes on asking.
BOOST_AUTO_TEST_CASE(fault_31_slow_names_are_given_up_in_time) {
    servers one(1);
    run_test([&]() -> asio::awaitable<void> {
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

std::size_t threads_of_this_process() {
    using files = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(files("/proc/self/task"), files()));
}

/// The thread that looks a name up may outlive the client. Its answer that nobody waits for any more
/// must not end the program by a SIGPIPE.
BOOST_AUTO_TEST_CASE(fault_31_slow_names_may_outlive_their_client) {
    struct sigaction counted {};
    struct sigaction before {};
    counted.sa_handler = [](int) { ++broken_pipes; };
    BOOST_REQUIRE(::sigaction(SIGPIPE, &counted, &before) == 0);
    slow_names_answer = false;
    slow_names_asked = 0;
    const std::size_t threads = threads_of_this_process();
    run_test([&]() -> asio::awaitable<void> {
        config configuration;
        configuration.instances = {"redis://slow.test:1"};
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([] { return slow_names_asked == 1; });
    }());
    BOOST_TEST(threads_of_this_process() > threads);
    slow_names_answer = true;
    wait_until([&] { return threads_of_this_process() <= threads; });
    BOOST_REQUIRE(::sigaction(SIGPIPE, &before, nullptr) == 0);
    BOOST_TEST(broken_pipes == 0);
}

/// How often a server was connected to since its statistics were reset. Asking is a connection, too.
std::size_t connections(const redis_server& server) {
    const std::string text = server.command({"INFO", "stats"}).value();
    const std::string field = "total_connections_received:";
    return std::stoul(text.substr(text.find(field) + field.size()));
}

/// Goes on trying to connect all the time.
config eager(config configuration) {
    configuration.reconnect_initial = 5ms;
    configuration.reconnect_maximum = 20ms;
    return configuration;
}

/// In no database, not even for a moment.
std::size_t lock_commands(const redis_server& server) {
    return executed(server, "set") + executed(server, "eval") + executed(server, "pttl");
}

/// Servers that let nobody in (any more): several tries to connect, with attempts meanwhile.
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
        BOOST_TEST(server.command({"INFO", "keyspace"}).value().find("db") == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(fault_32_login_refused_on_connect) {
    struct sample {
        std::vector<std::string> arguments;
        std::vector<std::string> forbids;
        std::string user;
        std::string database;
    };
    const std::vector<sample> samples{
        {{"--requirepass", "secret"}, {}, "", ""},
        {{"--requirepass", "secret"}, {}, ":wrong@", ""},
        {{"--rename-command", "HELLO", ""}, {}, "", ""},
        {{}, {}, "nobody:secret@", ""},
        {{}, {}, "", "/16"},
        {{}, {"ACL", "SETUSER", "default", "-select"}, "", "/1"},
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
            client locks(co_await asio::this_coro::executor, eager(configuration));
            co_await async_wait_until([&] {
                const auto all = locks.instances();
                return std::none_of(all.begin(), all.end(),
                                    [](const instance_info& i) { return i.reason.empty(); });
            });
            co_await check_shut_out(locks, three);
        }());
    }
}

/// They were connected to, and then let us in no more; until they do.
BOOST_AUTO_TEST_CASE(fault_32_login_refused_on_reconnect) {
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
            BOOST_TEST(held.has_value());
            BOOST_TEST(three[0].keys().empty());  // it is in database 1
        }());
    }
}

BOOST_AUTO_TEST_CASE(fault_33_no_majority_is_told_in_time_and_heals_by_itself) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test(
            [&]() -> asio::awaitable<void> {
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
                // Those that granted have been told, although the others still cannot be.
                co_await async_wait_until(
                    [&] { return !most.all[1].has("x") && !most.all[4].has("x"); });

                // One that waits for longer gets it when they are back: without its backoff, if it
                // is the connections that come back.
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
                BOOST_TEST(most.all.holding("y") == 0U);  // nothing of the failed attempts is left
            }(),
            60s);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
