// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Behaviour that all lock kinds share: the rights that they need, and equal votes from memory and from
// servers.

#include "conformance.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/once/once.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/shared/shared.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(all_kinds_test)

using namespace colock::test;

namespace {

/// Sends the same steps to a server and to a memory instance.
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

    /// Compares all votes since the last call, and passes each vote to `with_vote`. Returns false without a
    /// comparison if a writer mark may have expired. The two instances may notice that at different steps.
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

    /// A native compare-and-delete command does not report the owner of a key. It only refuses keys of some
    /// types.
    [[nodiscard]] bool is_refused(const question& q, const std::string& theirs,
                                  const std::string& ours) const {
        return q.what.step == step::release && q.what.kind->traits().released_natively &&
               ours != "granted" && theirs == refusal(of_server_, ours);
    }

    void compare_values(const question& q, const vote& theirs, const vote& ours) {
        const bool granted = ours.kind == vote_kind::granted;
        if (q.what.kind == &colock::kinds::remote_queue) {
            BOOST_TEST_REQUIRE(theirs.value == ours.value);
        } else if (q.what.step == step::remaining) {
            // A batch takes time, so the two keys are written and read at different moments. Both sides, and
            // the scripts, also round to milliseconds.
            const auto apart = theirs.remaining < ours.remaining
                                   ? ours.remaining - theirs.remaining
                                   : theirs.remaining - ours.remaining;
            BOOST_TEST_REQUIRE((apart <= 2 * longest_ + 3ms), theirs.remaining.count()
                                                                  << " ms, in memory "
                                                                  << ours.remaining.count());
        } else if (granted && q.what.kind->traits().value_per_holder &&
                   moves_counter(q.what.step)) {
            compare_fences(q.key, theirs.value, ours.value);
        } else {
            BOOST_TEST_REQUIRE((theirs.remaining == ours.remaining));  // Both are 0.
        }
    }

    static bool moves_counter(step s) { return s == step::acquire || s == step::confirm; }

    /// If a counter is ahead of the clock, both sides have the same value. Any other counter starts at the
    /// clock of its instance. It moves to the current second with the first count in that second.
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

/// Returns all steps of all kinds.
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
        if (kind->traits().value_per_holder) {
            result.emplace_back(step::confirm, *kind);
            result.push_back(counts_of(*kind));
        }
        if (kind->announces()) {
            result.emplace_back(step::withdraw, *kind);
        }
    }
    // Leaves out the step that records a result: after it, no other step could change the name.
    for (const step one : {step::acquire, step::extend, step::release, step::remaining}) {
        result.emplace_back(one, once);
    }
    result.push_back(step_of_kind(step::look, once).explaining());
    result.emplace_back(step::inspect, inspection);
    return result;
}

/// Returns true if the vote shows that the step had an effect. Each step must have one at least once, or the
/// comparison proves nothing.
bool is_done(const step_of_kind& what, const vote& vote) {
    return what.step == step::remaining ? vote.remaining > 1min : vote.kind == vote_kind::granted;
}

}  // namespace

/// For every kind, a restoring acquire creates a missing key with the ttl that it is given.
BOOST_DATA_TEST_CASE(a_restore_recreates_a_missing_key, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    auto& rig = s.rig;
    for (const auto* kind :
         {&exclusive, &fenced, &writer, &fenced_writer, &shared, &fenced_shared}) {
        BOOST_TEST_CONTEXT(kind->traits().name) {
            const bool is_shared = kind->traits().admission.shares_lease();
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

/// The server refuses a command if the right with its name is missing.
BOOST_AUTO_TEST_CASE(each_documented_right_is_needed) {
    redis_server server;
    for (const std::string& right : documented_rights()) {
        // If the user may not use the native release command, the client releases the keys one by one.
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
                       7);  // The later queue steps look up the ticket of this waiter.
            for (const step_of_kind& v : std::initializer_list<step_of_kind>{
                     step::acquire, step::extend, step::remaining, step::join, step::leave,
                     fenced_acquire, step::release, step::release}) {
                rig.submit(v, v == fenced_acquire ? "fenced" : "k", "ann");
            }
            for (const std::string& reader : {ann_reads, bob_reads, cid_reads}) {
                rig.submit(joins, "shared", reader);
            }
            rig.submit({step::inspect, colock::kinds::inspection}, "shared");
            rig.submit(claims, "shared", "da");
            rig.submit(unmarks, "shared", "da");
            rig.submit(of_reader(step::release), "shared", ann_reads);
            rig.submit({step::look, colock::kinds::once}, "k");
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

/// Memory and servers give equal votes for any steps of all kinds.
BOOST_DATA_TEST_CASE(memory_instances_and_servers_give_the_same_votes, compared_kinds) {
    constexpr std::uint64_t ahead = twins::ahead_of_clock;
    // Pairs each key with the start of its counter: far ahead of the clock, at the clock, or close to the
    // limit.
    const std::vector<std::pair<std::string, std::uint64_t>> keys{
        {"k", ahead}, {"l", 0}, {"m", colock::core::value_limit - 9}};
    const strings holders{token_of("da"), token_of("ee")};
    const strings readers{ann_reads, bob_reads, reader_of("da")};
    const std::vector<step_of_kind> steps = every_step();
    std::vector<std::size_t> done(steps.size());
    for_each_seed(20, [&](std::mt19937& random, unsigned /*seed*/) {
        twins both(sample);
        const auto note = [&](const step_of_kind& what, const vote& vote) {
            const auto place = std::find(steps.begin(), steps.end(), what) - steps.begin();
            done[static_cast<std::size_t>(place)] += is_done(what, vote) ? 1 : 0;
        };
        for (const auto& [key, fence] : keys) {
            both.ask(counts_of(colock::kinds::fenced), key, "", 0ms, fence);
        }
        bool goes_on = both.compare(note);
        for (int i = 0; i != 500 && goes_on; ++i) {
            const step_of_kind& what = steps[random() % steps.size()];
            const bool reads = what.kind->traits().admission.shares_lease();
            const bool queues = what.kind == &colock::kinds::remote_queue;
            const strings& tokens = reads ? readers : holders;
            const auto& [key, fence] = keys[random() % keys.size()];
            const std::string token = queues ? "" : tokens[random() % tokens.size()];
            const std::uint64_t number = queues             ? 1 + random() % 4
                                         : random() % 4 > 0 ? 0
                                         : key == "k"       ? ahead + random() % 200
                                                            : 7;
            both.ask(what, key, token, random_ttl(random), number);
            // Flushes in batches, so that adjacent releases become one call. With a native release
            // command, every batch has one step. That command may refuse a key for its type. Its release
            // is then sent again, and would arrive after the rest of the batch.
            if (random() % 8 == 0 || i == 499 || deletes_natively(shared_server())) {
                goes_on = both.compare(note);
            }
        }
    });
    for (std::size_t i = 0; i != steps.size(); ++i) {
        BOOST_TEST(done[i] != 0U, steps[i].kind->traits().name << " "
                                                               << static_cast<int>(steps[i].step)
                                                               << " was never granted");
    }
}

BOOST_AUTO_TEST_SUITE_END()
