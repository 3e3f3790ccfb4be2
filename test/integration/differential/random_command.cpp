// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "random_command.hpp"

#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/scripts.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "resp/writer.hpp"

#include <algorithm>
#include <iterator>

namespace colock::test {
namespace {

using command = random_command::command;
namespace scripts = kinds::scripts;

/// The patterns of the commands. Words are separated by spaces. `|` separates alternatives, of which one may
/// be empty. In an alternative, `:` stands for a space. `$` begins a variable.
constexpr std::string_view patterns[] = {
    "get $key",
    "getrange $key $index $index",
    "mget $key $key $key|",
    "set $key $text px:$ttl|px:$ttl|ex:$int|exat:$int|pxat:$at|keepttl|| nx|xx||| get|||",
    "set $key $text ifeq:$text|ifne:$text px:$ttl|keepttl|| get||| nx|||||",
    "set $key $text $option $option|| $option|||",
    "delifeq $key $text",
    "delex $key ifeq:$text|ifne:$text|foo|",
    "msetex $count $key $text $key:$text|| nx|xx|| px:$ttl|keepttl|exat:$int|||",
    "incr $key",
    "incrby $key $int",
    "del $key $key|| $key||",
    "unlink $key $key||",
    "exists $key $key|| $key||",
    "type $key",
    "pttl $key",
    "ttl $key",
    "pexpiretime $key",
    "persist $key",
    "pexpire $key $ttl nx|xx|gt|lt|foo||||||||||| gt|lt|xx||||||||",
    "pexpireat $key $at nx|xx|gt|lt|||||||||",
    "expire $key $int",
    "rename $key $key",
    "lpush $key $element $element||",
    "rpush $key $element $element||",
    "rpush $key $element $element $element",
    "lpop $key $index|||",
    "llen $key",
    "lindex $key $index",
    "lrange $key $index $index",
    "lrem $key $index $element",
    "lpos $key $element rank:$index|||| count:$index|||| maxlen:$index||||",
    "zadd $key nx|xx|||||| gt|lt|||||| ch||| incr|||||||| $score $member $score:$member||",
    "zadd $key $score $member $score $member $score $member",
    "zrem $key $member $member||",
    "zremrangebyscore $key $bound $bound",
    "zcount $key $bound $bound",
    "zcard $key",
    "zscore $key $member",
    "zrank $key $member withscore||| foo|||||||",
    "zrange $key $index $index withscores|| rev||| limit:$index:$index||||||",
    "zrange $key $bound $bound byscore rev||| limit:$index:$index||| withscores||",
    "zrangebyscore $key $bound $bound limit:$index:$index||| withscores|| foo||||||||||",
    "hset $key $field $text $field:$text||",
    "hget $key $field",
    "hmget $key $field $field",
    "hdel $key $field $field||",
    "hlen $key",
    "hgetall $key",
    "hexists $key $field",
    "hincrby $key $field $int",
    "time",
    "ping $text|",
    "echo $text",
    "dbsize",
    "wait 0 0|-1|x",
    "select 0|x",
    "nosuch $text $text",
};

/// The scripts that wrap any command. `KEYS[1]` is some key.
constexpr std::string_view wrappers[] = {
    "return redis.call(unpack(ARGV))",
    "return redis.pcall(unpack(ARGV))",
    "local r = redis.pcall(unpack(ARGV)) return {type(r), r}",
    "local r = redis.pcall(unpack(ARGV)) return type(r) == 'table' and (r.err or r.ok or #r) or r",
    "redis.call('set', KEYS[1], ARGV[1], 'px', 10000) return redis.call(unpack(ARGV))",
    "local a = redis.pcall(unpack(ARGV)) return {redis.call('exists', KEYS[1]), "
    "redis.call('pttl', KEYS[1]), a}",
    "redis.call(unpack(ARGV)) redis.call(unpack(ARGV))\nreturn redis.call('get', KEYS[1])",
    "local ok, e = pcall(redis.call, unpack(ARGV)) return {tostring(ok), ok and 1 or e}",
    "return {1.5, ARGV[1], {ok = ARGV[1]}, false, {err = 'X ' .. ARGV[1]}, {}, true, nil, 3}",
    "return redis.error_reply(ARGV[#ARGV])",
    "local a = redis.pcall(unpack(ARGV)) local b = redis.pcall('del', KEYS[1]) return {a, b}",
    "return tonumber(ARGV[#ARGV])",
    "return {double = tonumber(ARGV[#ARGV]) or 1}",
    "error(ARGV[#ARGV])",
    "return redis.call('zadd', KEYS[1], tonumber(ARGV[#ARGV]) or 1, ARGV[1])",
    "return redis.sha1hex(ARGV[1]) .. undefined_name",
    "return ARGV[1] < tonumber(ARGV[#ARGV])",
};

const std::vector<std::string>& locks() {
    static const std::vector<std::string> result{"k", "m"};
    return result;
}

std::vector<std::string> split(std::string_view text, char by) {
    std::vector<std::string> result;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(by, at), text.size());
        result.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return result;
}

std::string digits(char digit, std::size_t count = 40) {
    return std::string(count, digit);
}

}  // namespace

const std::vector<std::string>& random_command::keys() {
    static const std::vector<std::string> result = [] {
        std::vector<std::string> all{"x"};
        for (const std::string& lock : locks()) {
            all.insert(all.end(), {lock, lock, kinds::fence_key(lock), kinds::queue_key(lock),
                                   kinds::new_set_key(lock), kinds::ticket_key(lock, 1),
                                   kinds::ticket_key(lock, 2), kinds::waiters_key(lock),
                                   kinds::waiters_ticket_prefix(lock) + "1"});
        }
        return all;
    }();
    return result;
}

std::string random_command::key() {
    while (true) {
        const std::string& result = one_of(keys());
        const bool fits = result == lock_ || result.starts_with("{" + lock_ + "}");
        if (fits || chance(any_slot)) {
            return result;
        }
    }
}

std::string random_command::token() {
    static const std::vector<std::string> all{
        digits('a'),
        digits('b'),
        digits('c') + "@me",
        "reader:" + digits('a'),
        "reader:" + digits('b'),
        "reader:" + digits('c') + "@me",
        "reader:" + digits('d'),
    };
    return one_of(all);
}

std::string random_command::ttl() {
    static const std::vector<std::string> all{"1",    "5",     "100",   "500",     "1000",
                                              "2000", "10000", "60000", "10000000"};
    static const std::vector<std::string> wrong{"0", "-1", "x", "", "1.5", "9223372036854775807"};
    return chance(0.05) ? one_of(wrong) : one_of(all);
}

std::string random_command::word(std::string_view variable) {
    static const std::vector<std::string> numbers{"0",  "1",   "2",   "-1",  "-2", "3",
                                                  "10", "100", "-10", "abc", ""};
    static const std::vector<std::string> scores{"0",
                                                 "1",
                                                 "2",
                                                 "-1",
                                                 "1.5",
                                                 "0.1",
                                                 "1e-7",
                                                 "1e25",
                                                 "inf",
                                                 "-inf",
                                                 "nan",
                                                 "+inf",
                                                 "abc",
                                                 "1e17",
                                                 "3.3",
                                                 "-123456",
                                                 "9007199254740993"};
    static const std::vector<std::string> options{"nx",      "xx",   "get", "px",  "ex",
                                                  "keepttl", "pxat", "10",  "foo", "ifeq"};
    if (variable == "$key") {
        return key();
    }
    if (variable == "$ttl") {
        return ttl();
    }
    if (variable == "$at") {
        const auto distance = static_cast<std::int64_t>(below(20'000)) - 5'000;
        return chance(0.1) ? one_of(numbers) : std::to_string(now_ + distance);
    }
    if (variable == "$int" || variable == "$index") {
        return variable == "$int" && chance(0.1) ? "9223372036854775807" : one_of(numbers);
    }
    if (variable == "$count") {
        return chance(0.1) ? one_of(numbers) : chance(0.5) ? "1" : "2";
    }
    if (variable == "$score") {
        const auto end = now_ + static_cast<std::int64_t>(below(100'000)) - 20'000;
        return chance(0.5) ? std::to_string(chance(0.2) ? -end : end) : one_of(scores);
    }
    if (variable == "$bound") {
        return (chance(0.2) ? "(" : "") + word("$score");
    }
    if (variable == "$option") {
        return one_of(options);
    }
    if (variable == "$element" || variable == "$member") {
        const std::string number = std::to_string(1 + below(3));
        return chance(0.4)   ? "ticket:" + number
               : chance(0.3) ? "writer:" + number
               : chance(0.7) ? token()
                             : one_of(numbers);
    }
    if (variable == "$field") {
        return std::string(1, static_cast<char>('a' + below(4)));
    }
    // $text
    return chance(0.5)   ? token()
           : chance(0.3) ? std::string()
           : chance(0.3)
               ? std::to_string((std::int64_t(1) << 51) + static_cast<std::int64_t>(below(9)))
               : one_of(numbers);
}

command random_command::plain() {
    const std::string_view pattern = patterns[below(std::size(patterns))];
    command result;
    for (const std::string& place : split(pattern, ' ')) {
        const std::string chosen = one_of(split(place, '|'));
        if (chosen.empty()) {
            continue;
        }
        for (const std::string& part : split(chosen, ':')) {
            result.push_back(part.starts_with('$') ? word(part) : part);
        }
    }
    return result;
}

command random_command::around_plain() {
    command result{"EVAL", std::string(wrappers[below(std::size(wrappers))]), "1", key()};
    const command inner = plain();
    result.insert(result.end(), inner.begin(), inner.end());
    return result;
}

namespace {

/// Returns the words of a command that is encoded in RESP.
command words_in(std::string_view text) {
    command result;
    const auto next_number = [&text] {
        const std::size_t end = text.find("\r\n");
        const auto number =
            static_cast<std::size_t>(std::stoul(std::string(text.substr(1, end - 1))));
        text.remove_prefix(end + 2);
        return number;
    };
    for (std::size_t left = next_number(); left != 0; --left) {
        const std::size_t size = next_number();
        result.emplace_back(text.substr(0, size));
        text.remove_prefix(size + 2);
    }
    return result;
}

}  // namespace

command random_command::call(const kinds::script& script, const command& keys,
                             const command& arguments) {
    command result = exact_call(script, keys, arguments);
    for (std::size_t i = 3; i != result.size(); ++i) {
        if (chance(0.02)) {
            result[i] = i < 3 + keys.size() ? key() : word(chance(0.5) ? "$text" : "$score");
        }
    }
    return result;
}

command random_command::exact_call(const kinds::script& script, const command& keys,
                                   const command& arguments) {
    const bool in_full = chance(0.2);
    command result{in_full ? "EVAL" : "EVALSHA", std::string(in_full ? script.text : script.digest),
                   std::to_string(keys.size())};
    result.insert(result.end(), keys.begin(), keys.end());
    result.insert(result.end(), arguments.begin(), arguments.end());
    return result;
}

/// Returns a step of a semaphore, as its kind encodes it. The limit is mostly the same, because the server
/// refuses a different one.
command random_command::step_of_semaphore() {
    const std::uint32_t limit = chance(0.9) ? 4 : 2;
    const std::uint32_t count = chance(0.7) ? 1 : 2;
    const std::string token = "permit:" + std::to_string(limit) + "*" + std::to_string(count) +
                              ":0000000" + std::to_string(below(4)) +
                              std::string(32, "abc"[below(3)]);
    const std::uint64_t first = 1 + below(3);
    const std::string values =
        std::to_string(first) + " " + std::to_string(first + 1 + below(2)) + " ";
    kinds::command asked;
    asked.kind = &kinds::semaphore(limit, count);
    asked.key = lock_;
    asked.token = token;
    asked.ttl = core::milliseconds(std::max(1LL, std::atoll(ttl().c_str())));
    asked.contended = chance(0.8);
    switch (below(8)) {
        case 0:
        case 1:
        case 2:
            asked.step = core::step::acquire;
            break;
        case 3:
            asked.step = core::step::acquire;
            asked.heals = true;
            break;
        case 4:
        case 5:
            asked.step = core::step::extend;
            break;
        case 6:
            asked.step = core::step::release;
            break;
        default:
            asked.step = core::step::remaining;
            break;
    }
    if (asked.heals || asked.step == core::step::extend || chance(0.4)) {
        asked.value = first;
        asked.values = &values;
    }
    const auto form = chance(0.2) ? kinds::script_form::in_full : kinds::script_form::shortest;
    std::string buffer;
    resp::command_writer writer(buffer);
    asked.kind->encode(asked, {}, form, writer);
    return words_in(writer.text());
}

/// Returns a step of a lock with several names. Some of the names may be equal.
command random_command::step_of_several_names() {
    const command names{lock_, key(), key()};
    switch (below(4)) {
        case 0:
            return call(scripts::take_all, names, {token(), ttl(), chance(0.6) ? "take" : "heal"});
        case 1:
            return call(scripts::extend_all, names, {token(), ttl()});
        case 2:  // An arbitrary count would take too long.
            return exact_call(
                scripts::release_all, names,
                chance(0.5) ? command{token(), "3"} : command{token(), "1", token(), "2"});
        default:
            return call(scripts::obstacle_all, names, {token()});
    }
}

/// Returns a step of a lock with a binding order. Three clients have two places each.
command random_command::step_of_order() {
    const std::string client = std::to_string(1 + below(3));
    const auto place = [&] { return client + "." + std::to_string(1 + below(2)); };
    const std::string queue = kinds::waiters_key(lock_);
    const std::string ticket = kinds::waiters_ticket_prefix(lock_) + client;
    const std::string counter = kinds::fence_key(lock_);
    const std::string life = (chance(0.2) ? "-" : "") + ttl();
    switch (below(7)) {
        case 0:
        case 1:
            return call(scripts::take_turn, {lock_, queue, ticket},
                        {token(), ttl(), place(), life});
        case 2:
            return call(scripts::count_turn, {lock_, queue, ticket, counter},
                        {token(), ttl(), place(), life, "0", ttl()});
        case 3:
        case 4:
            return call(scripts::enter, {queue, ticket}, {place(), ttl()});
        case 5:
            return call(scripts::stay, {queue, ticket}, {place(), place(), life});
        default:
            return call(scripts::give_up, {queue, ticket}, {place(), ttl()});
    }
}

/// Returns a step of a versioned value, or of a name that is run once. A version follows the clock, so the
/// first values are written here.
command random_command::step_of_record() {
    const std::string record = chance(0.3)   ? "done::"
                               : chance(0.5) ? "done:1:fresult"
                                             : "done:3:foo" + token();
    const std::string id(32, "abc"[below(3)]);
    switch (below(8)) {
        case 0:
            return {"HSET", lock_,
                    "v",    "5",
                    "d",    token(),
                    "e",    chance(0.3) ? "1" : "0",
                    "w",    " " + id + ":4:5",
                    "n",    "1"};
        case 1:
            return call(scripts::read, {lock_}, {chance(0.9) ? "1000" : "3"});
        case 2:
        case 3: {
            command words{id,
                          chance(0.5)   ? "0"
                          : chance(0.5) ? "5"
                                        : "4",
                          chance(0.5) ? "0" : ttl(), "1000"};
            if (chance(0.8)) {
                words.push_back(token());
            }
            return call(scripts::write, {lock_}, words);
        }
        case 4:
        case 5:
            return call(scripts::take, {lock_}, {token(), ttl()});
        case 6:
            return call(
                scripts::complete, {lock_},
                {chance(0.2) ? std::string() : token(), record, ttl(), chance(0.5) ? "1" : "0"});
        default:
            return call(scripts::inspect, {lock_}, {chance(0.2) ? std::string() : token()});
    }
}

/// Returns a command or a script call of the kinds that a colock client sends.
command random_command::production() {
    const double kind = std::uniform_real_distribution<double>(0, 1)(random_);
    return kind < 0.25   ? step_of_semaphore()
           : kind < 0.35 ? step_of_several_names()
           : kind < 0.5  ? step_of_order()
           : kind < 0.6  ? step_of_record()
                         : step_of_mutex();
}

/// Returns a step of a mutex, of a shared mutex, or of its remote queue.
command random_command::step_of_mutex() {
    const std::string key = lock_;
    const std::string counter = kinds::fence_key(key);
    const std::string beside = kinds::new_set_key(key);
    const std::uint64_t number = 1 + below(3);
    const std::string name = std::to_string(number);
    const std::string queue = kinds::queue_key(key);
    const std::string ticket = kinds::ticket_key(key, number);
    const std::string least =
        chance(0.6)
            ? "0"
            : std::to_string((std::int64_t(1) << 51) + static_cast<std::int64_t>(below(99)));
    switch (below(20)) {
        case 0:
        case 1:
            return {"SET", key, token(), "NX", "PX", ttl()};
        case 2:
        case 3:
        case 4:
            return call(scripts::share, {key}, {token(), ttl(), beside});
        case 5:
            return call(scripts::share, {key, counter}, {token(), ttl(), beside, least, ttl()});
        case 6:
            return call(scripts::claim, {key}, {chance(0.2) ? "0" : ttl(), name, beside});
        case 7:
            return call(scripts::unmark, {key}, {name});
        case 8:
        case 9:
        case 10:
            return call(scripts::extend, {key}, {token(), ttl()});
        case 11:
            return call(scripts::release, {key}, {token()});
        case 12:
            return any_slot < 1 ? call(scripts::release_many, {key}, {token()})
                                : call(scripts::release_many, {key, one_of(locks()), key},
                                       {token(), token(), token()});
        case 13:
            return call(scripts::obstacle, {key}, {});
        case 14:
            return call(scripts::fence, {key, counter},
                        {token(), chance(0.4) ? "0" : ttl(), least, ttl()});
        case 15:
            return call(scripts::count, {counter}, {least, ttl(), chance(0.5) ? "count" : "read"});
        case 16:
            return call(scripts::join, {queue, ticket}, {name, ttl(), kinds::ticket_prefix(key)});
        case 17:
            return call(scripts::leave, {queue, ticket}, {name});
        default:
            return chance(0.1)
                       ? call(scripts::report, {key}, {"100"})
                       : call(scripts::report, {key, counter, queue, kinds::waiters_key(key)},
                              {chance(0.8) ? "100" : "1", kinds::ticket_prefix(key),
                               kinds::waiters_ticket_prefix(key)});
    }
}

/// Leaves out a word, or adds one.
void random_command::spoil(command& words) {
    if (chance(0.01) && words.size() > 1) {
        words.pop_back();
    } else if (chance(0.01)) {
        words.emplace_back("more");
    }
}

command random_command::next(std::int64_t now_in_milliseconds) {
    now_ = now_in_milliseconds;
    lock_ = one_of(locks());
    const double kind = std::uniform_real_distribution<double>(0, 1)(random_);
    command result;
    if (kind < 0.45) {
        result = production();
    } else if (kind < 0.80) {
        result = plain();
    } else if (kind < 0.99) {
        result = around_plain();
    } else if (kind < 0.992) {
        result = {"SCRIPT", "FLUSH"};
    } else if (kind < 0.994) {
        result = {"FLUSHALL"};
    } else {
        const kinds::script& some = scripts::all[below(scripts::all.size())];
        result = chance(0.5) ? command{"SCRIPT", "LOAD", std::string(some.text)}
                             : command{"SCRIPT", "EXISTS", std::string(some.digest)};
    }
    spoil(result);
    return result;
}

}  // namespace colock::test
