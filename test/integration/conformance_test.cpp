// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Every kind of instance gives the same votes: the same scripts of steps, run against an instance in
// memory and against real servers, over TCP, a UNIX socket, and as a user of a database with no more rights than
// README says that colock needs.

#include "instance_group.hpp"
#include "instance_rig.hpp"
#include "kinds/auxiliary_key.hpp"
#include "kinds/shared.hpp"
#include "locks.hpp"
#include "support/documented_rights.hpp"
#include "support/redis_server.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace data = boost::unit_test::data;
using namespace colock::test;
using namespace std::chrono_literals;
using namespace std::string_literals;
using boost::unit_test::label;
using colock::core::milliseconds;
using colock::core::step;
using strings = std::vector<std::string>;

namespace {

constexpr unsigned database_of_user = 5;
/// What holders of exclusive keys do, with and without fences.
const std::array<step_of_kind, 6> all_steps{step::acquire,   step::extend,   step::release,
                                            step::remaining, fenced_acquire, step::confirm};

/// One server for all tests; each empties it first.
redis_server& shared_server() {
    static redis_server server;
    return server;
}

/// Makes the user "ann". With `natively`, the user may also use the server's own command for releases.
void make_user(redis_server& server, bool natively) {
    strings command{"ACL", "SETUSER", "ann", "reset", ">p@ss:word"};
    const strings rights = documented_rights();
    command.insert(command.end(), rights.begin(), rights.end());
    if (natively) {
        const std::string version = server.command({"INFO", "server"}).value_or("");
        command.emplace_back(version.find("valkey_version") == std::string::npos ? "+delex"
                                                                                 : "+delifeq");
    }
    server.command(command);
}

/// A token as the client draws it, 40 hexadecimal digits, that begins with these.
std::string token_of(std::string digits) {
    constexpr std::size_t length = 40;
    digits.resize(length, '0');
    return digits;
}
std::string reader_of(const std::string& digits) {
    return std::string(colock::kinds::reader_prefix) + token_of(digits);
}
const std::string ann_reads = reader_of("a");
const std::string bob_reads = reader_of("b");
const std::string cid_reads = reader_of("c");

/// The attempts of the two sides of a read-write lock: the first, and one after a denial.
const step_of_kind looks{step::acquire, colock::kinds::shared};
const step_of_kind joins{step::acquire, colock::kinds::shared, true};
const step_of_kind joins_fenced{step::acquire, colock::kinds::fenced_shared, true};
const step_of_kind writes{step::acquire, colock::kinds::writer};
const step_of_kind claims{step::acquire, colock::kinds::writer, true};
const step_of_kind unmarks{step::unmark, colock::kinds::writer};

step_of_kind of_reader(step s) {
    return {s, colock::kinds::shared};
}

enum class kind { memory, tcp, unix_socket, user };

std::ostream& operator<<(std::ostream& out, kind k) {
    static constexpr std::array<const char*, 4> names{"memory", "tcp", "unix_socket", "user"};
    return out << names.at(static_cast<std::size_t>(k));
}

/// Of an instance of that kind. Those with different numbers, below 8, share no keys.
std::string uri_of(kind k, unsigned number = 0) {
    redis_server& server = shared_server();
    switch (k) {
        case kind::memory: {
            static int count = 0;
            return "memory://conformance" + std::to_string(++count);
        }
        case kind::tcp:
            return server.uri() + (number == 0 ? "" : "/" + std::to_string(number));
        case kind::unix_socket:
            return server.unix_uri() + (number == 0 ? "" : "?db=" + std::to_string(number));
        case kind::user:
            make_user(server, deletes_natively(server));
            return "redis://ann:p%40ss%3Aword@127.0.0.1:" + std::to_string(server.port()) + "/" +
                   std::to_string(database_of_user + number);
    }
    return {};
}

const auto all_kinds = data::make({kind::memory, kind::tcp, kind::unix_socket, kind::user});

/// The instances that are sent the same batches: three of one kind, or one of each.
enum class team { memory, tcp, unix_socket, user, mixed };

std::ostream& operator<<(std::ostream& out, team t) {
    return t == team::mixed ? out << "mixed" : out << static_cast<kind>(t);
}

/// The vote on a release of what is not the sender's. A command of the server's own does not tell whose it is.
std::string refusal(kind k, const std::string& vote) {
    static const bool natively = deletes_natively(shared_server());
    return k != kind::memory && natively ? "denied: not ours" : vote;
}

/// That of instance number `index` of a team.
std::string refusal(team t, std::size_t index, const std::string& vote) {
    const kind k = t != team::mixed ? static_cast<kind>(t) : index == 1 ? kind::memory : kind::tcp;
    return refusal(k, vote);
}

const auto all_teams =
    data::make({team::memory, team::tcp, team::unix_socket, team::user, team::mixed});

/// Their URIs; none has a key.
strings uris_of(team t) {
    shared_server().flush();
    if (t == team::mixed) {
        return {uri_of(kind::tcp), uri_of(kind::memory), uri_of(kind::user),
                uri_of(kind::unix_socket, 1)};
    }
    const auto k = static_cast<kind>(t);
    return {uri_of(k), uri_of(k, 1), uri_of(k, 2)};
}

/// What each of a team says, when all say the same.
std::string all_say(const instance_group& all, const std::string& vote) {
    std::string result = vote;
    for (std::size_t i = 1; i != all.size(); ++i) {
        result += ", " + vote;
    }
    return result;
}

/// The instance under test, ready, with no keys.
class subject {
public:
    explicit subject(kind k, std::size_t max_in_flight = 65536)
        : kind_(k), settings_(settings_for(max_in_flight)), uri_(prepare(k)), rig(uri_, settings_) {
        rig.run_until_ready();
    }

    /// Makes a key that is no lock, and that ends by itself.
    void plant_foreign_key(const std::string& key) {
        if (kind_ == kind::memory) {  // which has no other types
            BOOST_TEST(rig.acquire(key, "foreign", 10min) == "granted");
        } else {
            const unsigned database = kind_ == kind::user ? database_of_user : 0;
            shared_server().command({"RPUSH", key, "foreign"}, database);
            shared_server().command({"PEXPIRE", key, "600000"}, database);
        }
    }

    [[nodiscard]] const std::string& uri() const { return uri_; }

private:
    static colock::instance::redis::redis_settings settings_for(std::size_t max_in_flight) {
        auto settings = quick_settings();
        settings.max_in_flight = max_in_flight;
        return settings;
    }

    static std::string prepare(kind k) {
        shared_server().flush();
        return uri_of(k);
    }

    kind kind_;
    colock::instance::redis::redis_settings settings_;
    std::string uri_;

public:
    instance_rig rig;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance)

BOOST_DATA_TEST_CASE(a_lock_is_granted_once_and_released_only_by_its_holder, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
    BOOST_TEST(rig.acquire("k", "ann") == "denied: another");  // not reentrant
    BOOST_TEST(rig.extend("k", "bob") == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.remaining("k") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(an_absent_key_denies_all_but_an_acquire, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    const auto vote = rig.ask(step::remaining, "k");
    BOOST_TEST(to_text(vote) == "denied: nobody");
    BOOST_TEST(vote.remaining.count() == 0);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");  // none of them has made it
}

BOOST_DATA_TEST_CASE(only_remaining_reports_the_remaining_time, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (const auto& vote :
         {rig.ask(step::acquire, "k", "ann"), rig.ask(step::acquire, "k", "ann"),
          rig.ask(step::extend, "k", "bob"), rig.ask(step::release, "k", "bob"),
          rig.ask(step::extend, "no", "bob"), rig.ask(step::release, "no", "b")}) {
        BOOST_TEST((vote.remaining == colock::core::unknown_remaining));
        BOOST_TEST((vote.detail == nullptr));
    }
}

BOOST_DATA_TEST_CASE(the_ttl_is_set_by_acquire_and_only_lengthened_by_extend, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann", 1h) == "granted");
    auto left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 50min && left <= 1h));
    BOOST_TEST(rig.extend("k", "ann", 3h) == "granted");
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 2h + 50min && left <= 3h));
    BOOST_TEST(rig.extend("k", "ann", 2h) == "granted");  // by less than is left
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 2h + 50min && left <= 3h));
    BOOST_TEST(rig.extend("k", "bob", 9h) == "denied: another");
    BOOST_TEST(rig.acquire("k", "bob", 9h) == "denied: another");
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left <= 3h));
}

BOOST_DATA_TEST_CASE(a_key_expires, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann", 20ms) == "granted");
    rig.run_until([&] { return rig.remaining("k") == "denied: nobody"; });
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release("k", "bob") == "granted");
    // One that was extended expires too; on a busy machine perhaps before it was.
    BOOST_TEST(rig.acquire("k", "cat", 500ms) == "granted");
    rig.extend("k", "cat", 600ms);
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
}

BOOST_DATA_TEST_CASE(ttls_from_a_millisecond_to_a_day_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("day", "ann", 24h) == "granted");
    BOOST_TEST((rig.ask(step::remaining, "day").remaining > 23h));
    BOOST_TEST(rig.acquire("blink", "ann", 1ms) == "granted");
    rig.run_until([&] { return rig.remaining("blink") == "denied: nobody"; });
}

BOOST_DATA_TEST_CASE(a_foreign_key_counts_as_another_holder, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    s.plant_foreign_key("k");
    BOOST_TEST(rig.acquire("k", "ann") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "denied: another");
    const auto vote = rig.ask(step::remaining, "k");
    BOOST_TEST(to_text(vote) == "denied: another");
    BOOST_TEST((vote.remaining > 1min && vote.remaining <= 10min));
}

BOOST_DATA_TEST_CASE(keys_and_tokens_may_contain_any_bytes, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::string all_bytes;
    for (int byte = 0; byte != 256; ++byte) {
        all_bytes += static_cast<char>(byte);
    }
    const strings keys{"\0"s, "\0\0"s,    "\r\n",    "$5\r\nhello\r\n", " ", "{k}", "k\0"s,
                       "k",   "\xff\xfe", all_bytes, all_bytes + "1",   "*"};
    for (const std::string& key : keys) {
        BOOST_TEST(rig.acquire(key, all_bytes) == "granted");
    }
    for (const std::string& key : keys) {
        BOOST_TEST(rig.remaining(key) == "denied: another");
        BOOST_TEST(rig.release(key, all_bytes.substr(0, 255)) ==
                   refusal(sample, "denied: another"));
        BOOST_TEST(rig.release(key, all_bytes + "\0"s) == refusal(sample, "denied: another"));
        BOOST_TEST(rig.extend(key, all_bytes) == "granted");
        BOOST_TEST(rig.release(key, all_bytes) == "granted");
        BOOST_TEST(rig.remaining(key) == "denied: nobody");
    }
}

BOOST_DATA_TEST_CASE(tokens_are_compared_as_bytes_not_as_numbers_or_text, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "10") == "granted");
    for (const std::string& token : strings{"10.0", "010", "1e1", " 10", "10 ", "10\0"s, "1", ""}) {
        BOOST_TEST(rig.release("k", token) == refusal(sample, "denied: another"));
        BOOST_TEST(rig.extend("k", token) == "denied: another");
    }
    BOOST_TEST(rig.release("k", "10") == "granted");
    BOOST_TEST(rig.acquire("k", "Ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
}

BOOST_DATA_TEST_CASE(keys_of_64_kib_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const std::string key(64 * 1024, 'k');
    BOOST_TEST(rig.acquire(key, "ann") == "granted");
    BOOST_TEST(rig.acquire(key + "k", "ann") == "granted");
    BOOST_TEST(rig.acquire(key, "bob") == "denied: another");
    BOOST_TEST(rig.extend(key, "ann") == "granted");
    BOOST_TEST(rig.release(key, "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release(key, "ann") == "granted");
    BOOST_TEST(rig.remaining(key) == "denied: nobody");
    BOOST_TEST(rig.remaining(key + "k") == "denied: another");
}

BOOST_DATA_TEST_CASE(empty_tokens_and_empty_keys_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "") == "granted");
    BOOST_TEST(rig.acquire("k", "") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.extend("k", "") == "granted");
    BOOST_TEST(rig.release("k", "") == "granted");
    BOOST_TEST(rig.release("k", "") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("", "ann") == "granted");
    BOOST_TEST(rig.release("", "ann") == "granted");
}

// Fences. What they are when nobody has set them depends on the time.

BOOST_DATA_TEST_CASE(each_holder_gets_a_larger_fence, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::uint64_t last = 0;
    for (int i = 0; i != 100; ++i) {
        const auto vote = rig.ask_fence(fenced_acquire, "k", "ann");
        BOOST_TEST_REQUIRE(to_text(vote) == "granted");
        BOOST_TEST(vote.fence > last);
        BOOST_TEST(vote.fence < colock::core::fence_limit);
        last = vote.fence;
        BOOST_TEST(rig.release("k", "ann") == "granted");
    }
    // The clock of 2001 to 2242.
    BOOST_TEST((last >> 20U) > 1'000'000'000U);
    BOOST_TEST((last >> 20U) < (1ULL << 33U));
}

/// By which a lease is handed off: the key stays as it is.
BOOST_DATA_TEST_CASE(a_holder_increments_the_fence_counter, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;  // ahead of the clock
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann", far).fence == far);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann").fence == far + 1);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann").fence == far + 2);
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "bob")) == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann")) == "denied: nobody");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob").fence == far + 3);
}

BOOST_DATA_TEST_CASE(a_denied_fenced_acquire_does_not_count, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;  // ahead of the clock
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "granted");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "granted");
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "bob")) == "denied: another");
        BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "denied: another");
    }
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == "granted");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann").fence == far + 1);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "list", "ann")) == "denied: another");
}

BOOST_DATA_TEST_CASE(a_fenced_key_is_extended_and_released_like_a_plain_key, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.ask_fence(fenced_acquire, "k", "ann");
    const auto left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 9min && left <= 10min));
    BOOST_TEST(rig.extend("k", "bob") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_counter_is_raised_only_by_the_holder_and_never_lowered, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "denied: nobody");
    rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "bob", far)) == "denied: another");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", far - 5).fence == far - 5);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", far - 9).fence == far - 5);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", 1).fence == far - 5);
    rig.release("k", "ann");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "denied: nobody");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob").fence == far - 4);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "list", "ann", far)) == "denied: another");
}

BOOST_DATA_TEST_CASE(a_restore_raises_the_counter_to_its_fence_without_counting, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;
    for (const auto* kind : {&colock::kinds::fenced, &colock::kinds::fenced_writer}) {
        const std::string key(kind->traits().name);
        const auto heal = [&](const std::string& of, std::uint64_t fence) {
            const auto vote =
                rig.ask_fence(step_of_kind(step::acquire, *kind).healing(), of, "ann", fence);
            BOOST_TEST(to_text(vote) == "granted");
            BOOST_TEST(rig.release(of, "ann") == "granted");
            return vote.fence;
        };
        BOOST_TEST(heal(key, far) == far);
        BOOST_TEST(heal(key, far) == far);
        BOOST_TEST(heal(key, 7) == far);
        BOOST_TEST(heal(key, far + 3) == far + 3);
        BOOST_TEST(heal("fresh " + key, 7) > 7U);  // by the clock
        BOOST_TEST(rig.ask_fence({step::acquire, *kind}, key, "bob").fence == far + 4);
    }
}

BOOST_DATA_TEST_CASE(a_restore_of_a_held_key_is_denied_and_does_not_count, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob", far).fence == far);
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "k", "ann", far + 9)) ==
               "denied: another");
    // Nor is it reentrant: a heal goes to an instance that has said that there is nothing.
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "k", "bob", far + 9)) ==
               "denied: another");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "bob").fence == far + 1);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "list", "ann", far)) ==
               "denied: another");
}

/// What a node of a cluster does that has only one of the two keys.
BOOST_DATA_TEST_CASE(a_count_ignores_the_lock_key, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    constexpr std::uint64_t far = 1ULL << 52U;
    for (const auto* kind : {&colock::kinds::fenced, &colock::kinds::fenced_writer}) {
        const std::string key(kind->traits().name);
        const auto count = [&](const std::string& of, const std::string& token,
                               std::uint64_t fence) {
            const auto vote = rig.ask_fence({step::count, *kind}, of, token, fence);
            BOOST_TEST(to_text(vote) == "granted");
            return vote.fence;
        };
        const std::uint64_t first = count(key, "ann", 7);
        BOOST_TEST((first >> 20U) > 1'000'000'000U);  // by the clock
        BOOST_TEST(count(key, "ann", 0) > first);
        BOOST_TEST(count(key, "ann", far) == far);
        BOOST_TEST(count(key, "ann", far - 1) == far);
        BOOST_TEST(count(key, "ann", 0) == far + 1);
        BOOST_TEST(rig.remaining(key) == "denied: nobody");
        // It is the counter that the key's holders have.
        BOOST_TEST(rig.ask_fence({step::acquire, *kind}, key, "bob").fence == far + 2);
        BOOST_TEST(count(key, "ann", 0) == far + 3);
        BOOST_TEST(count(key, "bob", far + 5) == far + 5);
        BOOST_TEST(rig.ask_fence({step::confirm, *kind}, key, "bob").fence == far + 6);
        const auto left = rig.ask(step::remaining, key).remaining;
        BOOST_TEST((left > 9min && left <= 10min));
        BOOST_TEST(rig.release(key, "bob") == "granted");
    }
    s.plant_foreign_key("list");
    BOOST_TEST(rig.ask_fence(step::count, "list", "ann", far).fence == far);
    using colock::core::fence_limit;
    BOOST_TEST(to_text(rig.ask_fence(step::count, "k", "ann", fence_limit)) ==
               "failed: server error");
    BOOST_TEST(rig.ask_fence(step::count, "k", "ann", fence_limit - 1).fence == fence_limit - 1);
    const auto vote = rig.ask_fence(step::count, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(vote.detail->starts_with("FENCE the fence counter"), *vote.detail);
}

/// Whatever the kind: an acquire that puts back a key takes it if there is none, for the ttl that it is given.
BOOST_DATA_TEST_CASE(a_restore_recreates_a_missing_key, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    auto& rig = s.rig;
    for (const auto* kind :
         {&exclusive, &fenced, &writer, &fenced_writer, &shared, &fenced_shared}) {
        BOOST_TEST_CONTEXT(kind->traits().name) {
            const bool is_shared = kind->traits().admission == admission::shared;
            const step_of_kind heals = step_of_kind(step::acquire, *kind).healing();
            const std::string token = is_shared ? ann_reads : "ann";
            BOOST_TEST(to_text(rig.ask(heals, "k", token, 1h)) == "granted");
            const auto left = rig.ask(step::remaining, "k").remaining;
            BOOST_TEST((left > 50min && left <= 1h));
            BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
            BOOST_TEST(to_text(rig.ask(heals, "k", token)) ==
                       (is_shared ? "granted" : "denied: another"));
            BOOST_TEST(to_text(rig.ask({step::extend, *kind}, "k", token)) == "granted");
            BOOST_TEST(to_text(rig.ask({step::release, *kind}, "k", token)) == "granted");
            BOOST_TEST(rig.acquire("k", "bob") == "granted");
            BOOST_TEST(to_text(rig.ask(heals, "k", token)) == "denied: another");
            BOOST_TEST(rig.release("k", "bob") == "granted");
        }
    }
}

BOOST_DATA_TEST_CASE(counters_end_below_2_to_the_53, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    using colock::core::fence_limit;
    rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", fence_limit - 2).fence == fence_limit - 2);
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", fence_limit)) ==
               "failed: server error");
    rig.release("k", "ann");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann").fence == fence_limit - 1);
    rig.release("k", "ann");
    const auto vote = rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(vote.detail->starts_with("FENCE the fence counter"), *vote.detail);
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
    BOOST_TEST(rig.acquire("k", "ann") == "granted");  // who wants none
}

BOOST_DATA_TEST_CASE(every_key_has_a_counter_of_its_own, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::uint64_t fence = 1ULL << 52U;
    const strings keys{"k",    "{k",  "k}",     "{}k",     "{k}",           "a{k}",
                       "\r\n", "\0"s, ":fence", "k:fence", "k:colock:fence"};
    for (const std::string& key : keys) {
        BOOST_TEST(rig.ask_fence(fenced_acquire, key, "ann", fence += 10).fence == fence);
        BOOST_TEST(rig.release(key, "ann") == "granted");
    }
    fence = 1ULL << 52U;
    for (const std::string& key : keys) {
        BOOST_TEST(rig.ask_fence(fenced_acquire, key, "bob").fence == (fence += 10) + 1);
    }
}

BOOST_DATA_TEST_CASE(commands_of_one_batch_are_executed_in_their_order, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.submit(step::acquire, "k", "ann");
    rig.submit(step::acquire, "k", "bob");
    rig.submit(step::extend, "k", "ann");
    rig.submit(step::extend, "k", "bob");
    rig.submit(step::release, "k", "ann");
    rig.submit(step::remaining, "k");
    rig.submit(step::acquire, "k", "bob");
    rig.submit(step::release, "k", "ann");
    rig.submit(step::release, "k", "bob");
    rig.submit(step::release, "k", "bob");
    const strings expected{"granted", "denied: another",
                           "granted", "denied: another",
                           "granted", "denied: nobody",
                           "granted", refusal(sample, "denied: another"),
                           "granted", refusal(sample, "denied: nobody")};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
}

BOOST_DATA_TEST_CASE(each_of_many_consecutive_releases_gets_a_vote, all_kinds) {
    constexpr int keys = 150;  // more than go to a server as one
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(keys, "granted"), boost::test_tools::per_element());
    strings expected;
    const auto release = [&](int key, const std::string& token, const std::string& vote) {
        rig.submit(step::release, std::to_string(key), token);
        expected.push_back(vote == "granted" ? vote : refusal(sample, vote));
    };
    for (int i = 0; i != keys; ++i) {
        if (i % 50 == 17) {
            release(i, "bob", "denied: another");
        }
        release(i, "ann", "granted");
        if (i % 50 == 35) {
            release(i, "ann", "denied: nobody");
        }
    }
    rig.submit(step::acquire, "0", "bob");
    expected.push_back("granted");
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
    for (int i = 1; i != keys; ++i) {
        BOOST_TEST(rig.acquire(std::to_string(i), "bob") == "granted");
    }
}

BOOST_DATA_TEST_CASE(a_key_released_twice_in_a_batch_is_released_once, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (const std::string key : {"k", "l", "m"}) {
        BOOST_TEST(rig.acquire(key, "ann") == "granted");
    }
    for (const std::string key : {"k", "l", "k", "m", "k"}) {
        rig.submit(step::release, key, "ann");
    }
    const std::string gone = refusal(sample, "denied: nobody");
    const strings expected{"granted", "granted", gone, "granted", gone};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(batches_in_flight_are_executed_in_order, all_kinds) {
    constexpr int cycles = 300;
    subject s(sample);
    auto& rig = s.rig;
    strings expected;
    for (int i = 0; i != cycles; ++i) {
        rig.submit(step::acquire, "k", "ann");
        rig.flush();
        rig.submit(step::acquire, "k", "bob");
        rig.submit(step::release, "k", "ann");
        rig.flush();
        expected.insert(expected.end(), {"granted", "denied: another", "granted"});
    }
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(ten_thousand_commands_at_once_are_executed_in_order, all_kinds) {
    constexpr int keys = 5000;
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
        rig.submit(step::release, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(2 * keys, "granted"), boost::test_tools::per_element());
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
}

// Random scripts, whose votes a map foretells.
BOOST_DATA_TEST_CASE(random_commands_get_the_predicted_votes, all_kinds) {
    const strings keys{"k", "l", "m\0"s};
    const strings tokens{"ann", "bob", ""};
    for (unsigned seed = 0; seed != 20; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            subject s(sample);
            auto& rig = s.rig;
            std::mt19937 random(seed);
            std::map<std::string, std::string> model;
            strings expected;
            for (int i = 0; i != 500; ++i) {
                const std::string& key = keys[random() % keys.size()];
                const std::string& token = tokens[random() % tokens.size()];
                const step_of_kind v = all_steps[random() % all_steps.size()];
                const auto found = model.find(key);
                const bool exists = found != model.end();
                const bool ours = exists && found->second == token;
                const bool grant =
                    (v.step == step::acquire) ? !exists : v.step != step::remaining && ours;
                const std::string denial = exists ? "denied: another" : "denied: nobody";
                expected.push_back(grant                     ? "granted"
                                   : v.step == step::release ? refusal(sample, denial)
                                                             : denial);
                if (grant && (v.step == step::acquire)) {
                    model[key] = token;
                } else if (grant && v.step == step::release) {
                    model.erase(key);
                }
                rig.submit(v, key, token);
                if (random() % 8 == 0) {
                    rig.flush();
                }
            }
            BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
        }
    }
}

BOOST_DATA_TEST_CASE(a_withdrawn_command_is_not_executed, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const auto first = rig.submit(step::acquire, "first", "ann");
    const auto second = rig.submit(step::acquire, "second", "ann");
    rig.submit(step::acquire, "third", "ann");
    rig.withdraw(first);
    rig.withdraw(second);
    const strings expected{"failed: withdrawn", "failed: withdrawn", "granted"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(rig.remaining("first") == "denied: nobody");
    BOOST_TEST(rig.remaining("second") == "denied: nobody");
    BOOST_TEST(rig.remaining("third") == "denied: another");
}

// Whether commands are wanted is asked for a batch to reconsider; of any other it may be asked, and
// need not be. A receiver that does not want a command any more says so to the batch.
BOOST_DATA_TEST_CASE(a_silently_withdrawn_command_may_still_be_sent, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.withdraw_silently(rig.submit(step::acquire, "k", "ann"));
    rig.submit(step::acquire, "l", "ann");
    const bool asks_anyway = sample == kind::memory;  // it has nothing to gain from not asking
    const strings expected{asks_anyway ? "failed: withdrawn" : "granted", "granted"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(rig.remaining("k") == (asks_anyway ? "denied: nobody" : "denied: another"));
    // Of the next batch, nobody knows that the last one was to be reconsidered.
    rig.withdraw(rig.submit(step::acquire, "m", "ann"));
    BOOST_TEST(rig.votes() == strings{"failed: withdrawn"}, boost::test_tools::per_element());
    for (int batches = 0; batches != 3; ++batches) {  // they take turns with their memory
        rig.withdraw_silently(rig.submit(step::acquire, "m", "ann"));
        const std::string vote = batches == 0 ? "granted" : "denied: another";
        BOOST_TEST(rig.votes() == strings{asks_anyway ? "failed: withdrawn" : vote},
                   boost::test_tools::per_element());
    }
}

BOOST_DATA_TEST_CASE(a_completely_withdrawn_batch_is_not_executed, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != 5; ++i) {
        rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    }
    BOOST_TEST(rig.votes() == strings(5, "failed: withdrawn"), boost::test_tools::per_element());
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_sent_command_cannot_be_withdrawn, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const auto tag = rig.submit(step::acquire, "k", "ann");
    rig.flush();
    rig.withdraw(tag);
    rig.submit(step::release, "k", "ann");
    const strings expected{"granted", "granted"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(a_command_whose_deadline_has_passed_is_not_executed, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("held", "ann") == "granted");
    const auto now = std::chrono::steady_clock::now();
    for (const auto deadline : {now - 1ns, now - 1h, colock::core::time_point::min()}) {
        rig.submit(step::acquire, "k", "ann", 1h, deadline);
        rig.submit(step::release, "held", "ann", {}, deadline);
    }
    rig.submit(step::acquire, "l", "ann", 1h, now + 1h);
    const strings expected{"failed: too late", "failed: too late", "failed: too late",
                           "failed: too late", "failed: too late", "failed: too late",
                           "granted"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
    BOOST_TEST(rig.remaining("held") == "denied: another");
}

BOOST_DATA_TEST_CASE(rejects_only_expired_commands_of_a_batch, all_kinds) {
    const auto past = std::chrono::steady_clock::now() - 1ns;
    const auto future = past + 1h;
    for (std::size_t late = 0; late != 4; ++late) {
        BOOST_TEST_CONTEXT("number " << late << " is late") {
            subject s(sample);
            auto& rig = s.rig;
            strings expected(4, "granted");
            expected[late] = "failed: too late";
            for (std::size_t i = 0; i != expected.size(); ++i) {
                rig.submit(step::acquire, std::to_string(i), "ann", 1h,
                           i == late             ? past
                           : (i + late) % 2 == 0 ? future
                                                 : colock::core::never);
            }
            BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
            for (std::size_t i = 0; i != expected.size(); ++i) {
                BOOST_TEST(rig.remaining(std::to_string(i)) ==
                           (i == late ? "denied: nobody" : "denied: another"));
            }
        }
    }
}

BOOST_DATA_TEST_CASE(commands_for_another_instance_are_not_executed_and_get_no_vote, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.submit_for_another(step::acquire, "k", "bob");
    rig.submit(step::acquire, "k", "ann");
    rig.submit_for_another(step::release, "k", "ann");
    rig.submit_for_it(step::extend, "k", "ann");
    rig.submit(step::acquire, "k", "bob");
    rig.submit_for_it(step::release, "k", "ann");
    rig.submit_for_another(step::acquire, "k", "ann");
    rig.submit(step::acquire, "k", "bob");
    rig.submit_for_another(step::acquire, "l", "bob");
    const strings expected{"none",    "granted", "none",    "granted", "denied: another",
                           "granted", "none",    "granted", "none"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
    BOOST_TEST(rig.remaining("l") == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_batch_without_own_commands_sends_nothing, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != 3; ++i) {
        rig.submit_for_another(step::acquire, "k", "bob");
    }
    rig.flush();
    BOOST_TEST(rig.status().in_flight == 0U);
    rig.flush();  // of nothing at all
    // Nor does it ask whether they are wanted, which the rig checks.
    rig.withdraw(rig.submit_for_another(step::acquire, "k", "bob"));
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.order_of_votes().size() == 1U);
}

BOOST_DATA_TEST_CASE(commands_for_another_instance_do_not_count_as_in_flight, all_kinds) {
    subject s(sample, 2);
    auto& rig = s.rig;
    rig.submit_for_another(step::acquire, "a", "ann");
    rig.submit_for_it(step::acquire, "b", "ann");
    rig.submit_for_another(step::acquire, "c", "ann");
    rig.submit(step::acquire, "d", "ann");
    rig.submit(step::acquire, "e", "ann");
    const strings expected{"none", "granted", "none", "granted", "failed: overloaded"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(commands_beyond_max_in_flight_fail_immediately, all_kinds) {
    subject s(sample, 3);
    auto& rig = s.rig;
    for (const char* key : {"a", "b", "c", "d", "e"}) {
        rig.submit(step::acquire, key, "ann");
    }
    rig.flush();
    BOOST_TEST(rig.voted(3));  // without waiting for anybody
    BOOST_TEST(rig.voted(4));
    const strings expected{"granted", "granted", "granted", "failed: overloaded",
                           "failed: overloaded"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
    // Refused, not queued; and there is room again.
    BOOST_TEST(rig.remaining("d") == "denied: nobody");
    BOOST_TEST(rig.remaining("e") == "denied: nobody");
    for (const char* key : {"a", "b", "c"}) {
        rig.submit(step::release, key, "ann");
    }
    BOOST_TEST(rig.votes() == strings(3, "granted"), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(unsent_commands_do_not_count_as_in_flight, all_kinds) {
    subject s(sample, 2);
    auto& rig = s.rig;
    const auto past = std::chrono::steady_clock::now() - 1s;
    rig.withdraw(rig.submit(step::acquire, "a", "ann"));
    rig.submit(step::acquire, "a", "ann", 1h, past);
    rig.submit(step::acquire, "a", "ann");
    rig.withdraw(rig.submit(step::acquire, "a", "ann"));
    rig.submit(step::acquire, "b", "ann");
    rig.submit(step::acquire, "c", "ann");
    rig.withdraw(rig.submit(step::acquire, "a", "ann"));
    const strings expected{"failed: withdrawn", "failed: too late", "granted",
                           "failed: withdrawn", "granted",          "failed: overloaded",
                           "failed: withdrawn"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

// The rig checks that no vote comes inside `submit`.
BOOST_DATA_TEST_CASE(a_receiver_of_a_vote_may_submit, all_kinds) {
    constexpr colock::instance::command_tag last = 99;
    subject s(sample);
    auto& rig = s.rig;
    rig.after_vote = [&](colock::instance::command_tag tag) {
        if (tag < last) {
            rig.submit(tag % 2 == 0 ? step::release : step::acquire, "k", "ann");
        }
    };
    rig.submit(step::acquire, "k", "ann");
    rig.run_until([&] { return rig.order_of_votes().size() == last + 1; });
    rig.after_vote = nullptr;
    BOOST_TEST(rig.votes() == strings(last + 1, "granted"), boost::test_tools::per_element());
    // Of refused ones too, which are voted on while the batch is being sent.
    rig.after_vote = [&](colock::instance::command_tag tag) {
        if (tag < 2 * last) {
            rig.withdraw(rig.submit(step::acquire, "k", "ann"));
        }
    };
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    rig.run_until([&] { return rig.order_of_votes().size() == 2 * last + 1; });
    rig.after_vote = nullptr;
    BOOST_TEST(rig.votes() == strings(last, "failed: withdrawn"), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(no_resend_is_reported_in_normal_operation, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.flush();  // of nothing
    for (int i = 0; i != 5; ++i) {
        rig.submit(step::remaining, "k");
    }
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    rig.votes();
    rig.flush();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.pending_calls() == 0U);
}

// The rest is about instances that are given the same batch, and share what encodes it.

BOOST_DATA_TEST_CASE(each_instance_executes_all_of_a_shared_batch, all_teams) {
    instance_group all(uris_of(sample));
    all.run_until_ready();
    strings expected;
    for (int i = 0; i != 100; ++i) {  // several batches in flight
        all.submit(step::acquire, "k", "ann");
        all.submit(step::acquire, "k", "bob");
        all.flush();
        all.submit(step::extend, "k", "ann");
        all.submit(step::release, "k", "ann");
        expected.insert(expected.end(), {all_say(all, "granted"), all_say(all, "denied: another"),
                                         all_say(all, "granted"), all_say(all, "granted")});
    }
    BOOST_TEST(all.votes() == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(each_instance_executes_its_part_of_a_shared_batch, all_teams) {
    instance_group all(uris_of(sample));
    all.run_until_ready();
    all.submit(step::acquire, "k", "ann", colock::core::instance_set::only(0));
    all.submit(step::acquire, "k", "bob");
    all.submit(step::release, "k", "bob", colock::core::instance_set::only(2));
    all.submit(step::release, "k", "ann");
    const auto votes = all.votes();
    const std::string others = all.size() == 4 ? ", " + refusal(sample, 3, "denied: another") : "";
    const std::string none = all.size() == 4 ? ", none" : "";
    const strings expected{
        "granted, none, none" + none,
        "denied: another, granted, granted" + (none.empty() ? none : ", granted"),
        "none, none, granted" + none,
        "granted, " + refusal(sample, 1, "denied: another") + ", " +
            refusal(sample, 2, "denied: nobody") + others};
    BOOST_TEST(votes == expected, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(a_stopped_instance_does_not_affect_the_others, all_teams) {
    instance_group all(uris_of(sample));
    all.run_until_ready();
    all[1].stop();
    const std::string others = all.size() == 4 ? ", granted" : "";
    for (int i = 0; i != 10; ++i) {
        all.submit(step::acquire, "k", "ann");
        all.submit(step::release, "k", "ann");
        BOOST_TEST(all.votes() == strings(2, "granted, failed: down, granted" + others),
                   boost::test_tools::per_element());
    }
}

// Random scripts of which each sees another part, so that some share what is written and some do
// not; a map for each foretells the votes.
BOOST_DATA_TEST_CASE(random_shared_batches_get_the_predicted_votes, all_teams) {
    const strings keys{"k", "l", "m\0"s};
    const strings tokens{"ann", "bob", ""};
    const auto past = std::chrono::steady_clock::now() - 1ns;
    for (unsigned seed = 0; seed != 10; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            instance_group all(uris_of(sample));
            all.run_until_ready();
            std::mt19937 random(seed);
            std::vector<std::map<std::string, std::string>> models(all.size());
            strings expected;
            for (int i = 0; i != 500; ++i) {
                const std::string& key = keys[random() % keys.size()];
                const std::string& token = tokens[random() % tokens.size()];
                const step_of_kind v = all_steps[random() % all_steps.size()];
                auto for_whom = colock::core::instance_set::all();
                if (random() % 10 == 0) {
                    for_whom = {};
                    for (std::size_t n = 0; n != all.size(); ++n) {
                        if (random() % 2 == 0) {
                            for_whom.add(n);
                        }
                    }
                }
                const bool late = random() % 30 == 0;
                const bool withdrawn = random() % 30 == 0;
                const std::size_t withdrawn_from = random() % all.size();
                const auto tag = all.submit(v, key, token, for_whom, late ? past : past + 1h);
                if (withdrawn) {
                    all.withdraw(tag, withdrawn_from);
                }
                std::string& text = expected.emplace_back();
                for (std::size_t n = 0; n != all.size(); ++n) {
                    auto& model = models[n];
                    const auto found = model.find(key);
                    const bool exists = found != model.end();
                    const bool ours = exists && found->second == token;
                    const bool grant =
                        (v.step == step::acquire) ? !exists : v.step != step::remaining && ours;
                    text += n == 0 ? "" : ", ";
                    if (!for_whom.contains(n)) {
                        text += "none";
                    } else if (withdrawn && n == withdrawn_from) {
                        text += "failed: withdrawn";
                    } else if (late) {
                        text += "failed: too late";
                    } else if (!grant) {
                        const std::string denial = exists ? "denied: another" : "denied: nobody";
                        text += v.step == step::release ? refusal(sample, n, denial) : denial;
                    } else {
                        text += "granted";
                        if ((v.step == step::acquire)) {
                            model[key] = token;
                        } else if (v.step == step::release) {
                            model.erase(key);
                        }
                    }
                }
                if (random() % 8 == 0) {
                    all.flush();
                }
            }
            BOOST_TEST(all.votes() == expected, boost::test_tools::per_element());
        }
    }
}

BOOST_DATA_TEST_CASE(instances_at_one_address_share_their_keys, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    {
        instance_rig other(s.uri());
        other.run_until_ready();
        BOOST_TEST(other.acquire("k", "bob") == "denied: another");
        BOOST_TEST(other.acquire("l", "bob") == "granted");
    }
    BOOST_TEST(rig.acquire("l", "ann") == "denied: another");  // outlives who took it
    BOOST_TEST(rig.release("l", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(after_stop_every_vote_is_down, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.subject().ready());
    const auto changes = rig.state_changes();
    rig.submit(step::release, "k", "ann");  // submitted, not sent
    rig.submit(step::acquire, "l", "ann");
    rig.subject().stop();
    BOOST_TEST(!rig.subject().ready());
    BOOST_TEST(!rig.subject().starting());
    BOOST_TEST((rig.status().state == colock::instance::state::closed));
    BOOST_TEST(rig.state_changes() == changes + 1);
    BOOST_TEST(rig.votes() == strings(2, "failed: down"), boost::test_tools::per_element());

    rig.submit(step::acquire, "l", "ann");
    rig.submit(step::release, "k", "ann");
    rig.withdraw(rig.submit(step::remaining, "k"));
    const strings expected{"failed: down", "failed: down", "failed: withdrawn"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());

    rig.subject().stop();
    BOOST_TEST(rig.state_changes() == changes + 1);

    instance_rig other(s.uri());
    other.run_until_ready();
    BOOST_TEST(other.remaining("l") == "denied: nobody");
}

// Granted or lost, as it comes; but one vote each, which the rig checks.
BOOST_DATA_TEST_CASE(every_command_in_flight_at_stop_gets_one_vote, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != 100; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
        if (i % 10 == 0) {
            rig.flush();
        }
    }
    rig.subject().stop();
    for (const std::string& vote : rig.votes()) {
        BOOST_TEST(
            (vote == "granted" || vote == "failed: connection lost" || vote == "failed: down"),
            vote);
    }
}

BOOST_DATA_TEST_CASE(stop_may_be_called_inside_a_vote, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.after_vote = [&](colock::instance::command_tag) { rig.subject().stop(); };
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes().front() == "granted");
    rig.after_vote = nullptr;
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

BOOST_DATA_TEST_CASE(stop_may_be_called_inside_a_vote_on_a_withdrawn_command, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.after_vote = [&](colock::instance::command_tag) { rig.subject().stop(); };
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    const strings votes = rig.votes();
    BOOST_TEST(votes.front() == "failed: withdrawn");
    for (std::size_t i = 1; i != votes.size(); ++i) {
        BOOST_TEST((votes[i] == "failed: down" || votes[i] == "failed: connection lost"), votes[i]);
    }
    rig.after_vote = nullptr;
}

BOOST_DATA_TEST_CASE(a_ready_instance_reports_its_status_without_password, all_kinds) {
    subject s(sample);
    const auto status = s.rig.status();
    BOOST_TEST((status.state == colock::instance::state::ready));
    BOOST_TEST(status.reason.empty());
    BOOST_TEST(status.in_flight == 0U);
    BOOST_TEST(s.uri().ends_with(status.address.substr(status.address.find("://") + 3)));
    BOOST_TEST(status.address.find("word") == std::string::npos);
    BOOST_TEST(!s.rig.subject().starting());
}

/// Without any one of these rights, the server refuses the command of that name.
BOOST_AUTO_TEST_CASE(each_documented_right_is_needed) {
    redis_server server;
    for (const std::string& right : documented_rights()) {
        // Where there is a command for releases that the user may not use, they go one by one.
        const bool unused = right == "+mget" && deletes_natively(server);
        if (!right.starts_with('+') || unused) {
            continue;
        }
        BOOST_TEST_CONTEXT("without " << right) {
            server.flush();
            make_user(server, false);
            server.command({"ACL", "SETUSER", "ann", "-" + right.substr(1)});
            server.command({"CONFIG", "RESETSTAT"});
            auto settings = quick_settings();
            settings.connection.silence_timeout = 200ms;
            instance_rig rig(
                "redis://ann:p%40ss%3Aword@127.0.0.1:" + std::to_string(server.port()) + "/1",
                settings);
            rig.run_until([&] { return rig.subject().ready() || !rig.status().reason.empty(); });
            if (right == "+eval") {
                server.command({"SCRIPT", "FLUSH"});
            }
            server.command({"RPUSH", "list", "1"}, 1);
            rig.submit(step::extend, "list", "ann");
            rig.submit(step::join, "k", {}, 10min, colock::core::never,
                       colock::core::instance_set::all(),
                       7);  // the others look for its ticket
            for (const step_of_kind& v : std::initializer_list<step_of_kind>{
                     step::acquire, step::extend, step::remaining, step::join, step::leave,
                     fenced_acquire, step::release, step::release}) {
                rig.submit(v, v == fenced_acquire ? "fenced" : "k", "ann");
            }
            for (const std::string& reader : {ann_reads, bob_reads, cid_reads}) {
                rig.submit(joins, "shared", reader);
            }
            rig.submit(claims, "shared", "da");
            rig.submit(unmarks, "shared", "da");
            rig.submit(of_reader(step::release), "shared", ann_reads);
            rig.run_until_voted();
            const std::string statistics = "cmdstat_" + right.substr(1) + ":";
            const auto refused = [&] {
                const std::string info = server.command({"INFO", "commandstats"}).value_or("");
                const auto begin = info.find(statistics);
                const auto line =
                    info.substr(std::min(begin, info.size()), info.find('\n', begin) - begin);
                return line.find("rejected_calls=") != std::string::npos &&
                       line.find("rejected_calls=0") == std::string::npos;
            };
            rig.run_until(refused);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

// Readers and writers of one name, and exclusive locks on it.
BOOST_AUTO_TEST_SUITE(conformance_of_shared)

namespace {

/// What a reader asks.
std::string ask(subject& s, const step_of_kind& what, const std::string& token,
                milliseconds ttl = 10min) {
    return to_text(s.rig.ask(what, "k", token, ttl));
}

/// A reader's ttl that is long enough for a test to look at, and over soon.
constexpr milliseconds short_life = 150ms;

/// How long the key lives.
milliseconds life_of_key(subject& s) {
    return s.rig.ask(step::remaining, "k").remaining;
}

}  // namespace

BOOST_DATA_TEST_CASE(readers_share_the_lock_and_keep_writers_out, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");  // the first attempt only looks
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, joins, cid_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "denied: another");
    BOOST_TEST(ask(s, writes, "da") == "denied: another");
    for (const std::string& reader : {ann_reads, bob_reads, cid_reads}) {
        BOOST_TEST(ask(s, of_reader(step::extend), reader) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), reader) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), reader) == "denied: nobody");
        BOOST_TEST(ask(s, of_reader(step::extend), reader) == "denied: nobody");
    }
    BOOST_TEST(ask(s, writes, "da") == "granted");
    BOOST_TEST(ask(s, looks, ann_reads) == "denied: another");
    BOOST_TEST(ask(s, joins, ann_reads) == "denied: another");
    BOOST_TEST(ask(s, step::acquire, "ee") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "denied: another");
    BOOST_TEST(ask(s, step::release, "da") == "granted");
    BOOST_TEST(ask(s, step::acquire, "ee") == "granted");  // as any exclusive lock
    BOOST_TEST(ask(s, joins, ann_reads) == "denied: another");
}

BOOST_DATA_TEST_CASE(repeated_acquires_of_a_share_need_one_release, all_kinds) {
    subject s(sample);
    for (int i = 0; i != 3; ++i) {  // a reply that was lost, say
        BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    }
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "denied: nobody");
    BOOST_TEST(ask(s, step::acquire, "da") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "granted");
}

/// Fault 37: one's renewal does not keep another alive.
BOOST_TEST_DECORATOR(*label("fault-37"))
BOOST_DATA_TEST_CASE(a_share_expires_although_another_is_renewed, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads, 10min) == "granted");
    BOOST_TEST(ask(s, joins, bob_reads, short_life) == "granted");
    s.rig.run_until([&] {  // bob dies, whatever ann does
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 10min) == "granted");
        return ask(s, of_reader(step::extend), bob_reads, 1ms) == "denied: nobody";
    });
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "denied: nobody");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "granted");
}

/// Fault 38: a short share shortens no other, and the key lives as long as the last.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(a_short_share_does_not_shorten_a_long_one, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads, 10min) == "granted");
    BOOST_TEST(ask(s, joins, cid_reads, short_life) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(life_of_key(s) <= short_life);
    s.rig.run_until([&] { return ask(s, step::acquire, "da") == "granted"; });
}

/// Fault 38: nor does an extend for less time.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(an_extend_shortens_no_share, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads, 10min);
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    ask(s, joins, bob_reads, 5min);
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 1ms) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), bob_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(life_of_key(s) > 4min);
    BOOST_TEST(life_of_key(s) <= 5min);
}

/// Fault 38: nor does an acquire that is executed once more, as what was sent first may be executed last.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(a_repeated_acquire_does_not_shorten_a_share, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads, 10min);
    BOOST_TEST(ask(s, joins, ann_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    ask(s, joins, bob_reads, 5min);
    for (const step_of_kind& again : {joins, looks.healing(), joins_fenced}) {
        BOOST_TEST(ask(s, again, ann_reads, 1ms) == "granted");
        BOOST_TEST(life_of_key(s) > 9min);
    }
}

BOOST_DATA_TEST_CASE(a_waiting_writer_keeps_new_readers_out, all_kinds) {
    subject s(sample);
    for (const step_of_kind& first : {looks, joins}) {
        BOOST_TEST(ask(s, first, ann_reads) == "granted");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: awaited");
        BOOST_TEST(ask(s, joins_fenced, bob_reads) == "denied: awaited");
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted: awaited");
        BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: awaited");
        BOOST_TEST(ask(s, step::acquire, "ee") ==
                   "denied: another");  // for as long as the mark lives
        BOOST_TEST(life_of_key(s) <= colock::kinds::writer_mark_ttl);
        BOOST_TEST(ask(s, claims, "da") == "granted");
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// Fault 43: a writer that asks right after the readers have left does not wait for its own mark to end.
BOOST_TEST_DECORATOR(*label("fault-43"))
BOOST_DATA_TEST_CASE(a_writer_mark_does_not_block_writers, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    const auto way_of = [&s](const lock_kind& kind) {
        return s.rig.ask({step::remaining, kind}, "k");
    };
    const auto expect_left = [&](std::chrono::milliseconds from, std::chrono::milliseconds to) {
        for (const auto* kind : {&writer, &fenced_writer}) {
            const auto vote = way_of(*kind);
            BOOST_TEST(to_text(vote) == "denied: another");
            BOOST_TEST((vote.remaining > from && vote.remaining <= to), vote.remaining.count());
        }
    };
    BOOST_TEST(ask(s, looks, ann_reads, 5min) == "granted");
    expect_left(4min, 5min);
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    expect_left(4min, 5min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    for (const auto* kind : {&writer, &fenced_writer}) {
        BOOST_TEST(to_text(way_of(*kind)) == "denied: nobody");
    }
    for (const auto* kind : {&exclusive, &shared}) {  // the mark keeps these out
        BOOST_TEST(to_text(way_of(*kind)) == "denied: another");
    }
    BOOST_TEST(ask(s, claims, "da", 7min) == "granted");
    expect_left(6min, 7min);
    BOOST_TEST(ask(s, step::release, "da") == "granted");

    // A reader that expires before the mark does, and one of several that expires last.
    s.rig.run_until([&] {
        ask(s, looks, ann_reads, 30ms);
        const bool denied = ask(s, claims, "da") == "denied: another";
        ask(s, step::release, "da");  // it came too late, if it was granted
        return denied;
    });
    s.rig.run_until([&] { return to_text(way_of(writer)) == "denied: nobody"; });
    BOOST_TEST(to_text(way_of(exclusive)) == "denied: another");
    s.rig.run_until([&] { return ask(s, looks, ann_reads, 3min) == "granted"; });
    ask(s, joins, bob_reads, 9min);
    expect_left(8min, 9min);
}

/// Fault 42: a writer that has given up keeps readers out no longer than its mark lives.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(an_abandoned_writer_mark_expires, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads);
    ask(s, claims, "da");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: awaited");
    const auto begun = std::chrono::steady_clock::now();
    s.rig.run_until([&] { return ask(s, joins, bob_reads) == "granted"; });
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 2 * colock::kinds::writer_mark_ttl));
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");
}

/// Fault 42: a writer that waits no more takes its mark back, and nothing else.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(a_writer_removes_its_writer_mark, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: awaited");
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // no writer waits
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
    BOOST_TEST(life_of_key(s) > 100ms);
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, writes, "ee") == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, step::extend, "ee") == "granted");
}

/// Fault 42: it takes back its own, and the others keep readers out.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(each_writer_has_its_own_writer_mark, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, claims, "ee") == "denied: another");
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: awaited");
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted: awaited");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, unmarks, "ee") == "granted");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");

    // When the readers have left, the key lives as long as the last mark.
    BOOST_TEST(ask(s, claims, "ee") == "denied: another");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
    BOOST_TEST(life_of_key(s) > 100ms);
    BOOST_TEST(ask(s, claims, "ff") == "granted");  // the marks are in no writer's way
}

/// Fault 42: the mark of a writer that stops waiting does not keep readers out.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(a_writer_that_does_not_wait_leaves_no_mark, all_kinds) {
    subject s(sample);
    for (const step_of_kind& first : {looks, joins}) {
        BOOST_TEST(ask(s, first, ann_reads) == "granted");
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // no writer waits
        BOOST_TEST(ask(s, joins, bob_reads) == "granted");
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "denied: another");
        BOOST_TEST(ask(s, joins, cid_reads) == "granted");

        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, claims.without_waiting(), "ee") == "denied: another");
        BOOST_TEST(ask(s, joins, reader_of("ff")) == "denied: awaited");  // "da" still waits
        for (const std::string& reader : {ann_reads, bob_reads, cid_reads}) {
            BOOST_TEST(ask(s, of_reader(step::release), reader) == "granted");
        }
        BOOST_TEST(life_of_key(s) > 100ms);
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "granted");  // a mark stops no writer
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// Fault 40: write to read in one step.
BOOST_TEST_DECORATOR(*label("fault-40"))
BOOST_DATA_TEST_CASE(a_writer_becomes_a_reader_without_a_gap, all_kinds) {
    subject s(sample);
    const std::string writer = token_of("da");
    BOOST_TEST(ask(s, writes, writer) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("ee")) == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, step::extend, writer) == "denied: another");
    BOOST_TEST(ask(s, step::release, writer) == refusal(sample, "denied: another"));
    BOOST_TEST(ask(s, writes, "ee") == "denied: another");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    // Where the step has not come, the release of the reader releases what the writer has.
    BOOST_TEST(ask(s, writes, writer) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_reader_sees_the_fence_of_the_last_writer, all_kinds) {
    subject s(sample);
    const step_of_kind writes_fenced{step::acquire, colock::kinds::fenced_writer};
    const step_of_kind reads_fenced{step::acquire, colock::kinds::fenced_shared};
    // The counter is ahead of the clock, so that no second passes for it.
    constexpr std::uint64_t far = 1ULL << 52U;
    const auto first = s.rig.ask_fence(reads_fenced, "k", ann_reads, far);
    BOOST_TEST(to_text(first) == "granted");
    BOOST_TEST(first.fence == far);
    BOOST_TEST(s.rig.ask(reads_fenced, "k", bob_reads).fence == first.fence);
    ask(s, of_reader(step::release), ann_reads);
    ask(s, of_reader(step::release), bob_reads);
    const auto written = s.rig.ask(writes_fenced, "k", "da");
    BOOST_TEST(written.fence > first.fence);
    ask(s, step::release, "da");
    BOOST_TEST(s.rig.ask(reads_fenced, "k", ann_reads).fence == written.fence);
    // Of a quorum whose instances do not agree, the largest is written back.
    const step_of_kind confirms{step::confirm, colock::kinds::fenced_shared};
    BOOST_TEST(to_text(s.rig.ask_fence(confirms, "k", bob_reads, written.fence + 5)) ==
               "denied: another");
    BOOST_TEST(s.rig.ask_fence(confirms, "k", ann_reads, written.fence + 5).fence ==
               written.fence + 5);
    BOOST_TEST(s.rig.ask(reads_fenced, "k", bob_reads).fence == written.fence + 5);
}

/// Fault 86: a server that came back with older data has a counter that is behind the last writer's.
BOOST_AUTO_TEST_CASE(a_reader_gets_a_larger_fence_after_a_counter_loss, *label("fault-86")) {
    subject s(kind::tcp);
    const step_of_kind writes_fenced{step::acquire, colock::kinds::fenced_writer};
    const step_of_kind reads_fenced{step::acquire, colock::kinds::fenced_shared};
    const step_of_kind counts{step::count, colock::kinds::fenced_shared};
    const std::string counter = colock::kinds::fence_key("k");
    const std::uint64_t older = s.rig.ask(writes_fenced, "k", "da").fence;
    ask(s, step::release, "da");
    const std::uint64_t last = s.rig.ask(writes_fenced, "k", "da").fence;
    ask(s, step::release, "da");
    const auto forget_last_writer = [&] {
        shared_server().command({"SET", counter, std::to_string(older)});
    };
    // Such a server is back a second later at the earliest: before that, the clock says nothing.
    // Another reader is there, whose lock is not fenced.
    BOOST_TEST(ask(s, looks, bob_reads) == "granted");
    s.rig.run_until([&] {
        forget_last_writer();
        return s.rig.ask(reads_fenced, "k", ann_reads).fence > last;
    });
    forget_last_writer();
    BOOST_TEST(s.rig.ask_fence(counts, "k", ann_reads).fence > last);  // while the slot moves
}

/// A share that is put back was not denied before, and joins the other readers nevertheless.
BOOST_DATA_TEST_CASE(a_restored_share_joins_readers_but_overtakes_no_writer, all_kinds) {
    subject s(sample);
    for (const auto* kind : {&colock::kinds::shared, &colock::kinds::fenced_shared}) {
        const step_of_kind heals = step_of_kind(step::acquire, *kind).healing();
        BOOST_TEST(ask(s, looks, ann_reads) == "granted");
        BOOST_TEST(ask(s, heals, bob_reads) == "granted");
        BOOST_TEST(ask(s, heals, ann_reads, 1ms) == "granted");  // which shortens nothing
        BOOST_TEST(life_of_key(s) > 9min);
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, heals, cid_reads) == "denied: awaited");
        BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
        BOOST_TEST(ask(s, heals, ann_reads) == "denied: awaited");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
        BOOST_TEST(ask(s, claims, "da") == "granted");
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// Its share is in the key for as long as that has other readers and nobody looks.
BOOST_DATA_TEST_CASE(a_reader_with_an_expired_share_cannot_confirm_a_fence, all_kinds) {
    subject s(sample);
    const step_of_kind reads_fenced{step::acquire, colock::kinds::fenced_shared};
    const step_of_kind confirms{step::confirm, colock::kinds::fenced_shared};
    constexpr std::uint64_t far = 1ULL << 52U;
    BOOST_TEST(s.rig.ask_fence(reads_fenced, "k", ann_reads, far).fence == far);
    BOOST_TEST(to_text(s.rig.ask(reads_fenced, "k", bob_reads, short_life)) == "granted");
    s.rig.run_until(
        [&] { return ask(s, of_reader(step::extend), bob_reads, 1ms) == "denied: nobody"; });
    BOOST_TEST(to_text(s.rig.ask_fence(confirms, "k", bob_reads, far + 5)) == "denied: another");
    BOOST_TEST(s.rig.ask_fence(confirms, "k", ann_reads, far).fence == far);
}

/// Fault 21: the mark would keep readers out for as long as the server's clock was set back. (In memory: see the unit test.)
BOOST_AUTO_TEST_CASE(a_writer_mark_expires_after_the_clock_is_set_back, *label("fault-21")) {
    subject s(kind::tcp);
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    // The mark would live for an hour. (A set's clock shows the end of its longest member less the key's PTTL.)
    const auto leave_old_mark = [] {
        const redis_server& server = shared_server();
        const std::string last = server.command({"ZRANGE", "k", "-1", "-1", "WITHSCORES"}).value();
        const long long ends = std::stoll(last.substr(last.find('\n') + 1));
        const long long now = ends - std::stoll(server.command({"PTTL", "k"}).value());
        const long long hour = milliseconds(1h).count();
        server.command({"ZADD", "k", std::to_string(-(now + hour)), "writer:7"});
        server.command({"PEXPIRE", "k", std::to_string(hour)});
    };
    for (const bool waits : {true, false}) {
        leave_old_mark();
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // no writer waits
        BOOST_TEST(ask(s, joins, cid_reads) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), cid_reads) == "granted");
        leave_old_mark();
        const auto begun = std::chrono::steady_clock::now();
        BOOST_TEST(ask(s, waits ? claims : claims.without_waiting(), "da") == "denied: another");
        s.rig.run_until([&] { return ask(s, joins, cid_reads) == "granted"; });
        const auto lived = std::chrono::steady_clock::now() - begun;
        const milliseconds own = waits ? colock::kinds::writer_mark_ttl : 0ms;
        BOOST_TEST((lived > own - 50ms));  // by another clock
        BOOST_TEST((lived < 2 * colock::kinds::writer_mark_ttl));
        BOOST_TEST(ask(s, of_reader(step::release), cid_reads) == "granted");
    }
    leave_old_mark();
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
    BOOST_TEST((life_of_key(s) <= colock::kinds::writer_mark_ttl));
}

/// Clients that have asked for the key would be told of a change. (In memory: see the unit test.)
BOOST_AUTO_TEST_CASE(a_writer_that_does_not_wait_changes_no_key) {
    subject s(kind::tcp);
    const auto changes = [] {
        const std::string info = shared_server().command({"INFO", "persistence"}).value_or("");
        const std::string field = "rdb_changes_since_last_save:";
        return std::stol(info.substr(info.find(field) + field.size()));
    };
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    for (const std::string writer : {"da", "db"}) {  // the first comes while there is no mark
        const long before = changes();
        BOOST_TEST(ask(s, claims.without_waiting(), "ee") == "denied: another");
        BOOST_TEST(changes() == before, writer);
        BOOST_TEST(ask(s, claims, writer) == "denied: another");
        BOOST_TEST(changes() != before, writer);
    }
}

/// Fault 85: a token of another library may begin as a reader's.
BOOST_AUTO_TEST_CASE(a_foreign_token_with_a_reader_prefix_counts_as_exclusive, *label("fault-85")) {
    subject s(kind::tcp);
    for (const std::string& token :
         {"reader:42"s, "reader:"s, ann_reads + "0", ann_reads.substr(0, ann_reads.size() - 1),
          "reader:"s + std::string(40, 'A'), "reader:"s + std::string(40, 'g')}) {
        shared_server().command({"SET", "k", token, "PX", "600000"});
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), bob_reads) == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "denied: another");
        BOOST_TEST(shared_server().command({"GET", "k"}).value() == token);
    }
}

/// Fault 34: what is not ours is left alone, even if it is of the same type.
BOOST_AUTO_TEST_CASE(a_foreign_sorted_set_is_left_alone, *label("fault-34")) {
    subject s(kind::tcp);
    for (const strings& members :
         {strings{"1", "x"}, strings{"1", ann_reads, "2", "x"}, strings{"-1", "writer:7", "2", "x"},
          strings{"1", "writer"}, strings{"1", "reader:zz"}, strings{"1", "reader:42"},
          strings{"1", ann_reads + "0"}}) {
        strings command{"ZADD", "k"};
        command.insert(command.end(), members.begin(), members.end());
        shared_server().flush();
        shared_server().command(command);
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), bob_reads) != "granted");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) != "granted");
        BOOST_TEST(ask(s, step::release, "da").starts_with("denied"));
        BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
        BOOST_TEST(shared_server().command({"ZCARD", "k"}).value_or("") ==
                   std::to_string(members.size() / 2));
    }
}

namespace {

/// A server and memory that are asked the same.
class twins {
public:
    explicit twins(kind of_server)
        : of_server_(of_server), server_(of_server), memory_(kind::memory) {}

    void ask(const step_of_kind& what, const std::string& key, const std::string& token,
             milliseconds ttl, std::uint64_t number) {
        if (asked_.empty()) {
            begun_ = std::chrono::steady_clock::now();
        }
        for (subject* const of : {&memory_, &server_}) {
            const auto tag = of->rig.submit(what, key, token, ttl, colock::core::never,
                                            colock::core::instance_set::all(), number);
            if (of == &server_) {
                asked_.push_back({what, key, tag});
            }
        }
    }

    /// Both have voted alike on what they were asked since the last time. `with_vote` hears of each vote. False, and nothing is
    /// compared, if a writer's mark may have ended meanwhile: they need not notice it at the same step.
    template <typename Function>
    [[nodiscard]] bool compare(Function with_vote) {
        const strings theirs = server_.rig.votes();
        const strings ours = memory_.rig.votes();
        const auto now = std::chrono::steady_clock::now();
        if (now - made_ >= colock::kinds::writer_mark_ttl) {
            return false;
        }
        longest_ = std::max(longest_, now - begun_);
        BOOST_TEST_REQUIRE(theirs.size() == asked_.size());
        for (std::size_t i = 0; i != asked_.size(); ++i) {
            const question& q = asked_[i];
            BOOST_TEST_CONTEXT(q.what.kind->traits().name << " " << static_cast<int>(q.what.step)
                                                          << " of " << q.key) {
                const bool alike = theirs[i] == ours[i] || is_refused(q, theirs[i], ours[i]);
                BOOST_TEST_REQUIRE(alike, theirs[i] << ", in memory " << ours[i]);
                compare_values(q, server_.rig.vote_on(q.tag), memory_.rig.vote_on(q.tag));
                with_vote(q.what, server_.rig.vote_on(q.tag));
            }
        }
        asked_.clear();
        return true;
    }

private:
    struct question {
        step_of_kind what;
        std::string key;
        colock::instance::command_tag tag;
    };

    /// A command of the server's own does not tell whose the key is, unless it is of a type that it refuses.
    [[nodiscard]] bool is_refused(const question& q, const std::string& theirs,
                                  const std::string& ours) const {
        return q.what.step == step::release && q.what.kind->traits().released_natively &&
               ours != "granted" && theirs == refusal(of_server_, ours);
    }

    void compare_values(const question& q, const colock::core::vote& theirs,
                        const colock::core::vote& ours) {
        const bool granted = ours.kind == colock::core::vote_kind::granted;
        if (q.what.kind == &colock::kinds::remote_queue) {
            BOOST_TEST_REQUIRE(theirs.ticket == ours.ticket);
        } else if (q.what.step == step::remaining) {
            // Each was asked, and had its key written, some time in a batch. They round to milliseconds, and so do scripts.
            const auto apart = theirs.remaining < ours.remaining
                                   ? ours.remaining - theirs.remaining
                                   : theirs.remaining - ours.remaining;
            BOOST_TEST_REQUIRE((apart <= 2 * longest_ + 3ms), theirs.remaining.count()
                                                                  << " ms, in memory "
                                                                  << ours.remaining.count());
        } else if (granted && q.what.kind->traits().fenced && moves_counter(q.what.step)) {
            compare_fences(q.key, theirs.fence, ours.fence);
        } else {
            BOOST_TEST_REQUIRE((theirs.remaining == ours.remaining));  // there is none
        }
    }

    static bool moves_counter(step s) {
        return s == step::acquire || s == step::confirm || s == step::count;
    }

    /// A counter ahead of the clock is the same in both. Any other begins at its server's clock, and moves to the second
    /// when it is counted for the first time in that.
    void compare_fences(const std::string& key, std::uint64_t theirs, std::uint64_t ours) {
        const auto at_second = [](std::uint64_t fence) { return fence % (1U << 20U) == 0; };
        const auto [last, is_new] = fences_.try_emplace(key, theirs, ours);
        const auto& [their_last, our_last] = last->second;
        const std::string text = std::to_string(theirs) + ", in memory " + std::to_string(ours);
        if (theirs >= ahead_of_clock || ours >= ahead_of_clock) {
            BOOST_TEST_REQUIRE(theirs == ours);
        } else if (is_new) {
            const auto apart =
                std::max(theirs >> 20U, ours >> 20U) - std::min(theirs >> 20U, ours >> 20U);
            BOOST_TEST_REQUIRE((std::chrono::seconds(apart) <= longest_ + 1s), text);
        } else {
            BOOST_TEST_REQUIRE((theirs >= their_last && ours >= our_last), text);
            BOOST_TEST_REQUIRE(
                (theirs - their_last == ours - our_last || at_second(theirs) || at_second(ours)),
                text);
        }
        last->second = {theirs, ours};
    }

public:
    static constexpr std::uint64_t ahead_of_clock = 1ULL << 52U;

private:
    kind of_server_;
    subject server_;
    subject memory_;
    std::vector<question> asked_;
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> fences_;
    const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::duration longest_{};
};

/// All steps of all kinds.
std::vector<step_of_kind> every_step() {
    using namespace colock::kinds;
    std::vector<step_of_kind> result{step::join, step::leave};
    for (const auto* kind :
         {&exclusive, &fenced, &writer, &fenced_writer, &shared, &fenced_shared}) {
        result.emplace_back(step::acquire, *kind);
        result.emplace_back(step::acquire, *kind, true);
        result.push_back(step_of_kind(step::acquire, *kind).healing());
        for (const step one : {step::extend, step::release, step::remaining}) {
            result.emplace_back(one, *kind);
        }
        if (kind->traits().fenced) {
            result.emplace_back(step::confirm, *kind);
            result.emplace_back(step::count, *kind);
        }
        if (kind->traits().clears_the_way) {
            result.emplace_back(step::unmark, *kind);
        }
    }
    return result;
}

/// What a step has to do at least once, so that to compare it means something.
bool is_done(const step_of_kind& what, const colock::core::vote& vote) {
    return what.step == step::remaining ? vote.remaining > 1min
                                        : vote.kind == colock::core::vote_kind::granted;
}

}  // namespace

/// Whatever is asked of all kinds, memory says what a server says.
BOOST_DATA_TEST_CASE(memory_instances_and_servers_give_the_same_votes,
                     data::make({kind::tcp, kind::user})) {
    constexpr std::uint64_t ahead = twins::ahead_of_clock;
    // Each key with what its counter begins with: far from the clock, with the clock, or with few numbers left.
    const std::vector<std::pair<std::string, std::uint64_t>> keys{
        {"k", ahead}, {"l", 0}, {"m", colock::core::fence_limit - 9}};
    const strings holders{token_of("da"), token_of("ee")};
    const strings readers{ann_reads, bob_reads, reader_of("da")};
    const std::array<milliseconds, 3> ttls{5min, 10min, 20min};
    const std::vector<step_of_kind> steps = every_step();
    std::vector<std::size_t> done(steps.size());
    for (unsigned seed = 0; seed != 20; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            twins both(sample);
            std::mt19937 random(seed);
            const auto note = [&](const step_of_kind& what, const colock::core::vote& vote) {
                const auto place = std::find(steps.begin(), steps.end(), what) - steps.begin();
                done[static_cast<std::size_t>(place)] += is_done(what, vote) ? 1 : 0;
            };
            for (const auto& [key, fence] : keys) {
                both.ask(step::count, key, "", 0ms, fence);
            }
            bool goes_on = both.compare(note);
            for (int i = 0; i != 500 && goes_on; ++i) {
                const step_of_kind& what = steps[random() % steps.size()];
                const bool reads =
                    what.kind->traits().admission == colock::kinds::admission::shared;
                const bool queues = what.kind == &colock::kinds::remote_queue;
                const strings& tokens = reads ? readers : holders;
                const auto& [key, fence] = keys[random() % keys.size()];
                const std::string token = queues ? "" : tokens[random() % tokens.size()];
                const std::uint64_t number = queues             ? 1 + random() % 4
                                             : random() % 4 > 0 ? 0
                                             : key == "k"       ? ahead + random() % 200
                                                                : 7;
                both.ask(what, key, token, ttls[random() % ttls.size()], number);
                // In batches, so that adjacent releases are one call. (Not where a command of the server's own may refuse one
                // for the key's type: that is sent again, and then comes after the others.)
                if (random() % 8 == 0 || i == 499 || deletes_natively(shared_server())) {
                    goes_on = both.compare(note);
                }
            }
        }
    }
    for (std::size_t i = 0; i != steps.size(); ++i) {
        BOOST_TEST(done[i] != 0U, steps[i].kind->traits().name << " "
                                                               << static_cast<int>(steps[i].step)
                                                               << " was never granted");
    }
}

BOOST_AUTO_TEST_SUITE_END()
