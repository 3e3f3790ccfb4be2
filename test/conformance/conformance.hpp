// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_CONFORMANCE_CONFORMANCE_HPP
#define COLOCK_TEST_CONFORMANCE_CONFORMANCE_HPP

#include "integration/instance_rig.hpp"
#include "integration/locks.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "support/documented_rights.hpp"
#include "support/redis_server.hpp"
#include "support/step_of_kind.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

// Every kind of instance gives the same votes. The same steps run against a memory instance and against real
// servers. A server is reached over TCP, over a UNIX socket, and as a user of one database. That user has
// only the rights that docs/permissions.md lists.

namespace colock::test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using boost::unit_test::label;
using core::key_state;
using core::step;
using core::vote;
using core::vote_kind;

using strings = std::vector<std::string>;

inline constexpr unsigned database_of_user = 5;

/// Returns the one server of a test program. Each test empties it first.
inline redis_server& shared_server() {
    static redis_server server;
    return server;
}

/// Creates the user "ann". With `natively`, the user may also use the native release command of the server.
inline void make_user(redis_server& server, bool natively) {
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

/// Returns a token like those of the client: 40 hexadecimal digits that begin with `digits`.
inline std::string token_of(std::string digits) {
    constexpr std::size_t length = 40;
    digits.resize(length, '0');
    return digits;
}
inline std::string reader_of(const std::string& digits) {
    return std::string(kinds::reader_prefix) + token_of(digits);
}
inline const std::string ann_reads = reader_of("a");
inline const std::string bob_reads = reader_of("b");
inline const std::string cid_reads = reader_of("c");

inline const std::string ann = token_of("a");
inline const std::string bob = token_of("b");

/// The attempts of readers and writers: the first attempt, and attempts after a denial.
inline const step_of_kind looks{step::acquire, kinds::shared};
inline const step_of_kind joins{step::acquire, kinds::shared, true};
inline const step_of_kind joins_fenced{step::acquire, kinds::fenced_shared, true};
inline const step_of_kind writes{step::acquire, kinds::writer};
inline const step_of_kind claims{step::acquire, kinds::writer, true};
inline const step_of_kind unmarks{step::withdraw, kinds::writer};

inline step_of_kind of_reader(step s) {
    return {s, kinds::shared};
}

enum class kind { memory, tcp, unix_socket, user };

inline std::ostream& operator<<(std::ostream& out, kind k) {
    static constexpr std::array<const char*, 4> names{"memory", "tcp", "unix_socket", "user"};
    return out << names.at(static_cast<std::size_t>(k));
}

/// Returns the URI of an instance of that kind. Instances with different numbers, below 8, share no keys.
inline std::string uri_of(kind k, unsigned number = 0) {
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

inline const auto all_kinds =
    boost::unit_test::data::make({kind::memory, kind::tcp, kind::unix_socket, kind::user});
/// The kinds that are compared with a memory instance.
inline const auto compared_kinds = boost::unit_test::data::make({kind::tcp, kind::user});

/// Returns the vote on a release by a token that does not hold the key. A native release command of the
/// server does not report the holder.
inline std::string refusal(kind k, const std::string& vote) {
    static const bool natively = deletes_natively(shared_server());
    return k != kind::memory && natively ? "denied: not ours" : vote;
}

/// The instance under test. It is ready and has no keys.
class subject {
public:
    explicit subject(kind k, std::size_t max_in_flight = 65536)
        : kind_(k), settings_(settings_for(max_in_flight)), uri_(prepare(k)), rig(uri_, settings_) {
        rig.run_until_ready();
    }

    /// Sends a step with a number to the name "k", and returns the vote.
    vote ask(const step_of_kind& what, const std::string& token = "", milliseconds ttl = 10min,
             std::uint64_t value = 0) {
        const auto tag =
            rig.submit(what, "k", token, ttl, core::never, core::instance_set::all(), value);
        rig.run_until_voted();
        return rig.vote_on(tag);
    }

    /// Creates a key that is not a lock and that expires after ten minutes.
    void plant_foreign_key(const std::string& key) {
        if (kind_ == kind::memory) {  // A memory instance has no other types.
            BOOST_TEST(rig.acquire(key, "foreign", 10min) == "granted");
        } else {
            const unsigned database = kind_ == kind::user ? database_of_user : 0;
            shared_server().command({"RPUSH", key, "foreign"}, database);
            shared_server().command({"PEXPIRE", key, "600000"}, database);
        }
    }

    [[nodiscard]] const std::string& uri() const { return uri_; }

private:
    static instance::redis::redis_settings settings_for(std::size_t max_in_flight) {
        auto settings = quick_settings();
        settings.max_in_flight = max_in_flight;
        return settings;
    }

    static std::string prepare(kind k) {
        shared_server().flush();
        return uri_of(k);
    }

    kind kind_;
    instance::redis::redis_settings settings_;
    std::string uri_;

public:
    instance_rig rig;
};

/// Checks that locks of other kinds do not get the name "k". Their denials name the kind of its value.
inline void check_is_no_lock(instance_rig& rig, const std::string& value) {
    const step_of_kind permit{step::acquire, kinds::semaphore(3, 1), true};
    for (const vote& denial :
         {rig.ask({step::extend, kinds::exclusive}, "k", bob), rig.ask(joins, "k", ann_reads),
          rig.ask(joins_fenced, "k", ann_reads), rig.ask(permit, "k", "permit:3*1:" + bob),
          rig.ask({step::remaining, kinds::writer}, "k", bob), rig.ask(fenced_acquire, "k", bob)}) {
        BOOST_TEST((denial.kind == vote_kind::denied));
        BOOST_TEST((denial.key == key_state::other_kind));
        BOOST_TEST((denial.detail && *denial.detail == value));
    }
    BOOST_TEST(rig.acquire("k", bob) == "denied: another");
}

/// Calls the function with a generator of random numbers and its seed, for each of the seeds.
template <typename Function>
void for_each_seed(unsigned seeds, Function function) {
    for (unsigned seed = 0; seed != seeds; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            function(random, seed);
        }
    }
}

/// Returns a random step of a holder. Every second one is an acquire.
inline step random_step(std::mt19937& random) {
    return std::array{step::acquire, step::acquire,   step::acquire,
                      step::extend,  step::remaining, step::release}
        .at(random() % 6);
}

inline milliseconds random_ttl(std::mt19937& random) {
    return std::array<milliseconds, 3>{5min, 10min, 20min}.at(random() % 3);
}

}  // namespace colock::test

#endif
