// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Properties of every Lua script, for any content of the key and any command that the server refuses. A
// script does all or nothing. A holder's renewal and release always work. No script depends on the server's
// clock.

#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/scripts.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

extern const char* const path_of_skewed_clock;

BOOST_AUTO_TEST_SUITE(script_test)

namespace {

namespace scripts = kinds::scripts;
using boost::unit_test::label;
using strings = std::vector<std::string>;

const std::string key = "k";

/// Returns a token that begins with these hexadecimal digits.
std::string token(std::string digits) {
    constexpr std::size_t length = 40;
    digits.resize(length, '0');
    return digits;
}

std::string reader(const std::string& digits) {
    return "reader:" + token(digits);
}

/// Returns a token of a semaphore that prefers this slot.
std::string permit(int slot, const std::string& limit_and_count = "3*1") {
    return "permit:" + limit_and_count + ":" + token("0000000" + std::to_string(slot));
}

/// Returns the part of a score that encodes the slot of a permit's first member. Returns 0 for other members.
long slot_in(const std::string& member) {
    constexpr long span = 1L << 42;
    return member.starts_with("permit:") ? span * (member[member.find(':', 7) + 8] - '0') : 0;
}

/// Returns the token with the label of its holder.
std::string labelled(const std::string& token) {
    return token + "@web-1:4711";
}

/// A day in milliseconds. No test takes that long.
const std::string day = "86400000";

/// The ttl of the keys before a call. So a call with the ttl of a day has to extend it.
const std::string most_of_a_day = "80000000";

/// The ttl of a ticket that a call has to renew.
const std::string two_days = "172800000";

/// The value of a name after a `once` call.
const std::string result_of_once = "done:1:fx";

/// Returns the reply to a command. An error becomes a text that begins with "error: ".
std::string ask(const redis_server& server, const strings& command) {
    return server.replies({command}).front();
}

bool is_error(const std::string& answer) {
    return answer.starts_with("error: ");
}

/// The content of a key before a script is called.
struct state {
    std::string name;
    strings holders;                                  // The tokens of the holders.
    std::string value{};                              // The value, if the key is a string.
    std::vector<std::pair<long, std::string>> set{};  // Members of a set, with their remaining ms.
    bool is_counted = false;                          // A fence counter exists.
    bool is_queued = false;            // A remote queue exists, with this client's ticket.
    strings record{};                  // The fields, if the key is a hash.
    std::string life = most_of_a_day;  // The hash's ttl. Empty: none.
    strings waiters{};                 // Waiters of a binding order, of the clients 7 and 9.
};

/// Deletes all keys. Redis 8 executes FLUSHALL in another thread, which takes longer.
const strings delete_all{
    "EVAL", "for _, name in ipairs(redis.call('KEYS', '*')) do redis.call('DEL', name) end", "0"};

/// Returns the commands that bring a server into the state. Writer marks have negative scores.
std::vector<strings> commands_for(const state& s) {
    std::vector<strings> result{delete_all};
    if (!s.value.empty()) {
        result.push_back({"SET", key, s.value, "PX", most_of_a_day});
    }
    if (!s.set.empty()) {
        const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
        const long now = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
        strings command{"ZADD", key};
        long last = 0;
        for (const auto& [left, member] : s.set) {
            last = std::max(last, left);
            const bool is_negative =
                member.starts_with("writer:") || member.starts_with("semaphore:");
            command.insert(
                command.end(),
                {std::to_string(is_negative ? -(now + left) : slot_in(member) + now + left),
                 member});
        }
        result.push_back(command);
        result.push_back({"PEXPIRE", key, std::to_string(last)});
    }
    if (!s.record.empty()) {
        strings command{"HSET", key};
        command.insert(command.end(), s.record.begin(), s.record.end());
        result.push_back(command);
        if (!s.life.empty()) {
            result.push_back({"PEXPIRE", key, s.life});
        }
    }
    if (s.is_counted) {
        result.push_back(
            {"SET", kinds::fence_key(key), std::to_string(1LL << 52), "PX", most_of_a_day});
    }
    if (!s.waiters.empty()) {
        strings command{"ZADD", kinds::waiters_key(key)};
        for (const std::string& member : s.waiters) {
            command.insert(command.end(), {std::to_string(command.size()), member});
        }
        result.push_back(command);
        result.push_back(
            {"PEXPIRE", kinds::waiters_key(key), "60000"});  // A command was just there.
        for (const char* const client : {"7", "9"}) {
            result.push_back(
                {"SET", kinds::waiters_ticket_prefix(key) + client, "", "PX", most_of_a_day});
        }
    }
    if (s.is_queued) {
        result.push_back({"RPUSH", kinds::queue_key(key), "ticket:9", "ticket:7"});
        result.push_back({"PEXPIRE", kinds::queue_key(key), most_of_a_day});
        for (const std::uint64_t number : {7, 9}) {
            result.push_back({"SET", kinds::ticket_key(key, number), "", "PX", most_of_a_day});
        }
    }
    return result;
}

/// Returns the reply to a command that must succeed.
const std::string& good(const std::string& reply) {
    if (is_error(reply)) {
        throw redis_error(reply);
    }
    return reply;
}

/// Brings the server into the state.
void write(const redis_server& server, const state& s) {
    std::ranges::for_each(server.replies(commands_for(s)), good);
}

/// Asks for the whole content of the server, without the remaining ttls.
const strings content_command{"EVAL", R"(
    local names, result = redis.call('KEYS', '*'), ''
    table.sort(names)
    for _, name in ipairs(names) do
        local type = redis.call('TYPE', name).ok
        local values = type == 'string' and {redis.call('GET', name)}
            or type == 'zset' and redis.call('ZRANGE', name, 0, -1, 'WITHSCORES')
            or type == 'hash' and redis.call('HGETALL', name)
            or redis.call('LRANGE', name, 0, -1)
        result = result .. name .. ' ' .. type .. ' ' .. table.concat(values, '\n')
            .. (redis.call('PTTL', name) == -1 and ' without ttl; ' or '; ')
    end
    return result)",
                              "0"};

std::string content_of(const redis_server& server) {
    return good(ask(server, content_command));
}

/// The version is far ahead of any clock.
const std::string record_version = "4503599627370496";
const std::string week_and_day = "691200000";

/// Longer than any value.
const std::string many_bytes = "1000000";

strings fields_of_record(const std::string& erased) {
    return {"v", record_version, "d", "x", "e", erased, "w", " a1:7:" + record_version, "n", "1"};
}

const std::vector<state>& all_states() {
    constexpr long long_left = 60'000;
    constexpr long mark_left = 900;
    static const std::vector<state> result{
        {"nothing", {}},
        {"nothing but a counter", {}, "", {}, true},
        {"a writer", {token("a")}, token("a")},
        {"a writer, counted", {token("a")}, token("a"), {}, true},
        {"one reader", {reader("a")}, reader("a")},
        {"one reader, counted", {reader("a")}, reader("a"), {}, true},
        {"a set of one reader", {reader("a")}, "", {{long_left, reader("a")}}},
        {"two readers",
         {reader("a"), reader("b")},
         "",
         {{long_left, reader("a")}, {long_left / 2, reader("b")}}},
        {"two readers, counted",
         {reader("a"), reader("b")},
         "",
         {{long_left, reader("a")}, {long_left / 2, reader("b")}},
         true},
        {"a reader and a mark",
         {reader("a")},
         "",
         {{long_left, reader("a")}, {mark_left, "writer:1"}}},
        {"readers and marks",
         {reader("a"), reader("b")},
         "",
         {{long_left, reader("a")},
          {long_left, reader("b")},
          {mark_left, "writer:1"},
          {mark_left / 2, "writer:2"}},
         true},
        {"a mark", {}, "", {{mark_left, "writer:1"}}},
        {"a reader and a mark from before the clock was set back",
         {reader("a")},
         "",
         {{long_left / 2, reader("a")}, {long_left, "writer:9"}, {mark_left, "writer:1"}}},
        {"a reader behind one that has ended",
         {reader("a")},
         "",
         {{long_left, reader("a")}, {-1000, reader("b")}}},
        {"a queue", {}, "", {}, false, true},
        {"a writer with a label", {labelled(token("a"))}, labelled(token("a")), {}, true},
        {"one reader with a label", {labelled(reader("a"))}, labelled(reader("a"))},
        {"readers with and without a label, and a mark",
         {labelled(reader("a")), reader("b")},
         "",
         {{long_left, labelled(reader("a"))},
          {long_left / 2, reader("b")},
          {mark_left, "writer:1"}},
         true},
        {"one permit", {permit(0)}, permit(0)},
        {"two permits",
         {permit(0), permit(1)},
         "",
         {{long_left, "semaphore:3"}, {long_left, permit(0)}, {long_left / 2, permit(1)}}},
        {"all permits",
         {permit(0), permit(1), permit(2)},
         "",
         {{long_left, "semaphore:3"},
          {long_left, permit(0)},
          {long_left / 2, permit(1)},
          {long_left / 3, permit(2)}}},
        {"a permit beside those that have ended",
         {permit(0)},
         "",
         {{long_left, "semaphore:3"},
          {long_left, permit(0)},
          {-1000, permit(1)},
          {-1000, permit(2)}}},
        {"a permit of another limit", {permit(0, "5*1")}, permit(0, "5*1")},
        {"a record", {}, "", {}, false, false, fields_of_record("0"), week_and_day},
        {"a record whose value has ended", {}, "", {}, false, false, fields_of_record("0")},
        {"an erased record", {}, "", {}, false, false, fields_of_record("1")},
        {"a result", {}, result_of_once},
        {"a record without end", {}, "", {}, false, false, fields_of_record("0"), ""},
        {"a queue that is ours", {}, "", {}, false, false, {}, day, {"7.1", "9.1"}},
        {"a queue in another's turn", {}, "", {}, true, false, {}, day, {"9.1", "7.2", "7.1"}},
        {"a queue with our other waiter first", {}, "", {}, true, false, {}, day, {"7.2", "7.1"}},
        {"a queue behind a holder",
         {token("a")},
         token("a"),
         {},
         false,
         false,
         {},
         day,
         {"7.1", "9.1"}},
    };
    return result;
}

/// A call of a script.
struct call {
    std::string name;
    const kinds::script* script;
    strings keys;
    strings arguments;
    bool is_holders =
        false;               // A holder's step, such as a renewal or a release. It must never fail.
    std::string gives_up{};  // The token that holds nothing after the call.

    [[nodiscard]] strings command() const {
        strings result{"EVAL", std::string(script->text), std::to_string(keys.size())};
        result.insert(result.end(), keys.begin(), keys.end());
        result.insert(result.end(), arguments.begin(), arguments.end());
        return result;
    }
};

const std::vector<call>& all_calls() {
    const std::string counter = kinds::fence_key(key);
    const std::string beside = kinds::new_set_key(key);
    const std::string aside = kinds::new_permits_key(key);
    const std::string other = "{" + key + "}:other";  // In the same slot.
    const std::string waiters = kinds::waiters_key(key);
    const std::string tickets = kinds::waiters_ticket_prefix(key);
    const std::string ours = tickets + "7";
    static const std::vector<call> result{
        {"a new reader", &scripts::share, {key}, {reader("c"), day, beside}},
        {"the reader again", &scripts::share, {key}, {reader("a"), "1", beside}},
        {"a new reader, fenced",
         &scripts::share,
         {key, counter},
         {reader("c"), "70000", beside, "0", day}},
        {"a waiting writer", &scripts::claim, {key}, {"1000", "1", beside}},
        {"a writer that does not wait", &scripts::claim, {key}, {"0", "1", beside}},
        {"a writer that waits no more", &scripts::unmark, {key}, {"1"}, true},
        {"a writer's renewal", &scripts::extend, {key}, {token("a"), day}, true},
        {"a reader's renewal", &scripts::extend, {key}, {reader("a"), day}, true},
        {"another reader's renewal", &scripts::extend, {key}, {reader("b"), "45000"}, true},
        {"a writer's release", &scripts::release, {key}, {token("a")}, true, token("a")},
        {"a reader's release", &scripts::release, {key}, {reader("a")}, true, reader("a")},
        {"another reader's release", &scripts::release, {key}, {reader("b")}, true, reader("b")},
        {"a release of many", &scripts::release_many, {key}, {reader("a")}, true, reader("a")},
        {"a look of a writer", &scripts::obstacle, {key}, {}, true},
        {"a new reader with a label", &scripts::share, {key}, {labelled(reader("c")), day, beside}},
        {"the renewal of a reader with a label",
         &scripts::extend,
         {key},
         {labelled(reader("a")), day},
         true},
        {"the release of a reader with a label",
         &scripts::release,
         {key},
         {labelled(reader("a"))},
         true,
         labelled(reader("a"))},
        {"a fenced acquire", &scripts::fence, {key, counter}, {token("c"), day, "0", day}},
        {"a writer's fence", &scripts::fence, {key, counter}, {token("a"), "0", "0", day}},
        {"a reader's fence", &scripts::fence, {key, counter}, {reader("a"), "0", "0", day}},
        {"a count", &scripts::count, {counter}, {"0", day, "count"}},
        {"a join",
         &scripts::join,
         {kinds::queue_key(key), kinds::ticket_key(key, 8)},
         {"8", "1000", kinds::ticket_prefix(key)}},
        {"a ticket that is kept",
         &scripts::join,
         {kinds::queue_key(key), kinds::ticket_key(key, 7)},
         {"7", "1000", kinds::ticket_prefix(key)}},
        {"a leave",
         &scripts::leave,
         {kinds::queue_key(key), kinds::ticket_key(key, 7)},
         {"7"},
         true},
        {"a turn", &scripts::take_turn, {key, waiters, ours}, {token("c"), day, "7.1", "1000"}},
        {"a turn of a newcomer",
         &scripts::take_turn,
         {key, waiters, tickets + "8"},
         {token("c"), day, "8.1", "1000"}},
        {"a turn that is not waited for",
         &scripts::take_turn,
         {key, waiters, tickets + "8"},
         {token("c"), day, "8.0", "-1000"}},
        {"a turn with a fence",
         &scripts::count_turn,
         {key, waiters, ours, counter},
         {token("c"), day, "7.1", "1000", "0", day}},
        {"a waiter that enters", &scripts::enter, {waiters, tickets + "8"}, {"8.1", "1000"}},
        {"a client that stays", &scripts::stay, {waiters, ours}, {"7.1", "7.1", two_days}, true},
        {"a waiter that gives up", &scripts::give_up, {waiters, ours}, {"7.1", "1000"}, true},
        {"a new permit", &scripts::permit, {key}, {labelled(permit(0)), day, "take", "", aside}},
        {"a new permit of a larger number",
         &scripts::permit,
         {key},
         {labelled(permit(1)), "1000", "take", "2 ", aside}},
        {"the permit again", &scripts::permit, {key}, {permit(0), day, "take", "", aside}},
        {"the permit restored", &scripts::permit, {key}, {permit(0), day, "hold", "1 ", aside}},
        {"two new permits", &scripts::permit, {key}, {permit(1, "3*2"), day, "take", "", aside}},
        {"a permit's renewal", &scripts::extend_permit, {key}, {permit(0), day, "1 "}, true},
        {"another permit's renewal",
         &scripts::extend_permit,
         {key},
         {permit(1), "45000", "1 "},
         true},
        {"a permit's release", &scripts::release_permits, {key}, {permit(0)}, true, permit(0)},
        {"another permit's release",
         &scripts::release_permits,
         {key},
         {permit(1)},
         true,
         permit(1)},
        {"a read", &scripts::read, {key}, {many_bytes}, true},
        {"a write", &scripts::write, {key}, {"b1", record_version, day, many_bytes, "y"}},
        {"a write that lasts longer",
         &scripts::write,
         {key},
         {"b2", record_version, "864000000", many_bytes, ""}},
        {"a write without end",
         &scripts::write,
         {key},
         {"b3", record_version, "0", many_bytes, "y"}},
        {"an erase", &scripts::write, {key}, {"b4", record_version, "0", many_bytes}, true},
        {"a write that is sent again",
         &scripts::write,
         {key},
         {"a1", "7", day, many_bytes, "x"},
         true},
        {"a create", &scripts::write, {key}, {"c1", "0", day, many_bytes, "y"}},
        {"a create without end", &scripts::write, {key}, {"c2", "0", "0", many_bytes, "y"}},
        {"a create without a value", &scripts::write, {key}, {"c3", "0", "0", many_bytes}},
        {"a name that is taken", &scripts::take, {key}, {token("c"), day}},
        {"a look for a result", &scripts::inspect, {key}, {token("a")}, true},
        {"a result",
         &scripts::complete,
         {key},
         {token("a"), result_of_once, day, "0"},
         false,
         token("a")},
        {"a result that heals", &scripts::complete, {key}, {"", result_of_once, day, "1"}},
        {"a look for a permit", &scripts::vacancy, {key}, {"permit:3*1:"}, true},
        {"two names", &scripts::take_all, {key, other}, {token("c"), day, "take"}},
        {"two names restored", &scripts::take_all, {key, other}, {token("a"), day, "heal"}},
        {"the renewal of one name", &scripts::extend_all, {key}, {token("a"), day}, true},
        {"the renewal of two names", &scripts::extend_all, {key, other}, {token("a"), day}, true},
        {"the release of names", &scripts::release_all, {key}, {token("a"), "1"}, true, token("a")},
        {"a look for two names", &scripts::obstacle_all, {key, other}, {}, true},
        {"a report",
         &scripts::report,
         {key, counter, kinds::queue_key(key), waiters},
         {"100", kinds::ticket_prefix(key), tickets},
         true},
        {"a report about the key", &scripts::report, {key}, {"100"}, true},
    };
    return result;
}

/// Something that is done to a server before a call, and is taken back afterwards.
struct hindrance {
    strings begin{"PING"};
    strings end{"PING"};
};

/// The reply to a call, and the server before and after it.
struct outcome {
    std::string had;  // The content before the call.
    std::string answer;
    std::string content{};            // The content after the call.
    std::set<std::string> holders{};  // The tokens that then hold the key.
};

/// Calls the script once with each hindrance, in the same state. All commands go out in one write, because a
/// round trip for each of them would take most of the time.
std::vector<outcome> outcomes_of(const redis_server& server, const state& before,
                                 const call& called,
                                 const std::vector<hindrance>& hindrances = {{}}) {
    const std::vector<strings> prepare = commands_for(before);
    std::vector<strings> commands;
    for (const hindrance& each : hindrances) {
        commands.insert(commands.end(), prepare.begin(), prepare.end());
        commands.insert(commands.end(),
                        {content_command, each.begin, called.command(), each.end, content_command,
                         strings{"ZRANGE", key, "0", "-1"}, strings{"GET", key}});
    }
    const std::vector<std::string> replies = server.replies(commands);
    std::vector<outcome> result;
    for (auto reply = replies.begin(); reply != replies.end();) {
        for (std::size_t i = 0; i != prepare.size(); ++i) {
            good(*reply++);
        }
        const std::string& had = good(*reply++);
        good(*reply++);
        outcome& each = result.emplace_back(outcome{had, *reply++});
        good(*reply++);
        each.content = good(*reply++);
        // The key is a set, a string, something else, or does not exist.
        for (int i = 0; i != 2; ++i, ++reply) {
            std::istringstream lines(is_error(*reply) ? std::string() : *reply);
            for (std::string line; std::getline(lines, line);) {
                each.holders.insert(line);
            }
        }
    }
    return result;
}

/// Returns whether each token that held the key still does. The token that the call gives up is excepted. A
/// writer's token may have become a reader's.
bool has_all_holders(const outcome& after, const state& before, const call& called) {
    return std::ranges::all_of(before.holders, [&](const std::string& holder) {
        const std::string as_reader = "reader:" + holder;
        return after.holders.contains(holder) || after.holders.contains(as_reader) ||
               holder == called.gives_up || as_reader == called.gives_up;
    });
}

/// Returns whether the reply has the time until the lock becomes free.
bool tells_time(const call& called) {
    return called.script == &scripts::report || called.script == &scripts::obstacle ||
           called.script == &scripts::vacancy || called.script == &scripts::obstacle_all;
}

/// Replaces the name of a record in the reply. If the server refuses HGET, a lock can report only that the
/// key is a hash.
std::string without_name(std::string answer) {
    const std::string name = "of versioned_value";
    if (const auto at = answer.find(name); at != std::string::npos) {
        answer.replace(at, name.size(), "holds hash");
    }
    return answer;
}

/// Removes the remaining time in front of a result.
std::string without_time(const std::string& answer) {
    const auto at = answer.find(" " + result_of_once);
    return at == std::string::npos ? answer : answer.substr(at);
}

/// Returns whether two replies to the same call agree. A new record has the time as its version.
bool say_the_same(const call& called, const std::string& one, const std::string& other) {
    const auto is_version = [](const std::string& answer) {
        return answer.size() == record_version.size() &&
               answer.find_first_not_of("0123456789") == std::string::npos;
    };
    return without_time(one) == without_time(other) || without_name(one) == without_name(other) ||
           (called.name.starts_with("a create") && is_version(one) && is_version(other));
}

/// Runs every call in every state. `function` gets the outcome on a healthy server.
template <typename Function>
void with_all(const redis_server& calm_server, Function function) {
    for (const state& before : all_states()) {
        for (const call& called : all_calls()) {
            BOOST_TEST_CONTEXT(called.name << " where there is " << before.name) {
                const outcome calm = outcomes_of(calm_server, before, called).front();
                BOOST_TEST(!is_error(calm.answer), calm.answer);
                function(before, called, calm);
            }
        }
    }
}

/// Returns the names of the commands in a script.
std::set<std::string> commands_of(const kinds::script& script) {
    std::set<std::string> result;
    for (const std::string_view before : {"call('", "look('", "{'"}) {
        for (std::size_t at = 0; (at = script.text.find(before, at)) != std::string_view::npos;) {
            at += before.size();
            result.emplace(script.text.substr(at, script.text.find('\'', at) - at));
        }
    }
    return result;
}

}  // namespace

/// While this hindrance lasts, the slot of the key moves away from its node. New keys require that it does not.
hindrance moving_slot(redis_cluster& cluster) {
    const std::size_t from = cluster.first_owner_of(key);
    const std::string slot = std::to_string(redis_cluster::slot_of(cluster[from], key));
    return {{"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id(1 - from)},
            {"CLUSTER", "SETSLOT", slot, "STABLE"}};
}

/// While a slot moves, a node refuses each command on a key that it does not have.
BOOST_AUTO_TEST_CASE(a_script_does_all_or_nothing_while_its_slot_moves, *label("fault-81")) {
    redis_cluster cluster(2);
    redis_server calm_server;
    const hindrance moves = moving_slot(cluster);
    const redis_server& node = cluster[cluster.first_owner_of(key)];
    with_all(calm_server, [&](const state& before, const call& called, const outcome& calm) {
        const outcome moving = outcomes_of(node, before, called, {moves}).front();
        if (is_error(moving.answer)) {
            BOOST_TEST(moving.content == moving.had, moving.answer);
        } else if (!tells_time(called) && !called.keys.back().ends_with("fence")) {
            BOOST_TEST(say_the_same(called, moving.answer, calm.answer), moving.answer);
        }
        BOOST_TEST(has_all_holders(moving, before, called), moving.answer);
        if (called.is_holders && called.keys.size() == 1 && moving.had.find(key + " ") == 0) {
            BOOST_TEST(!is_error(moving.answer), moving.answer);
        }
    });
}

/// Fault 84: after its last write, a script does not access a key that may no longer exist.
BOOST_AUTO_TEST_CASE(the_last_release_works_while_its_slot_moves, *label("fault-84")) {
    redis_cluster cluster(2);
    const hindrance moves = moving_slot(cluster);
    const redis_server& node = cluster[cluster.first_owner_of(key)];
    const auto last = [](const call& one) { return !one.gives_up.empty(); };
    for (const state& before : all_states()) {
        for (const call& called : all_calls()) {
            const bool is_held =
                std::ranges::find(before.holders, called.gives_up) != before.holders.end();
            if (!last(called) || !is_held) {
                continue;
            }
            BOOST_TEST_CONTEXT(called.name << " where there is " << before.name) {
                BOOST_TEST(outcomes_of(node, before, called, {moves}).front().answer == "1");
            }
        }
    }
}

/// A server that is short of memory refuses commands that need memory, until a script has written something.
BOOST_AUTO_TEST_CASE(a_script_does_all_or_nothing_without_memory, *label("fault-82")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    redis_server calm_server;
    const hindrance is_full{{"CONFIG", "SET", "maxmemory", "1"},
                            {"CONFIG", "SET", "maxmemory", "0"}};
    with_all(calm_server, [&](const state& before, const call& called, const outcome& calm) {
        const outcome refused = outcomes_of(server, before, called, {is_full}).front();
        if (is_error(refused.answer)) {
            BOOST_TEST(refused.answer.find("OOM") != std::string::npos, refused.answer);
            BOOST_TEST(refused.content == refused.had);
            BOOST_TEST(!called.is_holders, refused.answer);
        } else if (!tells_time(called)) {
            BOOST_TEST(say_the_same(called, refused.answer, calm.answer), refused.answer);
        }
    });
}

/// A record grows only if memory is available. Erasing it needs none.
BOOST_AUTO_TEST_CASE(a_record_needs_memory_unless_it_is_erased, *label("fault-82")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    const auto call_of = [](const strings& arguments) {
        return call{"", &scripts::write, {key}, arguments}.command();
    };
    const auto is_refused = [&](const strings& arguments) {
        return ask(server, call_of(arguments)).find("OOM") != std::string::npos;
    };
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    for (const strings& create :
         {strings{"c1", "0", day, many_bytes, "y"}, strings{"c2", "0", "0", many_bytes, "y"},
          strings{"c3", "0", "0", many_bytes}}) {
        BOOST_TEST(is_refused(create));
        BOOST_TEST(!server.has(key));
    }
    for (const std::string& life : {week_and_day, std::string()}) {
        server.command({"CONFIG", "SET", "maxmemory", "0"});
        write(server, {"", {}, "", {}, false, false, fields_of_record("0"), life});
        server.command({"CONFIG", "SET", "maxmemory", "1"});
        BOOST_TEST(is_refused({"b1", record_version, day, many_bytes, "y"}));
        const strings erase{"b2", record_version, "0", many_bytes};
        const std::string erased = ask(server, call_of(erase));
        BOOST_TEST(std::stoull(erased) > std::stoull(record_version));
        BOOST_TEST(ask(server, call_of(erase)) == erased);
        BOOST_TEST(server.command({"HGET", key, "d"}).value() == "");
    }
}

/// A reply that is too long would end the client's connection.
BOOST_AUTO_TEST_CASE(a_value_that_is_too_long_for_the_client_is_not_sent) {
    redis_server server;
    write(server, {"", {}, "", {}, false, false, fields_of_record("0"), week_and_day});
    const std::string had = content_of(server);
    const std::string refusal = "error: RECORD the value has 1 bytes, which exceeds what this "
                                "client takes (0 bytes). Raise "
                                "its max_reply_size";
    BOOST_TEST(ask(server, call{"", &scripts::read, {key}, {"0"}}.command()) == refusal);
    const strings write_of_zero{"b1", "0", day, "0", "y"};
    BOOST_TEST(ask(server, call{"", &scripts::write, {key}, write_of_zero}.command()) == refusal);
    BOOST_TEST(content_of(server) == had);
    BOOST_TEST(ask(server, call{"", &scripts::read, {key}, {"1"}}.command()) ==
               record_version + " x");
}

/// A reader that was a writer until now renews its former token.
BOOST_AUTO_TEST_CASE(a_downgrade_needs_no_memory, *label("fault-82")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    server.command({"SET", key, token("a"), "PX", day});
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    const call renews{"", &scripts::extend, {key}, {reader("a"), day}};
    BOOST_TEST(ask(server, renews.command()) == "1");
    BOOST_TEST(server.command({"GET", key}).value() == reader("a"));
    BOOST_TEST(ask(server, renews.command()) == "1");
}

/// A waiter keeps its ticket or its mark alive.
BOOST_AUTO_TEST_CASE(a_waiter_that_is_known_needs_no_memory, *label("fault-116")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    const std::string waiters = kinds::waiters_key(key);
    const std::string place = kinds::waiters_ticket_prefix(key) + "7";
    const std::string ticket = kinds::ticket_key(key, 7);
    const call stays{"", &scripts::stay, {waiters, place}, {"7.1", "7.1", two_days}};
    const call enters{"", &scripts::enter, {waiters, place}, {"7.1", two_days}};
    const call joins{"",
                     &scripts::join,
                     {kinds::queue_key(key), ticket},
                     {"7", two_days, kinds::ticket_prefix(key)}};
    const call claims{"", &scripts::claim, {key}, {"1000", "1", kinds::new_set_key(key)}};
    const auto full = [&](bool is_full) {
        server.command({"CONFIG", "SET", "maxmemory", is_full ? "1" : "0"});
    };
    const auto is_renewed = [&](const call& by, const std::string& name) {
        full(true);
        const std::string answer = ask(server, by.command());
        full(false);
        BOOST_TEST(!is_error(answer), answer);
        return std::stol(server.command({"PTTL", name}).value()) > std::stol(most_of_a_day);
    };
    write(server, {"", {}, "", {}, false, true, {}, day, {"7.1", "9.1"}});
    BOOST_TEST(is_renewed(stays, place));
    BOOST_TEST(is_renewed(joins, ticket));
    server.command({"DEL", place, ticket});
    BOOST_TEST(is_renewed(enters, place));
    BOOST_TEST(is_renewed(joins, ticket));
    write(server, {"", {}, "", {{60'000, reader("a")}, {500, "writer:1"}}});
    const std::string had = content_of(server);
    BOOST_TEST(!is_renewed(claims, key));  // The reader's share decides about the key.
    BOOST_TEST(content_of(server) != had);
}

/// Whichever command the server refuses, no holder loses its lock, and no key is left without a ttl. An error
/// reply is never taken for a vote.
BOOST_AUTO_TEST_CASE(a_script_with_a_refused_command_does_all_or_nothing) {
    redis_server server;
    with_all(server, [&](const state& before, const call& called, const outcome& calm) {
        std::vector<std::string> forbidden;
        std::vector<hindrance> hindrances;
        for (const std::string& command : commands_of(*called.script)) {
            forbidden.push_back(command);
            hindrances.push_back({{"ACL", "SETUSER", "default", "-" + command},
                                  {"ACL", "SETUSER", "default", "+@all"}});
        }
        BOOST_TEST(!hindrances.empty());
        const std::vector<outcome> outcomes = outcomes_of(server, before, called, hindrances);
        for (std::size_t i = 0; i != outcomes.size(); ++i) {
            const auto& [had, answer, content, holders] = outcomes[i];
            BOOST_TEST_CONTEXT("without " << forbidden[i] << ", answer " << answer) {
                if (is_error(answer) || answer == "e") {
                    BOOST_TEST(content == had);
                } else if (!tells_time(called) && !called.keys.back().ends_with("fence")) {
                    const bool tells_less =
                        forbidden[i] == "hget" && answer == "!" && calm.answer == "-";
                    BOOST_TEST((tells_less || say_the_same(called, answer, calm.answer)));
                }
                BOOST_TEST(has_all_holders(outcomes[i], before, called), content);
                // Only a record without an end has no ttl, before or after the call.
                const bool may_lack_ttl =
                    content == had ||
                    (!is_error(answer) && calm.content.find("without ttl") != std::string::npos);
                BOOST_TEST((may_lack_ttl || content.find("without ttl") == std::string::npos),
                           content);
            }
        }
    });
}

/// If the server refuses the release of one of several keys, this key is unchanged. The others are released.
BOOST_AUTO_TEST_CASE(a_release_of_many_answers_for_each_key_without_a_right) {
    redis_server server;
    const state readers{"", {}, "", {{60'000, reader("a")}, {30'000, reader("b")}}};
    for (const std::string forbidden : {"zrem", "zremrangebyscore"}) {
        write(server, readers);
        server.command({"SET", "other", token("c"), "PX", day});
        const std::string had = ask(server, {"ZRANGE", key, "0", "-1", "WITHSCORES"});
        server.command({"ACL", "SETUSER", "default", "-" + forbidden});
        const call releases{"", &scripts::release_many, {key, "other"}, {reader("b"), token("c")}};
        BOOST_TEST(ask(server, releases.command()) == "e1");
        server.command({"ACL", "SETUSER", "default", "+@all"});
        BOOST_TEST(ask(server, {"ZRANGE", key, "0", "-1", "WITHSCORES"}) == had);
        BOOST_TEST(!server.has("other"));
    }
}

/// Before Redis 7.2, time passes between two commands of a script. A PEXPIRE with no other purpose would
/// extend the key by that time, and a dead reader would last longer.
BOOST_AUTO_TEST_CASE(a_shorter_share_does_not_rewrite_the_expiry_of_the_key, *label("fault-83")) {
    redis_server server;
    write(server, {"", {}, "", {{600'000, reader("a")}, {300'000, reader("b")}}});
    const std::string before = server.command({"PEXPIRETIME", key}).value();
    server.command({"CONFIG", "RESETSTAT"});
    for (int i = 0; i != 10; ++i) {
        const call shares{
            "", &scripts::share, {key}, {reader("c"), "100000", kinds::new_set_key(key)}};
        BOOST_TEST(ask(server, shares.command()) == "OK");
        const call releases{"", &scripts::release, {key}, {reader("c")}};
        BOOST_TEST(ask(server, releases.command()) == "1");
    }
    BOOST_TEST(server.command({"PEXPIRETIME", key}).value() == before);
    const std::string calls = server.command({"INFO", "commandstats"}).value();
    BOOST_TEST(calls.find("cmdstat_pexpire:") == std::string::npos);
}

/// A foreign key may have the name under which a new set is made.
BOOST_AUTO_TEST_CASE(a_foreign_key_beside_the_key_is_left_alone, *label("fault-34")) {
    redis_server server;
    const std::string beside = kinds::new_set_key(key);
    for (const strings& foreign :
         {strings{"SET", beside, "x"}, strings{"ZADD", beside, "9e12", reader("f")}}) {
        write(server, {"", {}, reader("a")});
        server.command(foreign);
        const std::string had = content_of(server);
        for (const call& called : all_calls()) {
            if (called.name == "a new reader" || called.name == "a waiting writer") {
                const std::string answer = ask(server, called.command());
                BOOST_TEST(answer ==
                           "error: READERS the key " + beside + " was not written by colock");
                BOOST_TEST(content_of(server) == had);
            }
        }
    }
}

/// A key moves to a server whose clock differs. The shares of its readers neither end immediately nor last
/// longer there.
BOOST_TEST_DECORATOR(*label("fault-83"))
BOOST_DATA_TEST_CASE(a_migrated_key_keeps_its_shares_under_another_clock,
                     boost::unit_test::data::make({3600, -3600}), ahead) {
    redis_server here;
    redis_server there({}, {"env", std::string("LD_PRELOAD=") + path_of_skewed_clock,
                            "COLOCK_CLOCK_AHEAD=" + std::to_string(ahead)});
    const auto time_of = [](const redis_server& server) {
        const std::string time = server.command({"TIME"}).value();
        return std::stol(time.substr(0, time.find('\n')));
    };
    const long apart = time_of(there) - time_of(here);
    BOOST_TEST_REQUIRE((apart > ahead - 60 && apart < ahead + 60), apart);

    constexpr long left = 600'000;
    constexpr long soon = 300;
    write(
        here,
        {"",
         {},
         "",
         {{left, reader("a")}, {left / 2, reader("b")}, {soon, reader("c")}, {soon, "writer:1"}}});
    here.command({"MIGRATE", "127.0.0.1", std::to_string(there.port()), key, "0", "5000"});
    const auto call_there = [&](const kinds::script& script, const strings& arguments) {
        return ask(there, call{"", &script, {key}, arguments}.command());
    };
    BOOST_TEST(ask(there, {"SET", key, token("d"), "NX", "PX", day}) == "nil");
    const long obstacle = std::stol(call_there(scripts::obstacle, {}));
    BOOST_TEST((obstacle > left - 60'000 && obstacle <= left), obstacle);
    // A share that ends soon ends there too.
    wait_until([&] {
        return call_there(scripts::extend, {reader("a"), "1"}) == "1";
    });  // 2: a writer waits.
    BOOST_TEST(call_there(scripts::extend, {reader("c"), day}) == "0");
    BOOST_TEST(call_there(scripts::extend, {reader("b"), "1"}) == "1");
    BOOST_TEST(call_there(scripts::release, {reader("a")}) == "1");
    const long rest = std::stol(ask(there, {"PTTL", key}));
    BOOST_TEST((rest > left / 2 - 60'000 && rest <= left / 2), rest);
    BOOST_TEST(call_there(scripts::share, {reader("e"), "1000", kinds::new_set_key(key)}) == "OK");
    BOOST_TEST(call_there(scripts::release, {reader("b")}) == "1");
    BOOST_TEST(call_there(scripts::release, {reader("e")}) == "1");
    BOOST_TEST(!there.has(key));
}

/// The same applies to permits. Only the ttl of the key determines them, no clock.
BOOST_TEST_DECORATOR(*label("fault-48") * label("fault-83"))
BOOST_DATA_TEST_CASE(a_migrated_key_keeps_its_permits_under_another_clock,
                     boost::unit_test::data::make({3600, -3600}), ahead) {
    redis_server here;
    redis_server there({}, {"env", std::string("LD_PRELOAD=") + path_of_skewed_clock,
                            "COLOCK_CLOCK_AHEAD=" + std::to_string(ahead)});
    constexpr long left = 600'000;
    constexpr long soon = 300;
    const std::string beside = kinds::new_permits_key(key);
    write(here,
          {"",
           {},
           "",
           {{left, "semaphore:3"}, {left, permit(0)}, {left / 2, permit(1)}, {soon, permit(2)}}});
    here.command({"MIGRATE", "127.0.0.1", std::to_string(there.port()), key, "0", "5000"});
    const auto call_there = [&](const kinds::script& script, const strings& arguments) {
        return ask(there, call{"", &script, {key}, arguments}.command());
    };
    const auto take = [&](int slot, const std::string& who) {
        return call_there(scripts::permit, {permit(slot) + who, "1000", "take", "", beside});
    };
    // A permit that ends soon ends there too. No other slot becomes free.
    wait_until([&] {
        const std::string answer = take(0, "@a");
        BOOST_TEST((answer == "-1" || answer == "3"), answer);
        return answer == "3";
    });
    BOOST_TEST(call_there(scripts::extend_permit, {permit(2), day, "1 "}) == "0");
    BOOST_TEST(call_there(scripts::extend_permit, {permit(0), "1", "1 "}) == "1");
    BOOST_TEST(call_there(scripts::extend_permit, {permit(1), "1", "1 "}) == "1");
    BOOST_TEST(call_there(scripts::release_permits, {permit(2) + "@a"}) == "0");
    BOOST_TEST(call_there(scripts::release_permits, {permit(0) + "@a"}) == "1");
    const std::string two_free = call_there(scripts::vacancy, {"permit:3*2:"});
    const long wait = std::stol(two_free);
    BOOST_TEST((wait > left / 2 - 60'000 && wait <= left / 2), wait);
    BOOST_TEST(call_there(scripts::release_permits, {permit(1)}) == "1");
    BOOST_TEST(call_there(scripts::release_permits, {permit(0)}) == "1");
    BOOST_TEST(!there.has(key));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
