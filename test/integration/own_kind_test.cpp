// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "kinds/kind.hpp"
#include "kinds/replies.hpp"
#include "kinds/script.hpp"
#include "kinds/table.hpp"

#include <colock/detail/lock_side.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>

// A lock kind is added by one class: the machines, the instances and the runtime take it as it is. This one keeps its
// token in a hash, as some libraries do.

namespace {

using namespace colock;
using namespace colock::test;
using core::key_state;
using core::step;
using core::vote;

// KEYS[1] the hash; ARGV[1] the token, ARGV[2] the ttl or 0, ARGV[3] what to do.
constexpr kinds::script hash_script{R"lua(
local owner = redis.call('hget', KEYS[1], 'owner')
if ARGV[3] == 'acquire' then
    if owner then return -1 end
    redis.call('hset', KEYS[1], 'owner', ARGV[1])
elseif owner ~= ARGV[1] then
    return owner and -1 or 0
end
if ARGV[3] == 'release' then redis.call('del', KEYS[1]) else redis.call('pexpire', KEYS[1], ARGV[2]) end
return ARGV[3] == 'acquire' and redis.status_reply('OK') or 1
)lua",
                                    "no digest: it is sent in full"};

class hash_kind final : public kinds::lock_kind {
public:
    constexpr hash_kind() : lock_kind({.name = "hash"}) {}

    void encode(const kinds::command& command, const kinds::capabilities& /*server*/,
                kinds::script_form /*form*/, resp::command_writer& to) const override {
        const std::string_view what = command.step == step::acquire   ? "acquire"
                                      : command.step == step::release ? "release"
                                                                      : "extend";
        if (command.step == step::remaining) {
            to.write(resp::words<"PTTL">, command.key);
        } else {
            kinds::write_script(hash_script, kinds::script_form::in_full, to, {command.key},
                                command.token, resp::number(command.ttl.count()).text(), what);
        }
    }

    [[nodiscard]] vote decode(const kinds::command& command,
                              const resp::value& reply) const override {
        return command.step == step::remaining ? kinds::decode_remaining(reply)
               : kinds::is_ok(reply)           ? vote::granted()
                                               : kinds::decode_compare(reply);
    }

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        kinds::table::entry* const found = keys.find(command.key, at.now);
        const bool ours = found != nullptr && found->token == command.token;
        if (command.step == step::acquire && found == nullptr) {
            keys.put(command.key, command.token, at.now + command.ttl);
        } else if (command.step == step::extend && ours) {
            found->expires = std::max(found->expires, at.now + command.ttl);
        } else if (command.step == step::release && ours) {
            keys.erase(command.key);
        } else {
            return vote::denied(found != nullptr ? key_state::foreign : key_state::absent);
        }
        return vote::granted();
    }
};

constexpr hash_kind the_hash_kind;

BOOST_FIXTURE_TEST_SUITE(own_kind, shared_servers<3>)

asio::awaitable<void> check(const config& configuration) {
    const auto executor = co_await asio::this_coro::executor;
    client a(executor, configuration);
    client b(executor, configuration);
    const detail::lock_side first(a, "hash", renewed_every(50ms, 500ms), the_hash_kind);
    const detail::lock_side second(b, "hash", {}, the_hash_kind);
    lease held = co_await first.acquire();
    co_await renewed_more(a, 3);
    bool acquired = false;
    const auto waiting =
        co_await start([](const detail::lock_side& lock, bool& got) -> asio::awaitable<void> {
            lease next = co_await lock.acquire();
            got = next.valid();
            co_await next.release();
        }(second, acquired));
    co_await async_wait_until([&] { return b.counters().contended >= 1; });
    BOOST_TEST(held.valid());
    BOOST_TEST(!acquired);
    BOOST_TEST(!(co_await mutex(b, "hash").try_acquire()).has_value());  // it is one key
    BOOST_TEST((co_await held.release() == release_result::released));
    co_await async_wait_until([&] { return waiting->done; });
    BOOST_TEST(acquired);
    co_await settled(a);
    co_await settled(b);
}

BOOST_AUTO_TEST_CASE(a_custom_kind_works_on_real_servers) {
    run_test(check(instances.config()));
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(a_custom_kind_works_in_memory) {
    config configuration;
    configuration.instances = {"memory://own_kind"};
    run_test(check(configuration));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
