// What goes over the wire, and that what is written once for several instances is right for each.

#include "instance/redis/encoder.hpp"
#include "instance/redis/scripts.hpp"

#include <boost/redis/request.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using core::verb;
using namespace std::chrono_literals;

const server_facts facts{"7.0", "id", 1s, "extend-sha", "release-sha"};

pending_command make(verb v, std::string_view key, std::string_view token,
                     core::milliseconds ttl = 0ms, bool in_full = false) {
    pending_command result;
    result.command.verb = v;
    result.command.key = key;
    result.command.token = token;
    result.command.ttl = ttl;
    result.script_in_full = in_full;
    return result;
}

std::string payload_of(encoder& e, const std::vector<pending_command>& commands,
                       const server_facts& server = facts) {
    boost::redis::request request;
    e.encode(commands, server, request);
    BOOST_TEST(request.get_commands() == commands.size());
    BOOST_TEST(request.get_expected_responses() == commands.size());
    return std::string(request.payload());
}

/// The payload as an encoder without memory writes it.
std::string fresh_payload_of(const std::vector<pending_command>& commands,
                             const server_facts& server = facts) {
    encoder e;
    return payload_of(e, commands, server);
}

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string command(const std::vector<std::string_view>& words) {
    std::string result = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words) {
        result += bulk(word);
    }
    return result;
}

BOOST_AUTO_TEST_SUITE(encoder_writes)

BOOST_AUTO_TEST_CASE(each_verb_as_one_command) {
    BOOST_TEST(fresh_payload_of({make(verb::acquire, "key", "token", 10'000ms)}) ==
               command({"SET", "key", "token", "NX", "PX", "10000"}));
    BOOST_TEST(fresh_payload_of({make(verb::extend, "key", "token", 15ms)}) ==
               command({"EVALSHA", "extend-sha", "1", "key", "token", "15"}));
    BOOST_TEST(fresh_payload_of({make(verb::release, "key", "token")}) ==
               command({"EVALSHA", "release-sha", "1", "key", "token"}));
    BOOST_TEST(fresh_payload_of({make(verb::remaining, "key", "token")}) ==
               command({"PTTL", "key"}));
}

BOOST_AUTO_TEST_CASE(the_script_in_full_when_the_server_has_forgotten_it) {
    BOOST_TEST(fresh_payload_of({make(verb::extend, "key", "token", 15ms, true)}) ==
               command({"EVAL", scripts::extend, "1", "key", "token", "15"}));
    BOOST_TEST(fresh_payload_of({make(verb::release, "key", "token", 0ms, true)}) ==
               command({"EVAL", scripts::release, "1", "key", "token"}));
}

BOOST_AUTO_TEST_CASE(any_bytes_and_any_length) {
    const std::string key("a\r\n\0$b", 6);
    const std::string token(70'000, '\xff');
    BOOST_TEST(fresh_payload_of({make(verb::acquire, key, token, 86'400'000ms)}) ==
               command({"SET", key, token, "NX", "PX", "86400000"}));
    BOOST_TEST(fresh_payload_of({make(verb::acquire, "", "", 1ms)}) ==
               command({"SET", "", "", "NX", "PX", "1"}));
}

BOOST_AUTO_TEST_CASE(nothing_for_nothing) {
    BOOST_TEST(fresh_payload_of({}) == "");
}

/// Every list of commands that can be told from the one before, in whatever, is written anew.
BOOST_AUTO_TEST_CASE(what_differs_from_the_last_is_not_taken_for_the_same) {
    const std::vector<std::vector<pending_command>> lists = {
        {},
        {make(verb::acquire, "key", "token", 10ms)},
        {make(verb::acquire, "kez", "token", 10ms)},
        {make(verb::acquire, "key", "tokem", 10ms)},
        {make(verb::acquire, "key", "token", 11ms)},
        {make(verb::acquire, "keyt", "oken", 10ms)},
        {make(verb::extend, "key", "token", 10ms)},
        {make(verb::extend, "key", "token", 10ms, true)},
        {make(verb::release, "key", "token")},
        {make(verb::remaining, "key", "token")},
        {make(verb::acquire, "key", "token", 10ms), make(verb::release, "key", "token")},
        {make(verb::release, "key", "token"), make(verb::acquire, "key", "token", 10ms)},
    };
    for (const auto& first : lists) {
        for (const auto& second : lists) {
            encoder e;
            payload_of(e, first);
            BOOST_TEST(payload_of(e, second) == fresh_payload_of(second));
            BOOST_TEST(payload_of(e, second) == fresh_payload_of(second));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_server_with_other_digests_gets_its_own) {
    const std::vector<pending_command> commands = {make(verb::extend, "key", "token", 10ms),
                                                   make(verb::release, "key", "token")};
    server_facts other = facts;
    other.extend_sha = "another-sha";
    encoder e;
    payload_of(e, commands);
    BOOST_TEST(payload_of(e, commands, other) == fresh_payload_of(commands, other));
    other.release_sha = "a-third-sha";
    BOOST_TEST(payload_of(e, commands, other) == fresh_payload_of(commands, other));
}

/// The memory of the last commands may be used again for others in the meantime.
BOOST_AUTO_TEST_CASE(remembers_the_text_and_not_where_it_stood) {
    std::string key = "key 1";
    std::string token = "token 1";
    encoder e;
    payload_of(e, {make(verb::acquire, key, token, 10ms)});
    key.back() = '2';
    BOOST_TEST(payload_of(e, {make(verb::acquire, key, token, 10ms)}) ==
               command({"SET", "key 2", "token 1", "NX", "PX", "10"}));
    token.back() = '2';
    BOOST_TEST(payload_of(e, {make(verb::acquire, key, token, 10ms)}) ==
               command({"SET", "key 2", "token 2", "NX", "PX", "10"}));
}

BOOST_AUTO_TEST_CASE(random_turns_of_several_instances) {
    std::mt19937 random(7);
    const auto draw = [&random](std::size_t n) { return random() % n; };
    const std::vector<std::string> words = {"a", "b", "ab", "a longer one", ""};
    encoder shared;
    for (int turn = 0; turn != 2'000; ++turn) {
        std::vector<pending_command> commands;
        for (std::size_t n = draw(4); n != 0; --n) {
            commands.push_back(make(static_cast<verb>(draw(4)), words[draw(words.size())],
                                    words[draw(words.size())], core::milliseconds(draw(2)),
                                    draw(8) == 0));
        }
        for (int instance = 0; instance != 3; ++instance) {
            if (draw(10) == 0 && !commands.empty()) {
                commands.pop_back();  // one of them was withdrawn for this instance
            }
            BOOST_REQUIRE(payload_of(shared, commands) == fresh_payload_of(commands));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
