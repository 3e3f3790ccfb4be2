// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "kinds/kind.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/table.hpp"

#include <colock/detail/lock_handle.hpp>
#include <colock/with_lock.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// A lock kind is added by a single class. The state machines, the instances and the runtime need no change.
// Here are three kinds.

namespace {

BOOST_AUTO_TEST_SUITE(own_kind_test)

using namespace colock;
using namespace colock::test;
using core::key_state;
using core::step;
using core::vote;
using resp::number;
namespace data = boost::unit_test::data;

/// Returns the word that selects the operation in a script.
std::string_view word_for(const kinds::command& command) {
    switch (command.step) {
        case step::acquire:
            return command.heals ? "heal" : "acquire";
        case step::extend:
            return "extend";
        case step::release:
            return "release";
        default:
            return "remaining";
    }
}

vote remaining_until(core::time_point end, core::time_point now) {
    return end > now ? vote::denied(key_state::foreign,
                                    std::chrono::duration_cast<core::milliseconds>(end - now))
                     : vote::denied(key_state::absent, core::milliseconds(0));
}

// --- One holder, in a hash, as some libraries keep it -------------------------------------------------

// Parameters of the script:
// - KEYS[1]: The hash.
// - ARGV[1]: The token.
// - ARGV[2]: The ttl, or 0.
// - ARGV[3]: The operation.
constexpr kinds::script hash_script{R"lua(
local owner = redis.call('hget', KEYS[1], 'owner')
if ARGV[3] == 'acquire' or ARGV[3] == 'heal' then
    if owner then return -1 end
    redis.call('hset', KEYS[1], 'owner', ARGV[1])
elseif owner ~= ARGV[1] then
    return owner and -1 or 0
end
if ARGV[3] == 'release' then redis.call('del', KEYS[1]) else redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1
)lua",
                                    "no digest: it is sent in full"};

class hash_kind final : public kinds::lock_kind {
public:
    constexpr hash_kind() : lock_kind({.name = "hash"}) {}

    void encode(const kinds::command& command, const kinds::capabilities& /*server*/,
                kinds::script_form /*form*/, resp::command_writer& to) const override {
        if (command.step == step::remaining) {
            to.write(resp::words<"PTTL">, command.key);
        } else {
            kinds::write_script(hash_script, kinds::script_form::in_full, to, {command.key},
                                command.token, number(command.ttl.count()).text(),
                                word_for(command));
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return command.step == step::remaining ? kinds::decode_remaining(reply)
                                               : kinds::decode_compare(reply);
    }

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        auto* const found = keys.find(command.key, at.now);
        const auto* const lock = found != nullptr ? found->as<hash>() : nullptr;
        const bool ours = lock != nullptr && lock->owner == command.token;
        if (command.step == step::remaining) {
            return remaining_until(found != nullptr ? found->expires : at.now, at.now);
        }
        if (command.step == step::acquire && found == nullptr) {
            keys.put(command.key, hash{std::string(command.token)}, at.now + command.ttl);
        } else if (command.step == step::extend && ours) {
            found->expires = std::max(found->expires, at.now + command.ttl);
            keys.changed(command.key);
        } else if (command.step == step::release && ours) {
            keys.erase(command.key);
        } else {
            return vote::denied(found != nullptr ? key_state::foreign : key_state::absent);
        }
        return vote::granted();
    }

private:
    /// The value of a key on a memory instance.
    struct hash {
        std::string owner;
    };
};

// --- Several holders, each with a number ----------------------------------------------------------------

// Parameters of the script:
// - KEYS[1]: A hash that maps a permit's number to its token and its end. The end is in milliseconds of the
//   server's clock.
// - ARGV[1]: The operation.
// - ARGV[2]: The number of permits.
// - ARGV[3]: The token.
// - ARGV[4]: The ttl, or 0.
// - ARGV[5]: For `acquire`, the least number to assign. For `heal`, the only number to assign. For `extend`,
//   the number that the token must have.
//
// Results by operation:
// - `acquire`, `heal`: The number, or -1.
// - `extend`, `release`: 1 or 0.
// - `remaining`: The time until a permit is free, as PTTL returns it.
constexpr kinds::script counted_script{R"lua(
local key, what, limit, token, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local least = math.max(tonumber(ARGV[5]), 1)
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local ends, own, first_end, taken = {}, nil, math.huge, 0
for number = 1, limit do
    local holder, last = string.match(redis.call('hget', key, number) or '', '^(%S+) (%d+)$')
    last = tonumber(last)
    if last and last > now then
        taken = taken + 1
        first_end = math.min(first_end, last)
        ends[number] = last
        if holder == token then own = number end
    end
end

if what == 'remaining' then
    return taken < limit and -2 or first_end - now
elseif what == 'release' then
    if own then redis.call('hdel', key, own) end
    return own and 1 or 0
end

local function is_free(number)
    return number <= limit and (number == own or not ends[number])
end
local number = least
if what == 'extend' then
    if own ~= least then return 0 end
elseif what == 'heal' then
    if not is_free(least) then number = nil end
elseif own and own >= least then
    number = own
else
    while number <= limit and not is_free(number) do number = number + 1 end
    if number > limit then number = nil end
end

local last = math.max(now + ttl, own and ends[own] or 0)
if own and own ~= number then redis.call('hdel', key, own) end
if not number then return -1 end
redis.call('hset', key, number, token .. ' ' .. string.format('%.0f', last))
redis.call('pexpire', key, math.max(redis.call('pttl', key), last - now))
return what == 'extend' and 1 or number
)lua",
                                       "no digest: it is sent in full"};

class counted_kind final : public kinds::lock_kind {
public:
    explicit counted_kind(std::uint64_t permits)
        : lock_kind({.name = "counted",
                     .admission = kinds::admission::counted(),
                     .agreement = core::agreement::same}),
          permits_(permits) {}

    void encode(const kinds::command& command, const kinds::capabilities& /*server*/,
                kinds::script_form /*form*/, resp::command_writer& to) const override {
        note_number(command);
        kinds::write_script(counted_script, kinds::script_form::in_full, to, {command.key},
                            word_for(command), text_of(permits_).text(), command.token,
                            number(command.ttl.count()).text(), text_of(command.value).text());
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        if (command.step == step::remaining) {
            return kinds::decode_remaining(reply);
        }
        const auto permit = kinds::number_in(reply);
        return command.step == step::acquire && permit ? vote::granted(*permit)
                                                       : kinds::decode_compare(reply);
    }

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        note_number(command);
        auto* const found = keys.find(command.key, at.now);
        if (found != nullptr && found->as<holders>() == nullptr) {
            return vote::denied(key_state::foreign);
        }
        holders held = found != nullptr ? *found->as<holders>() : holders();
        std::erase_if(held, [&](const auto& one) { return one.second.expires <= at.now; });
        const std::uint64_t own = permit_of(command.token, held);
        const std::uint64_t least = std::max<std::uint64_t>(command.value, 1);
        const auto is_free = [&](std::uint64_t permit) {
            return permit <= permits_ && (permit == own || !held.contains(permit));
        };
        switch (command.step) {
            case step::remaining:
                return remaining_until(next_free_at(held, at.now), at.now);
            case step::release:
                return own == 0 ? vote::denied(key_state::absent)
                                : put(command, own, 0, held, keys, at.now);
            case step::extend:
                return own != least ? vote::denied(key_state::absent)
                                    : put(command, own, own, held, keys, at.now);
            default:
                break;
        }
        std::uint64_t permit = command.heals || own < least ? least : own;
        while (!command.heals && permit <= permits_ && !is_free(permit)) {
            ++permit;
        }
        return put(command, own, is_free(permit) ? permit : 0, held, keys, at.now);
    }

    /// Returns the number of a lease as of its latest renewal. Returns 0 before the first one.
    [[nodiscard]] std::uint64_t number_of(const lease& held) const {
        const auto found = numbers_.find(held.token());
        return found != numbers_.end() ? found->second : 0;
    }

private:
    struct holder {
        std::string token;
        core::time_point expires;
    };
    using holders = std::map<std::uint64_t, holder>;  // The value on a memory instance, by number.

    static number text_of(std::uint64_t value) { return number(static_cast<long long>(value)); }

    /// Returns the number of the token, or 0 if it has none.
    static std::uint64_t permit_of(std::string_view token, const holders& held) {
        const auto found = std::ranges::find_if(
            held, [token](const auto& one) { return one.second.token == token; });
        return found != held.end() ? found->first : 0;
    }

    [[nodiscard]] core::time_point next_free_at(const holders& held, core::time_point now) const {
        core::time_point first = held.size() < permits_ ? now : core::never;
        for (const auto& [permit, by] : held) {
            first = std::min(first, by.expires);
        }
        return first;
    }

    /// Replaces the token's number with another one. 0 stands for none.
    static vote put(const kinds::command& command, std::uint64_t old, std::uint64_t permit,
                    holders& held, kinds::table& keys, core::time_point now) {
        core::time_point end = now + command.ttl;
        if (old != 0) {
            end = std::max(end, held[old].expires);
            held.erase(old);
        }
        if (permit != 0) {
            held[permit] = {std::string(command.token), end};
        }
        if (held.empty()) {
            keys.erase(command.key);
        } else if (permit != 0 || old != 0) {
            const auto last = std::ranges::max_element(
                held, {}, [](const auto& one) { return one.second.expires; });
            keys.put(command.key, held, last->second.expires);
        }
        return command.step != step::acquire ? vote::granted()
               : permit != 0                 ? vote::granted(permit)
                                             : vote::denied(key_state::foreign);
    }

    // The tests have one thread.
    void note_number(const kinds::command& command) const {
        if (command.step == step::extend) {
            numbers_[std::string(command.token)] = command.value;
        }
    }

    std::uint64_t permits_;
    mutable std::map<std::string, std::uint64_t, std::less<>> numbers_;  // By token.
};

// --- One holder, of several names -----------------------------------------------------------------------

// Parameters of the script:
// - KEYS: The names. Their values are strings, as a mutex writes them.
// - ARGV[1]: The operation.
// - ARGV[2]: The token.
// - ARGV[3]: The ttl, or 0.
//
// The script applies the operation to all names or to none. A release, however, deletes every name that holds
// the token.
constexpr kinds::script names_script{R"lua(
local what, token, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local own, others, longest = {}, 0, -2
for _, key in ipairs(KEYS) do
    local value = redis.call('get', key)
    if value == token then
        table.insert(own, key)
    elseif value then
        others = others + 1
    end
    longest = math.max(longest, redis.call('pttl', key))
end

if what == 'remaining' then
    return longest
elseif what == 'release' then
    for _, key in ipairs(own) do redis.call('del', key) end
elseif others == 0 and (what ~= 'extend' or #own == #KEYS) then
    for _, key in ipairs(KEYS) do redis.call('set', key, token, 'px', math.max(ttl, longest)) end
    return 1
end
return #own == #KEYS and 1 or others > 0 and -1 or 0
)lua",
                                     "no digest: it is sent in full"};

class names_kind final : public kinds::lock_kind {
public:
    constexpr names_kind() : lock_kind({.name = "names"}) {}

    void encode(const kinds::command& command, const kinds::capabilities& /*server*/,
                kinds::script_form /*form*/, resp::command_writer& to) const override {
        kinds::write_script(names_script, kinds::script_form::in_full, to, keys_of(command),
                            word_for(command), command.token, number(command.ttl.count()).text());
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return command.step == step::remaining ? kinds::decode_remaining(reply)
                                               : kinds::decode_compare(reply);
    }

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        const std::vector<std::string_view> all = keys_of(command);
        std::vector<std::string_view> own;
        std::size_t others = 0;
        core::time_point end = at.now;
        for (const std::string_view key : all) {
            if (auto* const found = keys.find(key, at.now)) {
                end = std::max(end, found->expires);
                const auto* const token = found->as<std::string>();
                if (token != nullptr && *token == command.token) {
                    own.push_back(key);
                } else {
                    ++others;
                }
            }
        }
        const bool has_all = own.size() == all.size();
        if (command.step == step::remaining) {
            return remaining_until(end, at.now);
        }
        if (command.step == step::release) {
            for (const std::string_view key : own) {
                keys.erase(key);
            }
        } else if (others == 0 && (command.step == step::acquire || has_all)) {
            for (const std::string_view key : all) {
                keys.put(key, command.token, std::max(end, at.now + command.ttl));
            }
            return vote::granted();
        }
        return has_all ? vote::granted()
                       : vote::denied(others != 0 ? key_state::foreign : key_state::absent);
    }

private:
    static std::vector<std::string_view> keys_of(const kinds::command& command) {
        std::vector<std::string_view> result{command.key};
        result.insert(result.end(), command.more_keys.begin(), command.more_keys.end());
        return result;
    }
};

// --- Tests for every kind -------------------------------------------------------------------------------

constexpr hash_kind the_hash_kind;
const counted_kind two_permits(2);
const counted_kind three_permits(3);
constexpr names_kind the_names_kind;

struct kind_case {
    const kinds::lock_kind* kind;
    std::vector<std::string_view> names;
    std::size_t holders = 1;  // At the same time.

    [[nodiscard]] detail::lock_handle lock(client& locks, const lock_options& options = {}) const {
        return {detail::lock_handle::owner_of(locks), names, options, *kind};
    }
    [[nodiscard]] bool is_counted() const { return kind->traits().admission.counts_holders(); }

    friend std::ostream& operator<<(std::ostream& to, const kind_case& one) {
        return to << one.kind->traits().name;
    }
};

const kind_case hash{&the_hash_kind, {"hash"}};
const kind_case counted{&two_permits, {"permits"}, 2};
const kind_case names{&the_names_kind, {"left", "right"}};
// The library's own semaphore, in which each of two holders has one permit, or two.
const kind_case semaphore_of_2{&kinds::semaphore(2, 1), {"semaphore"}, 2};
const kind_case semaphore_of_5{&kinds::semaphore(5, 2), {"semaphore"}, 2};
// The library's own lock with several names.
const kind_case multi{&kinds::multi, {"left", "right"}};
const std::array every_kind{hash, counted, names, semaphore_of_2, semaphore_of_5, multi};

enum class place : std::uint8_t { memory, one_server, three_servers };
constexpr std::array every_place{place::memory, place::one_server, place::three_servers};
constexpr std::array places_with_servers{place::one_server, place::three_servers};

std::ostream& operator<<(std::ostream& to, place where) {
    constexpr std::array words{"memory", "one server", "three servers"};
    return to << words.at(static_cast<std::size_t>(where));
}

/// Returns options for waiters of several clients. A memory instance notifies no other client, so its waiters
/// poll.
lock_options patient_at(place where) {
    return where == place::memory ? lock_options() : patient();
}

/// Three clients of the same instances.
struct scene {
    servers& instances;
    place where;
    client a;
    client b;
    client c;

    scene(servers& all, place at, const asio::any_io_executor& executor)
        : instances(all),
          where(at),
          a(executor, config_for(all, at)),
          b(executor, config_for(all, at)),
          c(executor, config_for(all, at)) {}

    static config config_for(const servers& all, place at) {
        config result = all.config();
        result.instance_timeout = 10s;  // A busy machine may not answer within the default timeout.
        if (at == place::memory) {
            result.instances = {"memory://own_kind"};
        } else if (at == place::one_server) {
            result.instances.resize(1);
        }
        return result;
    }
};

struct fixture : shared_servers<3> {
    /// Runs a test. No key may be left at its end.
    template <typename... Parameters, typename... Arguments>
    void run(place where, asio::awaitable<void> (*test)(scene&, Parameters...),
             const Arguments&... arguments) const {
        run_test(run_in_scene<Parameters...>(where, test, arguments...));
        BOOST_TEST(instances.keys() == 0U);
    }

private:
    template <typename... Parameters>
    asio::awaitable<void> run_in_scene(place where,
                                       asio::awaitable<void> (*test)(scene&, Parameters...),
                                       Parameters... parameters) const {
        scene s(instances, where, co_await asio::this_coro::executor);
        for (client* const each : {&s.a, &s.b, &s.c}) {
            co_await all_ready(*each);
        }
        co_await test(s, parameters...);
        for (client* const each : {&s.a, &s.b, &s.c}) {
            co_await each->close();
        }
    }
};

asio::awaitable<bool> is_denied(const detail::lock_handle& lock) {
    const auto refused =
        co_await lock.try_acquire_until(detail::lock_handle::deadline_after(0ms), asio::deferred);
    co_return !refused.owns_lock();
}

/// Acquires as many leases as can exist at the same time.
asio::awaitable<std::vector<lease>> take_all(const kind_case& kind, client& locks,
                                             const lock_options& options = {}) {
    std::vector<lease> result;
    while (result.size() != kind.holders) {
        result.push_back(co_await kind.lock(locks, options).acquire());
    }
    co_return result;
}

asio::awaitable<void> release_all(std::vector<lease>& held) {
    for (lease& one : held) {
        BOOST_TEST((co_await one.release() == release_result::released));
    }
}

bool all_valid(const std::vector<lease>& held) {
    return std::ranges::all_of(held, [](const lease& one) { return one.valid(); });
}

/// Waits until `denials` attempts were denied and no command is pending.
asio::awaitable<void> is_waiting(const client& locks, std::uint64_t denials = 1) {
    co_await async_wait_until(
        [&, denials] { return locks.counters().contended >= denials && idle(locks); });
}

asio::awaitable<void> is_granted(const pending_acquire& waiting) {
    co_await async_wait_until([&] { return waiting.granted.valid(); });
}

asio::awaitable<void> is_cancelled(pending_acquire& waiting) {
    waiting.signal.emit(asio::cancellation_type::terminal);
    co_await async_wait_until([&] { return waiting.result.has_value(); });
}

/// Waits until the remote queue has this length.
asio::awaitable<void> is_queue_length(const scene& s, const kind_case& kind, std::size_t length) {
    const std::string queue = kinds::queue_key(kind.names.front());
    co_await async_wait_until([&] {
        std::size_t found = 0;
        for (const redis_server& server : s.instances) {
            found += std::stoul(server.command({"LLEN", queue}).value());
        }
        return found == length;
    });
}

/// Kills a server for a while.
class outage : public stopwatch {
public:
    explicit outage(redis_server& server) : server_(server) { server_.kill(); }
    outage(const outage&) = delete;
    outage& operator=(const outage&) = delete;
    ~outage() { end(); }

    void end() {
        if (server_.pid() == 0) {
            server_.restart();
        }
    }

private:
    redis_server& server_;
};

/// Returns how many servers assign this permit to this lease.
std::size_t having(servers& instances, std::uint64_t permit, const lease& held) {
    return static_cast<std::size_t>(std::ranges::count_if(instances, [&](const auto& server) {
        const auto entry = server.command({"HGET", "permits", std::to_string(permit)});
        return entry && entry->starts_with(held.token());
    }));
}

/// Assigns the permit to the token, as a client would.
void give_permit_by_hand(const redis_server& server, std::uint64_t permit, std::string_view token) {
    constexpr std::string_view endless = " 9999999999999";
    server.command({"HSET", "permits", std::to_string(permit), std::string(token).append(endless)});
}

// --- Each kind ------------------------------------------------------------------------------------------

asio::awaitable<void> lock_and_exclude(scene& s, const kind_case& kind) {
    std::vector<lease> held;
    while (held.size() != kind.holders) {
        client& next = held.size() % 2 == 0 ? s.a : s.b;
        held.push_back(co_await kind.lock(next).acquire());
    }
    BOOST_TEST(all_valid(held));
    BOOST_TEST(co_await is_denied(kind.lock(s.a)));
    BOOST_TEST(co_await is_denied(kind.lock(s.b)));
    BOOST_TEST((co_await held.back().release() == release_result::released));
    held.back() = co_await kind.lock(s.b).acquire();
    BOOST_TEST(co_await is_denied(kind.lock(s.a)));
    co_await release_all(held);
    BOOST_TEST(!(co_await is_denied(kind.lock(s.a))));
}

/// Each holder stays until the maximum number of holders has been inside. An additional holder would
/// therefore be noticed.
asio::awaitable<void> have_as_many_holders_as_possible(scene& s, const kind_case& kind) {
    std::size_t inside = 0;
    std::size_t most = 0;
    const auto work = [&](client& locks) -> asio::awaitable<void> {
        for (int round = 0; round != 3; ++round) {
            lease held = co_await kind.lock(locks).acquire();
            most = std::max(most, ++inside);
            co_await async_wait_until([&] { return most >= kind.holders; });
            --inside;
            co_await held.release();
        }
    };
    std::vector<std::shared_ptr<background>> working;
    for (client* const locks : {&s.a, &s.b, &s.c}) {
        for (int task = 0; task != 3; ++task) {
            working.push_back(co_await start(work(*locks)));
        }
    }
    co_await async_wait_until([&] { return std::ranges::all_of(working, &background::done); }, 20s);
    for (const auto& one : working) {
        BOOST_TEST(!one->thrown);
    }
    BOOST_TEST(most == kind.holders);
}

asio::awaitable<void> keep_beyond_ttl(scene& s, const kind_case& kind) {
    constexpr milliseconds ttl = 2s;
    std::vector<lease> held = co_await take_all(kind, s.a, renewed_every(50ms, ttl));
    const stopwatch taken;
    co_await async_wait_until([&] { return taken.elapsed() > ttl; });
    co_await renewed_more(s.a, 2 * kind.holders);
    BOOST_TEST(all_valid(held));
    BOOST_TEST(co_await is_denied(kind.lock(s.b)));
    co_await release_all(held);
    BOOST_TEST(!(co_await is_denied(kind.lock(s.b))));
}

/// The lease is released at the end of the body.
asio::awaitable<void> hold_during_a_body(scene& s, const kind_case& kind) {
    const detail::lock_handle lock = kind.lock(s.a);
    const auto body = [](lease& mine) -> asio::awaitable<bool> { co_return mine.valid(); };
    BOOST_TEST(co_await with_lock(lock, body));
    BOOST_TEST(s.a.counters().held == 0U);
    BOOST_TEST(s.a.counters().released == 1U);
}

/// The next waiter gets a hand-off, or its own client wakes it. A server does not notify a client of its own
/// release.
asio::awaitable<void> acquire_after_each_other(scene& s, const kind_case& kind) {
    lock_options options = patient();
    options.handoff_time = 1h;
    std::vector<lease> held = co_await take_all(kind, s.a, options);
    const std::uint64_t denials = s.a.counters().contended;
    std::array<pending_acquire, 3> waiting;
    for (pending_acquire& one : waiting) {
        one.start(kind.lock(s.a, options));
    }
    if (kind.is_counted()) {  // The first of them attempts.
        co_await is_waiting(s.a, denials + 1);
        BOOST_TEST(s.a.counters().queued == 2U);
    } else {
        BOOST_TEST(s.a.counters().queued == 3U);
    }
    const stopwatch waited;
    co_await held.back().release();
    held.pop_back();
    for (std::size_t i = 0; i != waiting.size(); ++i) {
        co_await is_granted(waiting[i]);
        for (std::size_t later = i + 1; later != waiting.size(); ++later) {
            BOOST_TEST(!waiting[later].granted.valid());
        }
        co_await waiting[i].granted.release();
    }
    BOOST_TEST((waited.elapsed() < soon));
    co_await release_all(held);
}

asio::awaitable<void> acquire_in_order_of_arrival(scene& s, const kind_case& kind) {
    co_await acquire_after_each_other(s, kind);
    if (kind.is_counted()) {
        // A waiter in the middle of its attempt gets no hand-off. On a busy machine, this may apply to each
        // of the three.
        for (int i = 0; i != 20 && s.a.counters().handed_off == 0; ++i) {
            co_await acquire_after_each_other(s, kind);
        }
        BOOST_TEST(s.a.counters().handed_off >= 1U);
    } else {
        BOOST_TEST(s.a.counters().handed_off == 3U);
    }
}

/// Servers notify the head of the remote queue. If the kind has no remote queue, they notify each waiter.
asio::awaitable<void> wake_another_client(scene& s, const kind_case& kind) {
    const bool has_queue = s.where != place::memory && kind.kind->traits().joins_remote_queue;
    std::vector<lease> held = co_await take_all(kind, s.a, patient());
    pending_acquire of_b;
    of_b.start(kind.lock(s.b, patient_at(s.where)));
    co_await is_waiting(s.b);
    co_await is_queue_length(s, kind, has_queue ? 1 : 0);
    pending_acquire of_c;
    of_c.start(kind.lock(s.c, patient_at(s.where)));
    co_await is_waiting(s.c);
    co_await is_queue_length(s, kind, has_queue ? 2 : 0);
    const stopwatch waited;
    co_await held.back().release();
    co_await async_wait_until([&] { return of_b.granted.valid() || of_c.granted.valid(); });
    const bool is_in_order = of_b.granted.valid() && !of_c.granted.valid();
    BOOST_TEST((is_in_order || !has_queue));
    co_await (of_b.granted.valid() ? of_b : of_c).granted.release();
    co_await async_wait_until([&] { return of_b.result && of_c.result; });
    BOOST_TEST((waited.elapsed() < soon));
}

/// Cancels three waiters: one in the local queue, one behind another client, and one in its first attempt.
asio::awaitable<void> cancel_waiters(scene& s, const kind_case& kind) {
    std::vector<lease> held = co_await take_all(kind, s.a);
    std::array<pending_acquire, 3> waiting;
    for (pending_acquire& one : waiting) {
        one.start(kind.lock(s.b, patient_at(s.where)));
    }
    co_await is_waiting(s.b);
    co_await is_cancelled(waiting[1]);
    BOOST_TEST((*waiting[1].result == aborted));
    co_await is_cancelled(waiting[0]);
    BOOST_TEST((*waiting[0].result == aborted));
    const stopwatch waited;
    co_await release_all(held);
    co_await is_granted(waiting[2]);
    BOOST_TEST((waited.elapsed() < soon));
    co_await waiting[2].granted.release();
    co_await settled(s.a);

    pending_acquire attempting;
    attempting.start(kind.lock(s.b));
    co_await asio::post(asio::use_awaitable);
    co_await is_cancelled(attempting);
    attempting.granted = lease();  // It may have been granted before the cancellation.
    co_await settled(s.b);
    held = co_await take_all(kind, s.c);
    BOOST_TEST(s.c.counters().contended == 0U);
}

/// Waits until the keys of these leases are restored on a server that lost them. A counted lease must keep
/// its number.
asio::awaitable<void> is_healed(const scene& s, const kind_case& kind,
                                const std::vector<lease>& held, std::uint64_t healed_before) {
    co_await async_wait_until(
        [&] { return s.a.counters().healed >= healed_before + held.size() && idle(s.a); });
    BOOST_TEST(all_valid(held));
    for (const std::string_view name : kind.names) {
        BOOST_TEST(s.instances.holding(name) == 3U);
    }
    if (kind.kind == &two_permits) {
        BOOST_TEST(two_permits.number_of(held[0]) != two_permits.number_of(held[1]));
        for (const lease& one : held) {
            BOOST_TEST(having(s.instances, two_permits.number_of(one), one) == 3U);
        }
    }
}

asio::awaitable<void> survive_loss_of_keys(scene& s, const kind_case& kind) {
    const std::vector<lease> held = co_await take_all(kind, s.a, renewed_every(50ms, 5s));
    co_await renewed_more(s.a, 2 * kind.holders);
    const std::uint64_t healed = s.a.counters().healed;
    s.instances[1].flush();
    co_await is_healed(s, kind, held, healed);
    BOOST_TEST(co_await is_denied(kind.lock(s.b)));
}

asio::awaitable<void> survive_outage(scene& s, const kind_case& kind) {
    constexpr milliseconds ttl = 2s;
    const std::vector<lease> held = co_await take_all(kind, s.a, renewed_every(50ms, ttl));
    outage down(s.instances[2]);
    co_await async_wait_until([&] { return down.elapsed() > ttl; });
    co_await renewed_more(s.a, 2 * kind.holders);
    BOOST_TEST(all_valid(held));
    BOOST_TEST(co_await is_denied(kind.lock(s.b)));
    const std::uint64_t healed = s.a.counters().healed;
    down.end();
    co_await is_healed(s, kind, held, healed);
}

BOOST_FIXTURE_TEST_SUITE(own_kind, fixture)

BOOST_DATA_TEST_CASE(it_locks_and_excludes, data::make(every_kind) * data::make(every_place), kind,
                     where) {
    run(where, lock_and_exclude, kind);
}

BOOST_DATA_TEST_CASE(with_lock_takes_it, data::make(every_kind) * data::make(every_place), kind,
                     where) {
    run(where, hold_during_a_body, kind);
}

BOOST_DATA_TEST_CASE(it_has_as_many_holders_as_it_may,
                     data::make(every_kind) * data::make(every_place), kind, where) {
    run(where, have_as_many_holders_as_possible, kind);
}

BOOST_DATA_TEST_CASE(a_watchdog_keeps_it_beyond_its_ttl,
                     data::make(every_kind) * data::make(every_place), kind, where) {
    run(where, keep_beyond_ttl, kind);
}

BOOST_DATA_TEST_CASE(waiters_of_a_client_acquire_in_order_of_arrival,
                     data::make(every_kind) * data::make(every_place), kind, where) {
    run(where, acquire_in_order_of_arrival, kind);
}

BOOST_DATA_TEST_CASE(a_release_wakes_the_waiter_of_another_client,
                     data::make(every_kind) * data::make(every_place), kind, where) {
    run(where, wake_another_client, kind);
}

BOOST_DATA_TEST_CASE(a_cancelled_waiter_leaves_nothing_behind,
                     data::make(every_kind) * data::make(every_place), kind, where) {
    run(where, cancel_waiters, kind);
}

BOOST_DATA_TEST_CASE(a_lease_survives_a_server_that_loses_its_keys, data::make(every_kind), kind) {
    run(place::three_servers, survive_loss_of_keys, kind);
}

BOOST_DATA_TEST_CASE(a_lease_survives_the_outage_of_a_server, data::make(every_kind), kind) {
    run(place::three_servers, survive_outage, kind);
}

BOOST_AUTO_TEST_SUITE_END()

// --- The counted kind -----------------------------------------------------------------------------------

/// The acquires run concurrently, so their commands may reach the servers in different orders.
asio::awaitable<void> compare_numbers(scene& s) {
    const kind_case kind{&three_permits, {"permits"}, 3};
    std::array<pending_acquire, 3> taking;
    for (std::size_t i = 0; i != taking.size(); ++i) {
        taking[i].start(kind.lock(i == 0 ? s.a : s.b, renewed_every(50ms, 5s)));
    }
    const auto has_number = [](const pending_acquire& one) {
        return one.granted.valid() && three_permits.number_of(one.granted) != 0;
    };
    co_await async_wait_until([&] { return std::ranges::all_of(taking, has_number); });
    std::set<std::uint64_t> numbers;
    for (const pending_acquire& one : taking) {
        numbers.insert(three_permits.number_of(one.granted));
    }
    BOOST_TEST((numbers == std::set<std::uint64_t>{1, 2, 3}));
    BOOST_TEST(co_await is_denied(kind.lock(s.c)));
}

/// The instances assign 3, 2 and 1. A second round agrees on 2, which the first instance cannot assign. If
/// the third instance replies late, all agree on 3.
asio::awaitable<void> agree_on_number(scene& s) {
    const auto give_to_others = [&](std::size_t server, std::uint64_t permit) {
        give_permit_by_hand(s.instances[server], permit, "somebody");
    };
    give_to_others(0, 1);
    give_to_others(0, 2);
    give_to_others(1, 1);
    const detail::lock_handle lock(s.a, "permits", renewed_every(50ms, 5s), three_permits);
    lease held = co_await lock.acquire();
    co_await renewed_more(s.a, 2);
    co_await async_wait_until([&] { return idle(s.a); });
    BOOST_TEST(held.valid());
    BOOST_TEST(s.a.counters().attempts == 1U);
    const std::uint64_t agreed = three_permits.number_of(held);
    BOOST_TEST((agreed == 2U || agreed == 3U), agreed);
    const std::size_t free_at = agreed == 2U ? 2 : 3;  // Number of servers.
    for (const std::uint64_t permit : {1U, 2U, 3U}) {
        BOOST_TEST(having(s.instances, permit, held) == (permit == agreed ? free_at : 0U));
    }
    BOOST_TEST((co_await held.release() == release_result::released));
    co_await settled(s.a);
    BOOST_TEST(s.instances[2].keys().empty());
    s.instances.flush();
}

/// One server has another number for the token of this lease.
asio::awaitable<void> change_number(scene& s) {
    const lease held = co_await counted.lock(s.a, renewed_every(50ms, 5s)).acquire();
    give_permit_by_hand(s.instances[0], 2, held.token());
    s.instances[0].command({"HDEL", "permits", "1"});
    co_await held.wait_lost();
    BOOST_TEST((held.loss() == errc::lease_lost), held.loss().message());
}

asio::awaitable<void> ask_for_fence(scene& s) {
    const lease held = co_await counted.lock(s.a).acquire();
    BOOST_CHECK_EXCEPTION((void)held.fence(), lock_error,
                          [](const lock_error& e) { return e.code() == errc::not_fenced; });
}

/// A renewal changes the key, just as a release does. The waiter checks whether a permit is free before it
/// attempts.
asio::awaitable<void> wait_beside_renewals(scene& s) {
    std::vector<lease> held = co_await take_all(counted, s.a, renewed_every(20ms, 10s));
    pending_acquire waiting;
    waiting.start(counted.lock(s.b, patient()));
    co_await is_waiting(s.b, 2);  // The second one in its turn.
    const std::uint64_t attempts = s.b.counters().attempts;
    co_await renewed_more(s.a, 50);
    BOOST_TEST(s.b.counters().attempts == attempts);
    const stopwatch waited;
    co_await held[0].release();
    co_await is_granted(waiting);
    BOOST_TEST((waited.elapsed() < soon));
}

/// A server does not notify a client of the client's own writes. Nor does it report later changes until the
/// client reads the key again.
asio::awaitable<void> wait_beside_own_renewals(scene& s) {
    lease of_a = co_await counted.lock(s.a, patient()).acquire();
    const lease of_b = co_await counted.lock(s.b, renewed_every(20ms, 1min)).acquire();
    pending_acquire waiting;
    waiting.start(counted.lock(s.b, patient()));
    co_await is_waiting(s.b, 2);
    co_await renewed_more(s.b, 5);
    const stopwatch waited;
    co_await of_a.release();
    co_await is_granted(waiting);
    BOOST_TEST((waited.elapsed() < soon));
}

/// Clients that are ahead in the remote queue come first, even though the waiter's own client releases.
/// Hand-offs are disabled, because a limited number of them may come first.
asio::awaitable<void> wait_behind_another_client(scene& s) {
    lock_options options = patient();
    options.handoff_limit = 0;
    std::vector<lease> held = co_await take_all(counted, s.a, options);
    pending_acquire first;
    first.start(counted.lock(s.b, options));
    co_await is_waiting(s.b, 2);
    pending_acquire second;
    second.start(counted.lock(s.a, options));
    co_await is_waiting(s.a);
    const stopwatch waited;
    co_await held[0].release();
    co_await is_granted(first);
    BOOST_TEST(!second.granted.valid());
    co_await held[1].release();
    co_await is_granted(second);
    BOOST_TEST((waited.elapsed() < soon));
}

BOOST_FIXTURE_TEST_SUITE(own_counted_kind, fixture)

BOOST_DATA_TEST_CASE(valid_leases_have_different_numbers, data::make(every_place), where) {
    run(where, compare_numbers);
}

BOOST_AUTO_TEST_CASE(a_quorum_agrees_on_a_number) {
    run(place::three_servers, agree_on_number);
}

BOOST_AUTO_TEST_CASE(a_lease_whose_number_has_changed_is_lost) {
    run(place::one_server, change_number);
}

BOOST_DATA_TEST_CASE(a_number_is_not_a_fence, data::make(every_place), where) {
    run(where, ask_for_fence);
}

BOOST_DATA_TEST_CASE(renewals_of_the_holders_cause_no_attempts, data::make(places_with_servers),
                     where) {
    run(where, wait_beside_renewals);
}

BOOST_DATA_TEST_CASE(renewals_of_its_own_leases_do_not_keep_a_waiter_asleep,
                     data::make(places_with_servers), where) {
    run(where, wait_beside_own_renewals);
}

BOOST_DATA_TEST_CASE(a_waiter_does_not_pass_another_client, data::make(places_with_servers),
                     where) {
    run(where, wait_behind_another_client);
}

BOOST_AUTO_TEST_SUITE_END()

// --- The kind with two names ----------------------------------------------------------------------------

asio::awaitable<void> take_all_names_or_none(scene& s) {
    const detail::lock_handle both = names.lock(s.a);
    for (const std::string_view name : names.names) {
        const std::string_view other = name == "left" ? "right" : "left";
        lease held = co_await mutex(s.b, name).acquire();
        BOOST_TEST(co_await is_denied(both));
        co_await settled(s.a);
        BOOST_TEST(is_held(co_await mutex(s.b, other).try_acquire()));
        co_await held.release();
        co_await settled(s.b);
    }
    const lease held = co_await both.acquire();
    for (const std::string_view name : names.names) {
        BOOST_TEST(!is_held(co_await mutex(s.a, name).try_acquire()));
        BOOST_TEST(!is_held(co_await mutex(s.b, name).try_acquire()));
    }
}

/// One task holds one name and another waits for both, or the reverse. They are in one client or in two. The
/// waiter acquires soon after the release.
asio::awaitable<void> wake_by_name(scene& s, std::string_view name, bool both_wait, bool is_own) {
    client& waiter = is_own ? s.a : s.b;
    const lock_options options = is_own ? patient() : patient_at(s.where);
    lease held;
    pending_acquire waiting;
    if (both_wait) {
        held = co_await mutex(s.a, name, patient()).acquire();
        waiting.start(names.lock(waiter, options));
    } else {
        held = co_await names.lock(s.a, patient()).acquire();
        waiting.start(mutex(waiter, name, options));
    }
    if (is_own && name == names.names.front()) {
        BOOST_TEST(waiter.counters().queued == 1U);
    } else {
        co_await is_waiting(waiter);
    }
    const stopwatch waited;
    co_await held.release();
    co_await is_granted(waiting);
    BOOST_TEST((waited.elapsed() < soon));
}

BOOST_FIXTURE_TEST_SUITE(own_kind_with_two_names, fixture)

BOOST_DATA_TEST_CASE(it_takes_all_names_or_none, data::make(every_place), where) {
    run(where, take_all_names_or_none);
}

BOOST_DATA_TEST_CASE(a_release_of_one_name_wakes_a_waiter_for_both,
                     data::make(names.names) * data::make({true, false}) * data::make(every_place),
                     name, is_own, where) {
    run(where, wake_by_name, name, true, is_own);
}

BOOST_DATA_TEST_CASE(a_release_of_both_names_wakes_a_waiter_for_one,
                     data::make(names.names) * data::make({true, false}) * data::make(every_place),
                     name, is_own, where) {
    run(where, wake_by_name, name, false, is_own);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
