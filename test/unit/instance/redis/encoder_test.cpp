// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The bytes of encoded commands. Text that several instances share must be right for each of them.

#include "instance/redis/encoder.hpp"
#include "instance/batch.hpp"
#include "instance/shared_pool.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/scripts.hpp"
#include "kinds/shared/shared.hpp"
#include "resp/reader.hpp"
#include "support/contains.hpp"
#include "support/step_of_kind.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using colock::test::contains;
using colock::test::fenced_acquire;
using colock::test::step_of_kind;
using core::step;
using kinds::native_delete;
namespace scripts = kinds::scripts;
using namespace std::chrono_literals;

const server_facts facts{"7.0", "id", 1s, {}, false};

kinds::command make(const step_of_kind& v, std::string_view key, std::string_view token,
                    core::milliseconds ttl = 0ms) {
    kinds::command result = v.command();
    result.key = key;
    result.token = token;
    result.ttl = ttl;
    return result;
}

using commands = std::vector<kinds::command>;

void fill(batch& to, const commands& them) {
    command_tag tag = 0;
    for (const kinds::command& one : them) {
        to.submit({nullptr, tag++, core::instance_set::all(), one});
    }
}

std::shared_ptr<const batch> batch_of(const commands& them) {
    const auto result = std::make_shared<batch>();
    fill(*result, them);
    return result;
}

/// Checks that the text consists of this many commands, and returns it.
std::string checked_payload(std::string_view text, std::size_t count) {
    resp::reader reader(text.size());
    std::string_view rest = text;
    std::size_t found = 0;
    while (!rest.empty() && reader.read(rest) == resp::reader::status::complete) {
        rest.remove_prefix(reader.size());
        ++found;
    }
    BOOST_TEST(rest.empty());
    BOOST_TEST(found == count);
    return std::string(text);
}

/// Returns the number of replies, counted in the same way as by the reader of replies.
std::size_t replies_to(const commands& them, script_form form, const server_facts& server = facts) {
    const auto batch = batch_of(them);
    std::size_t replies = 0;
    std::span<const submission> rest = batch->submissions();
    while (!rest.empty()) {
        rest = rest.subspan(sent_as_one(rest, server.capabilities, form));
        ++replies;
    }
    return replies;
}

std::string payload_of(encoder& e, const commands& them, script_form form = script_form::digest,
                       const server_facts& server = facts) {
    return checked_payload(e.encode(*batch_of(them), server, form), replies_to(them, form, server));
}

/// Returns the payload of an encoder without cached text.
std::string fresh_payload_of(const commands& them, script_form form = script_form::digest,
                             const server_facts& server = facts) {
    encoder e;
    return payload_of(e, them, form, server);
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

BOOST_AUTO_TEST_CASE(each_step_is_written_as_one_command) {
    BOOST_TEST(fresh_payload_of({make(step::acquire, "key", "token", 10'000ms)}) ==
               command({"SET", "key", "token", "NX", "PX", "10000"}));
    BOOST_TEST(fresh_payload_of({make(step::extend, "key", "token", 15ms)}) ==
               command({"EVALSHA", scripts::extend.digest, "1", "key", "token", "15"}));
    BOOST_TEST(fresh_payload_of({make(step::release, "key", "token")}) ==
               command({"EVALSHA", scripts::release.digest, "1", "key", "token"}));
    BOOST_TEST(fresh_payload_of({make(step::remaining, "key", "token")}) ==
               command({"PTTL", "key"}));
}

BOOST_AUTO_TEST_CASE(releases_use_the_native_delete_command) {
    const commands them{make(step::acquire, "key", "token", 1ms),
                        make(step::extend, "key", "token"), make(step::release, "key", "token")};
    const std::string rest = fresh_payload_of({them[0]}) + fresh_payload_of({them[1]});
    server_facts valkey = facts;
    valkey.capabilities.native_delete = native_delete::delifeq;
    BOOST_TEST(fresh_payload_of(them, script_form::shortest, valkey) ==
               rest + command({"DELIFEQ", "key", "token"}));
    server_facts redis = facts;
    redis.capabilities.native_delete = native_delete::delex;
    BOOST_TEST(fresh_payload_of(them, script_form::shortest, redis) ==
               rest + command({"DELEX", "key", "IFEQ", "token"}));
    // An explicit form disables the native command. A server without that command gets the script.
    for (const auto form : {script_form::digest, script_form::in_full}) {
        BOOST_TEST(fresh_payload_of(them, form, valkey) == fresh_payload_of(them, form));
        BOOST_TEST(fresh_payload_of(them, form, redis) == fresh_payload_of(them, form));
    }
    BOOST_TEST(fresh_payload_of(them, script_form::shortest) ==
               fresh_payload_of(them, script_form::digest));
    // A text for one kind of server is not sent to another.
    encoder shared;
    const auto turn = batch_of(them);
    const std::string by_script = fresh_payload_of(them);
    for (const server_facts& server : {facts, valkey, redis, facts}) {
        BOOST_TEST(checked_payload(shared.encode_shared(turn, server), 3) ==
                   fresh_payload_of(them, script_form::shortest, server));
    }
    BOOST_TEST(checked_payload(shared.encode_shared(turn, facts), 3) == by_script);
}

BOOST_AUTO_TEST_CASE(releases_without_a_native_command_are_sent_as_one_on_every_server) {
    const step_of_kind read{step::release, kinds::shared};
    const commands readers{make(read, "a", "1"), make(read, "b", "2"), make(read, "c", "3")};
    const commands mixed{make(step::release, "a", "1"), make(read, "b", "2"), make(read, "c", "3"),
                         make(step::release, "d", "4")};
    for (const native_delete can : {native_delete::delifeq, native_delete::delex}) {
        server_facts server = facts;
        server.capabilities.native_delete = can;
        BOOST_TEST(fresh_payload_of(readers, script_form::shortest, server) ==
                   fresh_payload_of(readers, script_form::shortest));
        const std::string two = fresh_payload_of({mixed[1], mixed[2]}, script_form::shortest);
        BOOST_TEST(fresh_payload_of(mixed, script_form::shortest, server) ==
                   fresh_payload_of({mixed[0]}, script_form::shortest, server) + two +
                       fresh_payload_of({mixed[3]}, script_form::shortest, server));
    }
}

BOOST_AUTO_TEST_CASE(queries_enable_client_tracking_if_supported) {
    server_facts telling = facts;
    telling.capabilities.tells_changes = true;
    const auto ask = make(step::remaining, "key", "token");
    encoder e;
    const auto request = e.encode(*batch_of({ask, ask}), telling, script_form::digest);
    BOOST_TEST(checked_payload(request, 4) ==
               command({"CLIENT", "CACHING", "YES"}) + command({"PTTL", "key"}) +
                   command({"CLIENT", "CACHING", "YES"}) + command({"PTTL", "key"}));
    const auto ask_for_writer = make({step::remaining, kinds::writer}, "key", "token");
    const auto request_of_writer =
        e.encode(*batch_of({ask_for_writer}), telling, script_form::digest);
    BOOST_TEST(checked_payload(request_of_writer, 2) ==
               command({"CLIENT", "CACHING", "YES"}) +
                   command({"EVALSHA", scripts::obstacle.digest, "1", "key"}));
    auto explaining = ask;
    explaining.explains = true;
    BOOST_TEST(checked_payload(e.encode(*batch_of({explaining}), facts, script_form::digest), 1) ==
               command({"EVALSHA", scripts::obstacle.digest, "1", "key"}));
    BOOST_TEST(fresh_payload_of({make(step::acquire, "key", "token", 1ms)}, script_form::digest,
                                telling) ==
               fresh_payload_of({make(step::acquire, "key", "token", 1ms)}));
}

BOOST_AUTO_TEST_CASE(fenced_steps_carry_the_counter_key_and_the_fence) {
    const std::string week = "604800000";
    kinds::command c = make(fenced_acquire, "key", "token", 10'000ms);
    BOOST_TEST(fresh_payload_of({c}) ==
               command({"EVALSHA", scripts::fence.digest, "2", "key", "{key}:colock:fence", "token",
                        "10000", "0", week}));
    c.value = core::value_limit - 1;
    BOOST_TEST(fresh_payload_of({c}) ==
               command({"EVALSHA", scripts::fence.digest, "2", "key", "{key}:colock:fence", "token",
                        "10000", "9007199254740991", week}));
    c.step = step::confirm;
    BOOST_TEST(fresh_payload_of({c}, script_form::in_full) ==
               command({"EVAL", scripts::fence.text, "2", "key", "{key}:colock:fence", "token", "0",
                        "9007199254740991", week}));
}

BOOST_AUTO_TEST_CASE(queue_steps_carry_the_ticket_key) {
    kinds::command c = make(step::join, "key", "", 1000ms);
    c.ticket = 42;
    BOOST_TEST(fresh_payload_of({c}) ==
               command({"EVALSHA", scripts::join.digest, "2", "{key}:colock:queue",
                        "{key}:colock:ticket:42", "42", "1000", "{key}:colock:ticket:"}));
    BOOST_TEST(kinds::ticket_key("key", 42) == "{key}:colock:ticket:42");
    c.step = step::leave;
    BOOST_TEST(fresh_payload_of({c}) ==
               command({"EVALSHA", scripts::leave.digest, "2", "{key}:colock:queue",
                        "{key}:colock:ticket:42", "42"}));
    BOOST_TEST(fresh_payload_of({c}, script_form::in_full) ==
               command({"EVAL", scripts::leave.text, "2", "{key}:colock:queue",
                        "{key}:colock:ticket:42", "42"}));
}

BOOST_AUTO_TEST_CASE(scripts_are_written_in_full_on_request) {
    BOOST_TEST(fresh_payload_of({make(step::extend, "key", "token", 15ms)}, script_form::in_full) ==
               command({"EVAL", scripts::extend.text, "1", "key", "token", "15"}));
    BOOST_TEST(fresh_payload_of({make(step::release, "key", "token")}, script_form::in_full) ==
               command({"EVAL", scripts::release.text, "1", "key", "token"}));
    for (const step v : {step::acquire, step::remaining}) {  // These steps have no script.
        BOOST_TEST(fresh_payload_of({make(v, "key", "token", 15ms)}, script_form::in_full) ==
                   fresh_payload_of({make(v, "key", "token", 15ms)}));
    }
}

BOOST_AUTO_TEST_CASE(a_batch_is_written_in_order) {
    const commands them{make(step::release, "a", "1"), make(step::acquire, "b", "2", 3ms),
                        make(step::remaining, "c", ""), make(step::extend, "d", "4", 5ms),
                        make(step::acquire, "b", "2", 3ms)};
    std::string expected;
    for (const kinds::command& one : them) {
        expected += fresh_payload_of({one});
    }
    BOOST_TEST(fresh_payload_of(them) == expected);
}

BOOST_AUTO_TEST_CASE(consecutive_releases_are_merged_into_one_command) {
    const commands them{make(step::acquire, "a", "1", 3ms), make(step::release, "b", "2"),
                        make(step::release, "c", "3"),      make(step::release, "d", "4"),
                        make(step::extend, "e", "5", 6ms),  make(step::release, "f", "7")};
    const auto one_by_one = [&](std::size_t from, std::size_t to) {
        std::string result;
        for (; from != to; ++from) {
            result += fresh_payload_of({them[from]});
        }
        return result;
    };
    const std::string as_one =
        command({"EVALSHA", scripts::release_many.digest, "3", "b", "c", "d", "2", "3", "4"});
    encoder e;
    BOOST_TEST(checked_payload(e.encode(*batch_of(them), facts, script_form::shortest), 4) ==
               one_by_one(0, 1) + as_one + one_by_one(4, 6));
    const std::string in_full =
        command({"EVAL", scripts::release_many.text, "3", "b", "c", "d", "2", "3", "4"});
    BOOST_TEST(contains(
        checked_payload(e.encode(*batch_of(them), facts, script_form::many_in_full), 4), in_full));
    // An explicit form disables the merging, and so does a server with a native command.
    BOOST_TEST(fresh_payload_of(them, script_form::digest) == one_by_one(0, them.size()));
    // A text with merged releases is not sent to an instance that does not accept them.
    const auto turn = batch_of(them);
    for (int times = 0; times != 2; ++times) {
        BOOST_TEST(checked_payload(e.encode_shared(turn, facts), 4) ==
                   one_by_one(0, 1) + as_one + one_by_one(4, 6));
        BOOST_TEST(checked_payload(e.encode_shared(turn, facts, script_form::digest), 6) ==
                   one_by_one(0, them.size()));
    }
    server_facts valkey = facts;
    valkey.capabilities.native_delete = native_delete::delifeq;
    BOOST_TEST(!contains(fresh_payload_of(them, script_form::shortest, valkey), "many"));
}

BOOST_AUTO_TEST_CASE(at_most_64_releases_are_merged) {
    encoder e;
    const commands them(200, make(step::release, "k", "t"));
    const std::string text =
        checked_payload(e.encode(*batch_of(them), facts, script_form::shortest), 4);
    BOOST_TEST(replies_to(them, script_form::shortest) == 4U);
    BOOST_TEST(contains(text, bulk("64") + bulk("k")));
    BOOST_TEST(contains(text, bulk("8") + bulk("k")));
}

// Targets and deadlines are not the concern of the encoder.
BOOST_AUTO_TEST_CASE(targets_and_deadlines_are_ignored) {
    batch some;
    for (const auto targets :
         {core::instance_set::all(), core::instance_set::only(0), core::instance_set::only(3)}) {
        submission one;
        one.command = make(step::remaining, "key", "");
        one.command.deadline = core::time_point::min();
        one.targets = targets;
        some.submit(one);
    }
    some.reconsider();
    encoder e;
    const std::string once = command({"PTTL", "key"});
    BOOST_TEST(checked_payload(e.encode(some, facts, script_form::digest), 3) ==
               once + once + once);
}

BOOST_AUTO_TEST_CASE(any_bytes_and_lengths_are_encoded) {
    const std::string key("a\r\n\0$b", 6);
    const std::string token(70'000, '\xff');
    BOOST_TEST(fresh_payload_of({make(step::acquire, key, token, 86'400'000ms)}) ==
               command({"SET", key, token, "NX", "PX", "86400000"}));
    BOOST_TEST(fresh_payload_of({make(step::acquire, "", "", 1ms)}) ==
               command({"SET", "", "", "NX", "PX", "1"}));
    // Covers every change in the number of digits of the size.
    for (std::size_t size = 0; size != 1'100; ++size) {
        const std::string text(size, 'x');
        BOOST_REQUIRE(fresh_payload_of({make(step::release, text, text)}) ==
                      command({"EVALSHA", scripts::release.digest, "1", text, text}));
    }
}

/// A piece may or may not fit into the internal buffer of the encoder.
BOOST_AUTO_TEST_CASE(pieces_of_random_lengths_are_encoded) {
    std::mt19937 random(11);
    const std::string text(2'000, 'x');
    const auto piece = [&] {
        const std::size_t most = random() % 4 == 0 ? text.size() : 530;
        return std::string_view(text).substr(0, random() % most);
    };
    for (int i = 0; i != 20'000; ++i) {
        const std::string_view key = piece();
        const std::string_view token = piece();
        BOOST_REQUIRE(fresh_payload_of({make(step::extend, key, token, 1ms)}) ==
                      command({"EVALSHA", scripts::extend.digest, "1", key, token, "1"}));
    }
}

BOOST_AUTO_TEST_CASE(any_ttl_is_encoded) {
    for (const core::milliseconds ttl : {0ms, 1ms, 9ms, 10ms, 99ms, 100ms, 2'147'483'648ms,
                                         core::milliseconds::max(), core::milliseconds::min()}) {
        const std::string text = std::to_string(ttl.count());
        BOOST_TEST(fresh_payload_of({make(step::acquire, "key", "token", ttl)}) ==
                   command({"SET", "key", "token", "NX", "PX", text}));
        BOOST_TEST(fresh_payload_of({make(step::extend, "key", "token", ttl)}) ==
                   command({"EVALSHA", scripts::extend.digest, "1", "key", "token", text}));
    }
}

BOOST_AUTO_TEST_CASE(an_empty_batch_gives_an_empty_payload) {
    BOOST_TEST(fresh_payload_of({}) == "");
    BOOST_TEST(fresh_payload_of({}, script_form::in_full) == "");
}

BOOST_AUTO_TEST_CASE(every_script_has_a_digest) {
    for (const kinds::script& one : scripts::all) {
        BOOST_TEST(one.digest.size() == 40U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(encoder_shares)

namespace {

const commands some{make(step::acquire, "key", "token", 10ms),
                    make(step::extend, "key", "token", 10ms), make(step::release, "key", "token"),
                    make(fenced_acquire, "key", "token", 10ms)};
const commands others{make(step::remaining, "key", "token")};

}  // namespace

BOOST_AUTO_TEST_CASE(instances_with_the_same_batch_share_one_text) {
    encoder e;
    const auto turn = batch_of(some);
    const std::string_view first = e.encode_shared(turn, facts);
    BOOST_TEST(checked_payload(first, some.size()) == fresh_payload_of(some));
    server_facts other = facts;  // Differs only in fields that do not affect the text.
    other.version = "8.0";
    other.run_id = "another";
    other.uptime = 7s;
    BOOST_TEST(e.encode_shared(turn, other) == first);
    BOOST_TEST(checked_payload(first, some.size()) == fresh_payload_of(some));
}

BOOST_AUTO_TEST_CASE(another_batch_is_encoded_again) {
    encoder e;
    const auto turn = batch_of(some);
    e.encode_shared(turn, facts);
    BOOST_TEST(checked_payload(e.encode_shared(batch_of(some), facts), some.size()) ==
               fresh_payload_of(some));
    BOOST_TEST(checked_payload(e.encode_shared(batch_of(others), facts), others.size()) ==
               fresh_payload_of(others));
    BOOST_TEST(checked_payload(e.encode_shared(turn, facts), some.size()) ==
               fresh_payload_of(some));
}

BOOST_AUTO_TEST_CASE(other_server_capabilities_need_another_text) {
    server_facts other = facts;
    other.capabilities.native_delete = native_delete::delifeq;
    encoder e;
    const auto turn = batch_of(some);
    for (const server_facts& server : {facts, other, other, facts}) {
        BOOST_TEST(checked_payload(e.encode_shared(turn, server), some.size()) ==
                   fresh_payload_of(some, script_form::shortest, server));
    }
}

BOOST_AUTO_TEST_CASE(encoding_for_one_instance_keeps_the_shared_text) {
    encoder e;
    const auto turn = batch_of(some);
    const std::string_view shared = e.encode_shared(turn, facts);
    BOOST_TEST(checked_payload(e.encode(*turn, facts, script_form::in_full), some.size()) ==
               fresh_payload_of(some, script_form::in_full));
    BOOST_TEST(checked_payload(e.encode(*batch_of(others), facts, script_form::digest),
                               others.size()) == fresh_payload_of(others));
    BOOST_TEST(shared == fresh_payload_of(some));
    BOOST_TEST(e.encode_shared(turn, facts) == fresh_payload_of(some));
}

/// The encoding of other batches does not overwrite the cached text.
BOOST_AUTO_TEST_CASE(a_cached_text_is_not_overwritten_by_other_batches) {
    encoder e;
    const auto turn = batch_of(some);
    e.encode_shared(turn, facts);
    for (int i = 0; i != 200; ++i) {
        e.encode(*batch_of(others), facts, script_form::digest);
    }
    BOOST_TEST(checked_payload(e.encode_shared(turn, facts), some.size()) ==
               fresh_payload_of(some));
}

BOOST_AUTO_TEST_CASE(a_reused_batch_is_encoded_again) {
    shared_pool<batch> pool;
    encoder e;
    std::set<const batch*> addresses;
    for (int turn = 0; turn != 100; ++turn) {
        const auto one = pool.take([] { return std::make_shared<batch>(); });
        one->clear();
        const std::string key = std::to_string(turn);
        const commands them{make(step::acquire, key, "token", 10ms)};
        fill(*one, them);
        addresses.insert(one.get());
        for (int instance = 0; instance != 3; ++instance) {
            BOOST_TEST(checked_payload(e.encode_shared(one, facts), 1) == fresh_payload_of(them));
        }
    }
    BOOST_TEST(addresses.size() == 2U);  // The encoder keeps only the last batch.
}

/// The encoder keeps the last batch alive, so that no other batch gets its address.
BOOST_AUTO_TEST_CASE(the_encoder_keeps_the_cached_batch_alive) {
    encoder e;
    std::weak_ptr<const batch> last;
    {
        const auto turn = batch_of(some);
        last = turn;
        e.encode_shared(turn, facts);
    }
    BOOST_TEST(!last.expired());
    e.encode_shared(batch_of(others), facts);
    BOOST_TEST(last.expired());
}

/// The instances get the same text or different texts.
BOOST_AUTO_TEST_CASE(random_batches_are_encoded_correctly_for_all_instances) {
    const std::vector<std::string> words = {"a", "b", "ab", "a longer one", ""};
    server_facts other = facts;
    other.capabilities.native_delete = native_delete::delex;
    for (unsigned seed = 0; seed != 5; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            const auto draw = [&random](std::size_t n) { return random() % n; };
            shared_pool<batch> batches;
            encoder shared;
            for (int turn = 0; turn != 500; ++turn) {
                commands them;
                for (std::size_t n = draw(4); n != 0; --n) {
                    them.push_back(make(static_cast<step>(draw(4)), words[draw(words.size())],
                                        words[draw(words.size())], core::milliseconds(draw(2))));
                }
                const auto one = batches.take([] { return std::make_shared<batch>(); });
                one->clear();
                fill(*one, them);
                for (int instance = 0; instance != 3; ++instance) {
                    const server_facts& server = draw(10) == 0 ? other : facts;
                    const auto form = draw(10) == 0 ? script_form::in_full : script_form::shortest;
                    const std::string_view text = form == script_form::shortest && draw(10) != 0
                                                      ? shared.encode_shared(one, server)
                                                      : shared.encode(*one, server, form);
                    BOOST_REQUIRE(checked_payload(text, replies_to(them, form, server)) ==
                                  fresh_payload_of(them, form, server));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
