// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Labels in tokens. redis-cli shows the label of a holder. The errors of waiters show it too, if the server
// returns it in the reply that denies. No lock depends on labels.

#include "instance_rig.hpp"
#include "integration/locks.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/scripts.hpp"
#include "kinds/shared/shared.hpp"
#include "support/step_of_kind.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(label_test)

namespace data = boost::unit_test::data;
using namespace colock;
using namespace colock::test;
using core::step;
using strings = std::vector<std::string>;

namespace {

/// Returns a token that begins with these hexadecimal digits.
std::string token(std::string digits, const std::string& label = {}) {
    constexpr std::size_t length = 40;
    digits.resize(length, '0');
    return label.empty() ? digits : digits + "@" + label;
}
std::string reader(const std::string& digits, const std::string& label = {}) {
    return "reader:" + token(digits, label);
}

const step_of_kind joins{step::acquire, kinds::shared, true};
const step_of_kind joins_fenced{step::acquire, kinds::fenced_shared, true};
const step_of_kind claims{step::acquire, kinds::writer, true};
const step_of_kind obstacle{step::remaining, kinds::writer};
const step_of_kind reader_extends{step::extend, kinds::shared};
const step_of_kind reader_releases{step::release, kinds::shared};
const step_of_kind reader_confirms{step::confirm, kinds::fenced_shared};

enum class place { memory, server };

std::ostream& operator<<(std::ostream& out, place p) {
    return out << (p == place::memory ? "memory" : "server");
}

const auto all_places = data::make({place::memory, place::server});

redis_server& shared_server() {
    static redis_server server;
    return server;
}

/// An instance without keys, and its votes.
class subject {
public:
    explicit subject(place p) : place_(p), rig_(uri_of(p)) { rig_.run_until_ready(); }

    std::string ask(const step_of_kind& what, const std::string& by,
                    core::milliseconds ttl = std::chrono::minutes(10)) {
        return to_text(vote_on(what, by, ttl));
    }
    core::vote vote_on(const step_of_kind& what, const std::string& by = {},
                       core::milliseconds ttl = std::chrono::minutes(10)) {
        return rig_.ask(what, "k", by, ttl);
    }

    /// Returns the vote on a release of another holder's lock. The reply to a native command does not name
    /// the holder.
    [[nodiscard]] std::string refusal(const std::string& vote) const {
        static const bool natively = deletes_natively(shared_server());
        return place_ == place::server && natively ? "denied: not ours" : vote;
    }

private:
    static std::string uri_of(place p) {
        static int count = 0;
        shared_server().flush();
        return p == place::memory ? "memory://label_test" + std::to_string(++count)
                                  : shared_server().uri();
    }

    place place_;
    instance_rig rig_;
};

/// Returns the reply to a script on the key `k`.
std::string call(const kinds::script& script, const strings& keys, const strings& arguments) {
    strings command{"EVAL", std::string(script.text), std::to_string(keys.size())};
    command.insert(command.end(), keys.begin(), keys.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return shared_server().command(command).value_or("nil");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tokens)

// --- One instance -----------------------------------------------------------------------------------

BOOST_DATA_TEST_CASE(a_denial_reports_the_label_where_a_script_has_it, all_places) {
    const std::string ann = token("a", "web-1:4711");
    const std::string bob = token("b", "web-2:1");
    subject s(sample);
    BOOST_TEST(s.ask(step::acquire, ann) == "granted");
    BOOST_TEST(s.ask(step::extend, ann) == "granted");
    // SET does not return the key's value.
    BOOST_TEST(s.ask(step::acquire, bob) == "denied: another");
    BOOST_TEST(s.ask(claims, bob) == "denied: another");
    BOOST_TEST(s.ask(step::remaining, {}) == "denied: another");  // Neither does PTTL.
    BOOST_TEST(s.ask(step::extend, bob) == "denied: @web-1:4711");
    BOOST_TEST(s.ask(step::release, bob) == s.refusal("denied: @web-1:4711"));
    BOOST_TEST(s.ask(fenced_acquire, bob) == "denied: @web-1:4711");
    BOOST_TEST(s.ask(step::confirm, bob) == "denied: @web-1:4711");
    for (const std::string& reads : {reader("c", "web-3"), reader("c")}) {
        BOOST_TEST(s.ask(joins, reads) == "denied: @web-1:4711");
        BOOST_TEST(s.ask(joins_fenced, reads) == "denied: @web-1:4711");
        BOOST_TEST(s.ask(reader_extends, reads) == "denied: @web-1:4711");
        BOOST_TEST(s.ask(reader_releases, reads) == "denied: @web-1:4711");
    }
    const core::vote vote = s.vote_on(obstacle);
    BOOST_TEST(to_text(vote) == "denied: @web-1:4711");
    BOOST_TEST((vote.remaining > 5min && vote.remaining <= 10min));
    BOOST_TEST(s.ask(step::release, ann) == "granted");
    BOOST_TEST(s.ask(obstacle, {}) == "denied: nobody");
    BOOST_TEST(s.ask(step::extend, ann) == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_holder_without_a_label_is_just_another, all_places) {
    const std::string bob = token("b", "web-2");
    for (const std::string& holder :
         {token("a"), reader("a"), std::string("somebody@else"), token("a") + "@",
          token("a") + "@x y", token("a", std::string(65, 'x')), token("a").substr(1) + "@web-1"}) {
        BOOST_TEST_CONTEXT("holder " << holder) {
            subject s(sample);
            BOOST_TEST(s.ask(step::acquire, holder) == "granted");
            BOOST_TEST(s.ask(step::extend, bob) == "denied: another");
            BOOST_TEST(s.ask(fenced_acquire, bob) == "denied: another");
            BOOST_TEST(s.ask(obstacle, {}) == "denied: another");
        }
    }
}

/// The longest labels contain every character that a label may have.
BOOST_DATA_TEST_CASE(any_label_is_reported, all_places) {
    std::string all;
    for (char c = '!'; c != '\x7f'; ++c) {
        all += c;
    }
    for (const std::string& label : {all.substr(0, 64), all.substr(30), std::string("a"),
                                     std::string("1"), std::string("@"), std::string("%d")}) {
        subject s(sample);
        BOOST_TEST(s.ask(step::acquire, token("a", label)) == "granted");
        BOOST_TEST(s.ask(fenced_acquire, token("b")) == "denied: @" + label);
        BOOST_TEST(s.ask(obstacle, {}) == "denied: @" + label);
    }
}

BOOST_DATA_TEST_CASE(readers_with_and_without_labels_share_the_key, all_places) {
    const std::string ann = reader("a", "web-1");
    const std::string bob = reader("b");
    const std::string cid = reader("c", "web-3");
    const std::string writes = token("d", "web-4");
    for (const bool fenced : {false, true}) {
        const step_of_kind& enters = fenced ? joins_fenced : joins;
        subject s(sample);
        BOOST_TEST(s.ask(enters, ann, 3min) == "granted");
        BOOST_TEST(s.ask(obstacle, {}) == "denied: @web-1");
        BOOST_TEST(s.ask(enters, bob, 2min) == "granted");
        BOOST_TEST(s.ask(enters, cid, 9min) == "granted");
        // If there are several holders, the vote names the one whose lease ends last.
        const core::vote vote = s.vote_on(obstacle);
        BOOST_TEST(to_text(vote) == "denied: @web-3");
        BOOST_TEST((vote.remaining > 5min && vote.remaining <= 9min));
        BOOST_TEST(s.ask(fenced_acquire, writes) == "denied: @web-3");
        BOOST_TEST(s.ask(step::extend, writes) == "denied: @web-3");
        BOOST_TEST(s.ask(step::acquire, writes) == "denied: another");
        for (const std::string& one : {ann, bob, cid}) {
            BOOST_TEST(s.ask(reader_extends, one, 1min) == "granted");
            BOOST_TEST(s.ask(reader_confirms, one) == "granted");
        }
        BOOST_TEST(s.ask(claims, writes) == "denied: another");  // Sets the writer mark.
        BOOST_TEST(s.ask(enters, reader("e", "web-5")) == "denied: announced");
        BOOST_TEST(s.ask(reader_extends, ann, 1min) == "granted: announced");
        BOOST_TEST(s.ask({step::withdraw, kinds::writer}, writes) == "granted");
        BOOST_TEST(s.ask(reader_releases, cid) == "granted");
        BOOST_TEST(s.ask(obstacle, {}) == "denied: @web-1");
        BOOST_TEST(s.ask(reader_releases, ann) == "granted");
        BOOST_TEST(s.ask(obstacle, {}) == "denied: another");
        BOOST_TEST(s.ask(reader_releases, ann) == "denied: nobody");
        BOOST_TEST(s.ask(reader_releases, bob) == "granted");
        BOOST_TEST(s.ask(obstacle, {}) == "denied: nobody");
    }
}

BOOST_DATA_TEST_CASE(a_writer_with_a_label_becomes_a_reader, all_places) {
    const std::string as_writer = token("a", "web-1");
    const std::string as_reader = reader("a", "web-1");
    subject s(sample);
    BOOST_TEST(s.ask(fenced_acquire, as_writer) == "granted");
    // The reader's lease was a writer's before.
    BOOST_TEST(s.ask(reader_confirms, as_reader) == "granted");
    BOOST_TEST(s.ask(joins, reader("b", "web-2")) == "denied: @web-1");
    // A token with another label, or with none, is a different token.
    for (const std::string& other : {reader("a"), reader("a", "web-2")}) {
        BOOST_TEST(s.ask(reader_extends, other) == "denied: @web-1");
        BOOST_TEST(s.ask(reader_releases, other) == "denied: @web-1");
    }
    BOOST_TEST(s.ask(reader_extends, as_reader) == "granted");
    BOOST_TEST(s.ask(step::extend, as_writer) == "denied: @web-1");  // The key's own label.
    BOOST_TEST(s.ask(joins, reader("b", "web-2"), 1h) == "granted");
    BOOST_TEST(s.ask(obstacle, {}) == "denied: @web-2");
    BOOST_TEST(s.ask(reader_extends, as_reader) == "granted");
    BOOST_TEST(s.ask(reader_releases, as_reader) == "granted");
    BOOST_TEST(s.ask(reader_releases, reader("b", "web-2")) == "granted");
    // The reader's lease is released before its first renewal.
    BOOST_TEST(s.ask(step::acquire, as_writer) == "granted");
    BOOST_TEST(s.ask(reader_releases, as_reader) == "granted");
    BOOST_TEST(s.ask(obstacle, {}) == "denied: nobody");
}

// --- The scripts ------------------------------------------------------------------------------------

/// The replies about holders without labels are unchanged, so they cost nothing more.
BOOST_AUTO_TEST_CASE(scripts_report_a_label_in_the_reply_that_denies) {
    const redis_server& server = shared_server();
    const std::string counter = kinds::fence_key("k");
    const std::string beside = kinds::new_set_key("k");
    const auto check = [&](const std::string& holder, const std::string& denial) {
        server.flush();
        server.command({"SET", "k", holder, "PX", "600000"});
        BOOST_TEST_CONTEXT("holder " << holder) {
            BOOST_TEST(call(kinds::scripts::fence, {"k", counter},
                            {token("b"), "600000", "0", "600000"}) == denial);
            BOOST_TEST(call(kinds::scripts::share, {"k"}, {reader("b"), "600000", beside}) ==
                       denial);
            BOOST_TEST(call(kinds::scripts::extend, {"k"}, {token("b"), "600000"}) == denial);
            BOOST_TEST(call(kinds::scripts::release, {"k"}, {token("b")}) == denial);
            BOOST_TEST(call(kinds::scripts::release_many, {"k", "free"},
                            {token("b"), token("b")}) == "-0");
            const std::string left = call(kinds::scripts::obstacle, {"k"}, {});
            const std::regex form(denial == "-1" ? "[0-9]+" : denial + " [0-9]+");
            BOOST_TEST(std::regex_match(left, form), left);
            server.command({"PERSIST", "k"});
            BOOST_TEST(call(kinds::scripts::obstacle, {"k"}, {}) ==
                       (denial == "-1" ? denial : denial + " -1"));
        }
    };
    check(token("a"), "-1");
    check("somebody else", "-1");
    check(token("a", "web-1:4711"), "@web-1:4711");
    server.flush();
    server.command({"RPUSH", "k", "1"});
    BOOST_TEST(call(kinds::scripts::release_many, {"k", "free"}, {token("b"), token("b")}) == "!0");
}

/// A script calls the same commands whether the holder has a label or not.
BOOST_AUTO_TEST_CASE(a_label_costs_no_command_of_the_server) {
    const redis_server& server = shared_server();
    const std::string counter = kinds::fence_key("k");
    const std::string beside = kinds::new_set_key("k");
    const auto calls_of = [&](const std::string& label, bool has_readers) {
        server.flush();
        if (has_readers) {
            for (const char* const digits : {"a", "c"}) {
                call(kinds::scripts::share, {"k"}, {reader(digits, label), "600000", beside});
            }
        } else {
            server.command({"SET", "k", token("a", label), "PX", "600000"});
        }
        server.command({"CONFIG", "RESETSTAT"});
        call(kinds::scripts::fence, {"k", counter}, {token("b"), "600000", "0", "600000"});
        call(kinds::scripts::share, {"k"}, {reader("b"), "60000", beside});
        call(kinds::scripts::extend, {"k"}, {token("b"), "600000"});
        call(kinds::scripts::release, {"k"}, {token("b")});
        call(kinds::scripts::obstacle, {"k"}, {});
        std::istringstream lines(server.command({"INFO", "commandstats"}).value());
        std::string result;
        for (std::string line; std::getline(lines, line);) {
            // Keeps the count and drops the duration.
            result += line.substr(0, line.find(',')) + "\n";
        }
        return result;
    };
    for (const bool has_readers : {false, true}) {
        const std::string without = calls_of({}, has_readers);
        BOOST_TEST(without.find("cmdstat_get:calls=") != std::string::npos, without);
        BOOST_TEST(calls_of("web-1", has_readers) == without);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// --- Clients ----------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_SUITE(labelled_clients, shared_servers<3>)

namespace {

config with_label(config configuration, const std::string& label) {
    configuration.label = label;
    configuration.instance_timeout = 5s;  // The machine may be busy.
    return configuration;
}

bool is_token(std::string_view text, const std::string& prefix, const std::string& label) {
    return std::regex_match(std::string(text), std::regex(prefix + "[0-9a-f]{40}" + label));
}

/// Returns options that allow a few attempts before the error.
lock_options impatient(bool fencing = false) {
    lock_options options;
    options.fencing = fencing;
    options.retry.attempts = 3;
    return options;
}

using operation = std::function<asio::awaitable<error>()>;

operation acquiring(const mutex& lock) {
    return [&lock]() -> asio::awaitable<error> {
        const auto [failed, none] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        co_return failed;
    };
}
operation acquiring(const shared_mutex& lock) {
    return [&lock]() -> asio::awaitable<error> {
        const auto [failed, none] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        co_return failed;
    };
}
operation reading(const shared_mutex& lock) {
    return [&lock]() -> asio::awaitable<error> {
        const auto [failed, none] =
            co_await lock.acquire_shared(asio::as_tuple(asio::use_awaitable));
        co_return failed;
    };
}

/// Checks that an operation fails because the lock is held, and that its error names this holder. On a busy
/// machine, one reply may arrive too late for the error.
asio::awaitable<void> check_error(operation fails, std::string holder) {
    const std::string expected = "denied, held by " + holder + "]";
    std::string told;
    const stopwatch waited;
    while (told.find(expected) == std::string::npos && waited.elapsed() < default_timeout) {
        const error failed = co_await fails();
        BOOST_TEST((failed == errc::contended), failed.message());
        told = failed.details();
    }
    BOOST_TEST(told.find(expected) != std::string::npos, told);
}

}  // namespace

BOOST_AUTO_TEST_CASE(redis_cli_shows_the_label_of_the_holder) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, with_label(instances.config(), "web-1:%p"));
        client on_host(executor, with_label(instances.config(), "%h"));
        co_await all_ready(locks);
        co_await all_ready(on_host);
        const mutex lock(locks, "x");
        lease held = co_await lock.acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        BOOST_TEST(is_token(held.token(), "", "@web-1:" + std::to_string(::getpid())));
        for (const redis_server& server : instances) {
            BOOST_TEST(server.command({"GET", "x"}).value() == held.token());
        }
        lease other = co_await mutex(on_host, "y").acquire();
        BOOST_TEST(is_token(other.token(), "", "@[^.@]+"));
        BOOST_TEST((co_await other.release() == release_result::released));
        // Each attempt has different digits and the same label.
        const std::string before(held.token());
        BOOST_TEST((co_await held.release() == release_result::released));
        held = co_await lock.acquire();
        BOOST_TEST(held.token().substr(0, 40) != before.substr(0, 40));
        BOOST_TEST(held.token().substr(40) == before.substr(40));
        BOOST_TEST((co_await held.release() == release_result::released));
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(clients_with_and_without_labels_exclude_each_other) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1"));
        client two(executor, with_label(instances.config(), "web-2"));
        client plain(executor, with_label(instances.config(), ""));
        co_await all_ready(one);
        co_await all_ready(two);
        co_await all_ready(plain);
        const std::vector<client*> all{&one, &two, &plain};
        for (client* const holder : all) {
            lease held = co_await mutex(*holder, "x").acquire();
            BOOST_TEST(is_token(held.token(), "", holder == &plain ? "" : "@web-[12]"));
            for (client* const other : all) {
                const shared_mutex shared(*other, "x");
                BOOST_TEST(!is_held(co_await mutex(*other, "x").try_acquire()));
                BOOST_TEST(!is_held(co_await mutex(*other, "x", impatient(true)).try_acquire()));
                BOOST_TEST(!is_held(co_await shared.try_acquire()));
                BOOST_TEST(!is_held(co_await shared.try_acquire_shared()));
            }
            co_await held.extend(20s);
            BOOST_TEST(held.valid());
            BOOST_TEST((co_await held.release() == release_result::released));
        }
    }());
    BOOST_TEST(instances.holding("x") == 0U);
}

BOOST_AUTO_TEST_CASE(readers_with_and_without_labels_read_together) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1"));
        client two(executor, with_label(instances.config(), "web-2"));
        client plain(executor, with_label(instances.config(), ""));
        co_await all_ready(one);
        co_await all_ready(two);
        co_await all_ready(plain);
        const lock_options options = renewed_every(50ms, 10s);
        const shared_mutex a(one, "x", options);
        const shared_mutex b(two, "x", options);
        const shared_mutex c(plain, "x", options);
        lease first = co_await a.acquire_shared();
        lease second = co_await b.acquire_shared();
        lease third = co_await c.acquire_shared();
        BOOST_TEST(is_token(first.token(), "reader:", "@web-1"));
        BOOST_TEST(is_token(second.token(), "reader:", "@web-2"));
        BOOST_TEST(is_token(third.token(), "reader:", ""));
        for (const lease* const one_of_them : {&first, &second, &third}) {
            co_await async_wait_until([&] {
                return std::ranges::all_of(instances, [&](const redis_server& server) {
                    return server.command({"ZSCORE", "x", std::string(one_of_them->token())})
                        .has_value();
                });
            });
        }
        BOOST_TEST(!is_held(co_await a.try_acquire()));
        co_await renewed_more(one, 2);
        co_await renewed_more(two, 2);
        co_await renewed_more(plain, 2);
        BOOST_TEST((first.valid() && second.valid() && third.valid()));
        BOOST_TEST((co_await second.release() == release_result::released));
        BOOST_TEST((co_await third.release() == release_result::released));
        BOOST_TEST(first.valid());
        BOOST_TEST((co_await first.release() == release_result::released));
        lease writer = co_await c.acquire();
        BOOST_TEST((co_await writer.release() == release_result::released));
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(a_downgraded_lease_keeps_its_label) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1"));
        client two(executor, with_label(instances.config(), "web-2"));
        co_await all_ready(one);
        co_await all_ready(two);
        for (const bool fencing : {false, true}) {
            lock_options options = renewed_every(50ms, 10s);
            options.fencing = fencing;
            const std::string key = fencing ? "fenced" : "plain";
            const shared_mutex a(one, key, options);
            const shared_mutex b(two, key, options);
            lease held = co_await a.acquire();
            const std::string as_writer(held.token());
            BOOST_TEST(is_token(as_writer, "", "@web-1"));
            co_await a.downgrade(held);
            BOOST_TEST(held.token() == as_writer);
            co_await async_wait_until([&] {
                return std::ranges::all_of(instances, [&](const redis_server& server) {
                    return server.command({"GET", key}) == "reader:" + as_writer;
                });
            });
            lease second = co_await b.acquire_shared();
            co_await renewed_more(one, 2);
            co_await held.extend(20s);
            lease shared = co_await a.share(held);
            BOOST_TEST((held.valid() && second.valid() && shared.valid()));
            BOOST_TEST((co_await held.release() == release_result::released));
            BOOST_TEST((co_await shared.release() == release_result::released));
            BOOST_TEST((co_await second.release() == release_result::released));
            co_await settled(one);
            co_await settled(two);
            BOOST_TEST(instances.holding(key) == 0U);
        }
    }());
}

BOOST_AUTO_TEST_CASE(fences_grow_with_labels) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1"));
        client plain(executor, with_label(instances.config(), ""));
        co_await all_ready(one);
        co_await all_ready(plain);
        std::uint64_t last = 0;
        for (int i = 0; i != 5; ++i) {
            for (client* const holder : {&one, &plain}) {
                lease held = co_await mutex(*holder, "x", impatient(true)).acquire();
                BOOST_TEST(held.fence() > last);
                last = held.fence();
                BOOST_TEST((co_await held.release() == release_result::released));
            }
        }
    }());
    BOOST_TEST(instances.holding("x") == 0U);
}

BOOST_AUTO_TEST_CASE(the_error_of_a_waiter_names_the_holder_where_the_servers_report_it) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1:4711"));
        client two(executor, with_label(instances.config(), ""));
        co_await all_ready(one);
        co_await all_ready(two);
        for (const bool fencing : {false, true}) {
            const mutex exclusive(two, "x", impatient(fencing));
            const shared_mutex shared(two, "x", impatient(fencing));
            lease held = co_await shared_mutex(one, "x", impatient(fencing)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 3; });
            // The plain commands SET and PTTL do not return the holder.
            co_await check_error(acquiring(exclusive), fencing ? "web-1:4711" : "another holder");
            co_await check_error(acquiring(shared), "web-1:4711");
            co_await check_error(reading(shared), "web-1:4711");
            co_await held.release();
            lease reads = co_await shared_mutex(one, "x", impatient(fencing)).acquire_shared();
            co_await async_wait_until([&] { return instances.holding("x") == 3; });
            co_await check_error(acquiring(exclusive), fencing ? "web-1:4711" : "another holder");
            co_await check_error(acquiring(shared), "web-1:4711");
            co_await reads.release();
            // A holder without a label.
            for (redis_server& server : instances) {
                hold_by_hand(server, "x", 1min);
            }
            co_await check_error(acquiring(exclusive), "another holder");
            co_await check_error(acquiring(shared), "another holder");
            co_await check_error(reading(shared), "another holder");
            instances.flush();
        }
    }());
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter_names_the_holder) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, with_label(instances.config(), "web-1:4711"));
        client two(executor, with_label(instances.config(), "web-2:1"));
        co_await all_ready(one);
        co_await all_ready(two);
        lease held = co_await shared_mutex(one, "x").acquire();
        std::string told;
        const auto names_it = [&] {
            return told.find("denied, held by web-1:4711") != std::string::npos;
        };
        const stopwatch waited;
        while (!names_it() && waited.elapsed() < default_timeout) {
            const auto [failed, none] = co_await shared_mutex(two, "x").acquire(
                asio::cancel_after(1500ms, asio::as_tuple(asio::use_awaitable)));
            BOOST_TEST((failed.code() == aborted), failed.message());
            told = failed.details();
        }
        BOOST_TEST(names_it(), told);
        co_await held.release();
    }());
}

BOOST_AUTO_TEST_CASE(a_loss_names_the_new_holder) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, with_label(instances.config(), "web-1"));
        co_await all_ready(locks);
        for (const bool reads : {false, true}) {
            const shared_mutex lock(locks, "x", without_watchdog(10s));
            lease held;
            if (reads) {
                held = co_await lock.acquire_shared();
            } else {
                held = co_await lock.acquire();
            }
            co_await async_wait_until([&] { return instances.holding("x") == 3; });
            for (const redis_server& server : instances) {
                server.command({"SET", "x", token("b", "web-2:1"), "PX", "60000"});
            }
            const auto [lost] = co_await held.extend(10s, asio::as_tuple(asio::use_awaitable));
            BOOST_TEST((lost == errc::lease_lost), lost.message());
            BOOST_TEST(lost.details().find("denied, held by web-2:1") != std::string::npos,
                       lost.details());
            BOOST_TEST((co_await held.release() == release_result::lost));
            instances.flush();
        }
    }());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
