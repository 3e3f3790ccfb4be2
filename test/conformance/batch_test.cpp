// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The outcome of the commands of a batch, whatever their kind.

#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_test)

namespace data = boost::unit_test::data;
using namespace colock::test;

namespace {

/// The steps of the holders of exclusive keys, with and without fences.
const std::array<step_of_kind, 6> all_steps{step::acquire,   step::extend,   step::release,
                                            step::remaining, fenced_acquire, step::confirm};

/// The instances that receive the same batches: three of one kind, or one of each.
enum class team { memory, tcp, unix_socket, user, mixed };

std::ostream& operator<<(std::ostream& out, team t) {
    return t == team::mixed ? out << "mixed" : out << static_cast<kind>(t);
}

/// Returns the vote on a refused release of instance number `index` of a team.
std::string refusal(team t, std::size_t index, const std::string& vote) {
    const kind k = t != team::mixed ? static_cast<kind>(t) : index == 1 ? kind::memory : kind::tcp;
    return refusal(k, vote);
}

const auto all_teams =
    data::make({team::memory, team::tcp, team::unix_socket, team::user, team::mixed});

/// Returns the URIs of a team. No instance has a key.
strings uris_of(team t) {
    shared_server().flush();
    if (t == team::mixed) {
        return {uri_of(kind::tcp), uri_of(kind::memory), uri_of(kind::user),
                uri_of(kind::unix_socket, 1)};
    }
    const auto k = static_cast<kind>(t);
    return {uri_of(k), uri_of(k, 1), uri_of(k, 2)};
}

/// Returns the joined votes of a team whose instances all vote alike.
std::string all_say(const instance_rig& all, const std::string& vote) {
    std::string result = vote;
    for (std::size_t i = 1; i != all.size(); ++i) {
        result += ", " + vote;
    }
    return result;
}

/// Predicts the votes of one instance.
class model {
public:
    /// Executes a step and returns the vote on it. `refuse` takes the denial of a release.
    template <typename Function>
    std::string vote_on(step what, const std::string& key, const std::string& token,
                        Function refuse) {
        const auto found = holders_.find(key);
        const bool exists = found != holders_.end();
        const bool ours = exists && found->second == token;
        if (what == step::acquire ? exists : what == step::remaining || !ours) {
            const std::string denial = exists ? "denied: another" : "denied: nobody";
            return what == step::release ? refuse(denial) : denial;
        }
        if (what == step::acquire) {
            holders_[key] = token;
        } else if (what == step::release) {
            holders_.erase(key);
        }
        return "granted";
    }

private:
    std::map<std::string, std::string> holders_;
};

void expect_votes(instance_rig& rig, const strings& expected) {
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

/// The keys and the tokens of the random steps.
const strings some_keys{"k", "l", "m\0"s};
const strings some_tokens{"ann", "bob", ""};

}  // namespace

BOOST_DATA_TEST_CASE(commands_of_one_batch_are_executed_in_their_order, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const std::tuple<step, std::string, std::string> commands[] = {
        {step::acquire, "ann", "granted"},
        {step::acquire, "bob", "denied: another"},
        {step::extend, "ann", "granted"},
        {step::extend, "bob", "denied: another"},
        {step::release, "ann", "granted"},
        {step::remaining, "", "denied: nobody"},
        {step::acquire, "bob", "granted"},
        {step::release, "ann", refusal(sample, "denied: another")},
        {step::release, "bob", "granted"},
        {step::release, "bob", refusal(sample, "denied: nobody")},
    };
    strings expected;
    for (const auto& [what, token, vote] : commands) {
        rig.submit(what, "k", token);
        expected.push_back(vote);
    }
    expect_votes(rig, expected);
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
}

BOOST_DATA_TEST_CASE(each_of_many_consecutive_releases_gets_a_vote, all_kinds) {
    constexpr int keys = 150;  // More than the client sends as one call.
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    expect_votes(rig, strings(keys, "granted"));
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
    expect_votes(rig, expected);
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
    expect_votes(rig, {"granted", "granted", gone, "granted", gone});
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
    expect_votes(rig, expected);
}

BOOST_DATA_TEST_CASE(ten_thousand_commands_at_once_are_executed_in_order, all_kinds) {
    constexpr int keys = 5000;
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
        rig.submit(step::release, std::to_string(i), "ann");
    }
    expect_votes(rig, strings(2 * keys, "granted"));
    BOOST_TEST(std::is_sorted(rig.order_of_votes().begin(), rig.order_of_votes().end()));
}

// Sends random steps. A map predicts the votes.
BOOST_DATA_TEST_CASE(random_commands_get_the_predicted_votes, all_kinds) {
    for_each_seed(20, [&](std::mt19937& random, unsigned /*seed*/) {
        subject s(sample);
        model keys;
        strings expected;
        for (int i = 0; i != 500; ++i) {
            const std::string& key = some_keys[random() % some_keys.size()];
            const std::string& token = some_tokens[random() % some_tokens.size()];
            const step_of_kind what = all_steps[random() % all_steps.size()];
            expected.push_back(keys.vote_on(what.step, key, token, [&](const std::string& denial) {
                return refusal(sample, denial);
            }));
            s.rig.submit(what, key, token);
            if (random() % 8 == 0) {
                s.rig.flush();
            }
        }
        expect_votes(s.rig, expected);
    });
}

BOOST_DATA_TEST_CASE(a_withdrawn_command_is_not_executed, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const auto first = rig.submit(step::acquire, "first", "ann");
    const auto second = rig.submit(step::acquire, "second", "ann");
    rig.submit(step::acquire, "third", "ann");
    rig.withdraw(first);
    rig.withdraw(second);
    expect_votes(rig, {"failed: withdrawn", "failed: withdrawn", "granted"});
    BOOST_TEST(rig.remaining("first") == "denied: nobody");
    BOOST_TEST(rig.remaining("second") == "denied: nobody");
    BOOST_TEST(rig.remaining("third") == "denied: another");
}

// An instance must ask whether a command is still wanted if its batch is marked for reconsideration. For any
// other batch it may ask. A receiver that no longer wants a command marks the batch.
BOOST_DATA_TEST_CASE(a_silently_withdrawn_command_may_still_be_sent, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.withdraw_silently(rig.submit(step::acquire, "k", "ann"));
    rig.submit(step::acquire, "l", "ann");
    const bool asks_anyway = sample == kind::memory;  // It saves nothing by not asking.
    expect_votes(rig, {asks_anyway ? "failed: withdrawn" : "granted", "granted"});
    BOOST_TEST(rig.remaining("k") == (asks_anyway ? "denied: nobody" : "denied: another"));
    // The next batch does not inherit the mark of the last one.
    rig.withdraw(rig.submit(step::acquire, "m", "ann"));
    expect_votes(rig, strings{"failed: withdrawn"});
    for (int batches = 0; batches != 3; ++batches) {  // Batches reuse their memory in turn.
        rig.withdraw_silently(rig.submit(step::acquire, "m", "ann"));
        const std::string vote = batches == 0 ? "granted" : "denied: another";
        expect_votes(rig, strings{asks_anyway ? "failed: withdrawn" : vote});
    }
}

BOOST_DATA_TEST_CASE(a_completely_withdrawn_batch_is_not_executed, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != 5; ++i) {
        rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    }
    expect_votes(rig, strings(5, "failed: withdrawn"));
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_sent_command_cannot_be_withdrawn, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const auto tag = rig.submit(step::acquire, "k", "ann");
    rig.flush();
    rig.withdraw(tag);
    rig.submit(step::release, "k", "ann");
    expect_votes(rig, {"granted", "granted"});
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
    expect_votes(rig, {"failed: too late", "failed: too late", "failed: too late",
                       "failed: too late", "failed: too late", "failed: too late", "granted"});
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
            expect_votes(rig, expected);
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
    expect_votes(rig, {"none", "granted", "none", "granted", "denied: another", "granted", "none",
                       "granted", "none"});
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
    rig.flush();  // An empty batch.
    // The instance does not ask either whether the commands are wanted. The rig checks that.
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
    expect_votes(rig, {"none", "granted", "none", "granted", "failed: overloaded"});
}

BOOST_DATA_TEST_CASE(commands_beyond_max_in_flight_fail_immediately, all_kinds) {
    subject s(sample, 3);
    auto& rig = s.rig;
    for (const char* key : {"a", "b", "c", "d", "e"}) {
        rig.submit(step::acquire, key, "ann");
    }
    rig.flush();
    BOOST_TEST(rig.voted(3));  // The refusals do not wait for a reply.
    BOOST_TEST(rig.voted(4));
    expect_votes(rig,
                 {"granted", "granted", "granted", "failed: overloaded", "failed: overloaded"});
    // The commands were refused, not queued, and there is room for new ones.
    BOOST_TEST(rig.remaining("d") == "denied: nobody");
    BOOST_TEST(rig.remaining("e") == "denied: nobody");
    for (const char* key : {"a", "b", "c"}) {
        rig.submit(step::release, key, "ann");
    }
    expect_votes(rig, strings(3, "granted"));
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
    expect_votes(rig, {"failed: withdrawn", "failed: too late", "granted", "failed: withdrawn",
                       "granted", "failed: overloaded", "failed: withdrawn"});
}

// The rig checks that no vote arrives inside `submit`.
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
    expect_votes(rig, strings(last + 1, "granted"));
    // Withdrawn commands also get their votes while the batch is being sent.
    rig.after_vote = [&](colock::instance::command_tag tag) {
        if (tag < 2 * last) {
            rig.withdraw(rig.submit(step::acquire, "k", "ann"));
        }
    };
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    rig.run_until([&] { return rig.order_of_votes().size() == 2 * last + 1; });
    rig.after_vote = nullptr;
    expect_votes(rig, strings(last, "failed: withdrawn"));
}

BOOST_DATA_TEST_CASE(no_resend_is_reported_in_normal_operation, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.flush();  // An empty batch.
    for (int i = 0; i != 5; ++i) {
        rig.submit(step::remaining, "k");
    }
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    rig.votes();
    rig.flush();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.pending_calls() == 0U);
}

// In the remaining tests, several instances receive the same batch and share its encoded form.

BOOST_DATA_TEST_CASE(each_instance_executes_all_of_a_shared_batch, all_teams) {
    instance_rig all(uris_of(sample));
    all.run_until_ready();
    strings expected;
    for (int i = 0; i != 100; ++i) {  // Several batches are in flight.
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
    instance_rig all(uris_of(sample));
    all.run_until_ready();
    all.submit_for(colock::core::instance_set::only(0), step::acquire, "k", "ann");
    all.submit(step::acquire, "k", "bob");
    all.submit_for(colock::core::instance_set::only(2), step::release, "k", "bob");
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
    instance_rig all(uris_of(sample));
    all.run_until_ready();
    all.subject(1).stop();
    const std::string others = all.size() == 4 ? ", granted" : "";
    for (int i = 0; i != 10; ++i) {
        all.submit(step::acquire, "k", "ann");
        all.submit(step::release, "k", "ann");
        BOOST_TEST(all.votes() == strings(2, "granted, failed: down, granted" + others),
                   boost::test_tools::per_element());
    }
}

// Sends random steps. Each instance sees another subset, so some instances share an encoded batch and others
// do not. A map for each instance predicts its votes.
BOOST_DATA_TEST_CASE(random_shared_batches_get_the_predicted_votes, all_teams) {
    const auto past = std::chrono::steady_clock::now() - 1ns;
    for_each_seed(10, [&](std::mt19937& random, unsigned /*seed*/) {
        instance_rig all(uris_of(sample));
        all.run_until_ready();
        std::vector<model> models(all.size());
        strings expected;
        for (int i = 0; i != 500; ++i) {
            const std::string& key = some_keys[random() % some_keys.size()];
            const std::string& token = some_tokens[random() % some_tokens.size()];
            const step_of_kind what = all_steps[random() % all_steps.size()];
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
            const auto tag = all.submit_for(for_whom, what, key, token, late ? past : past + 1h);
            if (withdrawn) {
                all.withdraw(tag, withdrawn_from);
            }
            std::string& text = expected.emplace_back();
            for (std::size_t n = 0; n != all.size(); ++n) {
                text += n == 0 ? "" : ", ";
                if (!for_whom.contains(n)) {
                    text += "none";
                } else if (withdrawn && n == withdrawn_from) {
                    text += "failed: withdrawn";
                } else if (late) {
                    text += "failed: too late";
                } else {
                    text += models[n].vote_on(
                        what.step, key, token,
                        [&](const std::string& denial) { return refusal(sample, n, denial); });
                }
            }
            if (random() % 8 == 0) {
                all.flush();
            }
        }
        BOOST_TEST(all.votes() == expected, boost::test_tools::per_element());
    });
}

BOOST_AUTO_TEST_SUITE_END()
