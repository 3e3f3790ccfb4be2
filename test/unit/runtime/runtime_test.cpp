// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The parts of the runtime that need no execution context: tokens, contention history, descriptions.

#include "core/backoff.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/label.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/describe.hpp"
#include "runtime/environment.hpp"
#include "runtime/key/contention_history.hpp"
#include "runtime/token.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace colock::runtime;
namespace kinds = colock::kinds;
using namespace std::string_literals;

namespace {

/// An environment that provides only random numbers.
class dice final : public environment {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}
    [[nodiscard]] colock::core::time_point now() const noexcept override { return {}; }
    void defer() override {}
    void wake_at(colock::core::time_point /*when*/) override {}
    std::uint64_t random() noexcept override { return colock::core::next_random(random_); }

private:
    std::uint64_t random_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tokens)

BOOST_AUTO_TEST_CASE(tokens_are_unique_and_have_forty_hexadecimal_digits) {
    constexpr std::size_t count = 20000;
    std::unordered_set<std::string> seen;
    std::map<char, std::size_t> digits;
    dice sources[2] = {dice(1), dice(2)};  // One per client.
    for (std::size_t i = 0; i != count; ++i) {
        const token drawn(sources[i % 2], {}, {});
        const std::string_view text = drawn.view();
        BOOST_REQUIRE(text.size() == 40U);
        BOOST_REQUIRE(text.find_first_not_of("0123456789abcdef") == std::string_view::npos);
        BOOST_REQUIRE(seen.insert(std::string(text)).second);
        for (const char c : text) {
            ++digits[c];
        }
    }
    // All sixteen digits are about equally frequent. The bound is far looser than chance, and tighter than
    // any wrong shift.
    constexpr std::size_t mean = count * 40 / 16;
    BOOST_TEST(digits.size() == 16U);
    for (const auto& [digit, times] : digits) {
        BOOST_TEST(times > mean * 95 / 100);
        BOOST_TEST(times < mean * 105 / 100);
    }
}

BOOST_AUTO_TEST_CASE(every_digit_of_a_token_varies) {
    dice source(1);
    std::vector<std::unordered_set<char>> values(40);
    for (int i = 0; i != 2000; ++i) {
        const token drawn(source, {}, {});
        for (std::size_t place = 0; place != values.size(); ++place) {
            values[place].insert(drawn.view()[place]);
        }
    }
    for (const auto& v : values) {
        BOOST_TEST(v.size() == 16U);
    }
}

BOOST_AUTO_TEST_CASE(a_label_follows_the_digits) {
    for (const std::string& label : {"a"s, "web-1:4711"s, "a@b"s, std::string(64, '~')}) {
        for (const std::string& prefix : {""s, "reader:"s}) {
            dice source(1);
            dice same(1);
            const token plain(same, prefix, {});
            const token drawn(source, prefix, label);
            BOOST_TEST(drawn.view() == std::string(plain.view()) + "@" + label);
            BOOST_TEST(colock::kinds::label_in(drawn.view()) == label);
        }
    }
}

/// A downgrade writes the prefix in front of the digits, while other threads may read the token.
BOOST_AUTO_TEST_CASE(another_prefix_leaves_digits_and_label_in_place) {
    for (const std::string& label : {""s, "web-1:4711"s}) {
        dice source(1);
        token drawn(source, {}, label);
        const std::string_view writers = drawn.view();
        const std::string before(writers);
        const std::string_view readers = drawn.with_prefix("reader:");
        BOOST_TEST(readers == "reader:" + before);
        BOOST_TEST(drawn.view() == before);
        // The views must refer to the same bytes. Boost.Test would compare the pointers as C strings.
        BOOST_TEST((drawn.view().data() == writers.data()));
        BOOST_TEST((readers.data() + 7 == writers.data()));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(others)

using colock::core::milliseconds;
constexpr colock::core::time_point start{std::chrono::hours(1000)};

BOOST_AUTO_TEST_CASE(contention_is_expected_where_it_was_observed) {
    contention_history known;
    BOOST_TEST(!known.expected_at(7, start));
    known.note(7, true, start);
    BOOST_TEST(known.expected_at(7, start));
    BOOST_TEST(known.expected_at(7, start + std::chrono::hours(1)));
    BOOST_TEST(!known.expected_at(8, start));
    known.note(7, false, start);
    BOOST_TEST(!known.expected_at(7, start));
}

BOOST_AUTO_TEST_CASE(contention_is_probed_again_after_a_while) {
    contention_history known;
    known.note(7, false, start);
    for (int i = 0; i != 1000; ++i) {
        BOOST_TEST(!known.expected_at(7, start + milliseconds(250)));  // Too soon.
    }
    BOOST_TEST(known.expected_at(7, start + milliseconds(251)));
    for (int i = 0; i != 64; ++i) {
        BOOST_TEST(!known.expected_at(7, start + std::chrono::hours(1)));  // Too few tries.
    }
    BOOST_TEST(known.expected_at(7, start + std::chrono::hours(1)));
}

BOOST_AUTO_TEST_CASE(stepping_aside_defers_joining_the_queue) {
    contention_history known;
    BOOST_TEST((known.join_from(7) < start));
    known.step_aside(7, start);
    known.note(7, true, start);
    BOOST_TEST((known.join_from(7) == start));
    BOOST_TEST((known.join_from(8) < start));
}

// Many keys share one entry.
BOOST_AUTO_TEST_CASE(another_key_may_replace_the_history) {
    contention_history known;
    known.note(7, true, start);
    known.step_aside(7, start);
    std::size_t another = 8;
    while (known.expected_at(7, start)) {
        known.note(another++, true, start);
        BOOST_TEST_REQUIRE(another < 10000U);
    }
    BOOST_TEST((known.join_from(7) < start));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(descriptions)

namespace {

using colock::core::failure;
using colock::core::key_state;
using colock::core::vote;

std::vector<colock::instance::status> instances_named(const std::vector<std::string>& addresses) {
    std::vector<colock::instance::status> result(addresses.size());
    for (std::size_t i = 0; i != addresses.size(); ++i) {
        result[i].address = addresses[i];
        result[i].state = colock::instance::state::ready;
    }
    return result;
}

std::string describe_one(std::string_view resource, const vote& v) {
    colock::core::round votes(1);
    votes.record(0, v);
    return describe_attempt(resource, kinds::shared, votes, instances_named({"a"}), {});
}

std::shared_ptr<const std::string> said(const char* text) {
    return std::make_shared<const std::string>(text);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_description_names_the_resource_the_count_and_each_vote) {
    colock::core::round votes(5);
    votes.record(0, vote::granted());
    votes.record(1, vote::denied(key_state::foreign));
    votes.record(2, vote::denied(key_state::absent));
    votes.record(3, vote::failed(failure::server_error, said("READONLY no")));
    BOOST_TEST(
        describe_attempt("x", kinds::shared, votes, instances_named({"a", "b", "c", "d", "e"}),
                         {}) ==
        "'x': 1 of 5 instances granted the lock, 3 required [a: granted] [b: denied, held by "
        "another holder] [c: denied, no such key] [d: error: READONLY no] [e: vote not "
        "needed]");
}

BOOST_AUTO_TEST_CASE(votes_on_a_lease_are_described_as_confirmed) {
    colock::core::round votes(3);
    votes.record(0, vote::granted());
    votes.record(1, vote::denied(key_state::absent));
    votes.record(2, vote::failed(failure::timeout));
    BOOST_TEST(
        describe_lease_round("x", kinds::exclusive, votes, instances_named({"a", "b", "c"})) ==
        "'x': 1 of 3 instances confirmed, 2 required [a: confirmed] [b: denied, no such key] "
        "[c: no answer in time]");
}

BOOST_AUTO_TEST_CASE(unanswered_instances_are_listed) {
    colock::core::round votes(3);
    votes.record(0, vote::granted());
    votes.record(1, vote::denied(key_state::foreign));
    BOOST_TEST(
        describe_attempt("x", kinds::shared, votes, instances_named({"a", "b", "c"}), {}) ==
        "'x': 1 of 3 instances granted the lock, 2 required [a: granted] [b: denied, held by "
        "another holder] [c: no answer yet]");
}

BOOST_AUTO_TEST_CASE(a_key_without_ttl_is_reported) {
    colock::core::round votes(3);
    votes.record(0, vote::denied(key_state::foreign));
    votes.record(1, vote::denied(key_state::foreign));
    colock::core::instance_set without_ttl = colock::core::instance_set::only(0);
    without_ttl.add(2);
    BOOST_TEST(describe_attempt("x", kinds::shared, votes, instances_named({"a", "b", "c"}),
                                {without_ttl, {}}) ==
               "'x': 0 of 3 instances granted the lock, 2 required [a: denied, held by another "
               "holder, the key has no ttl] [b: denied, held by another holder] [c: vote not "
               "needed, the key has no ttl]");
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_a_lock_is_reported_with_its_type,
                     *boost::unit_test::label("fault-34")) {
    colock::core::round votes(4);
    vote a_list = vote::denied(key_state::foreign);
    a_list.detail = said("a list");
    votes.record(0, a_list);
    votes.record(1, vote::denied(key_state::foreign));
    votes.record(2, vote::denied(key_state::foreign));
    votes.record(3, vote::granted());
    const auto instances = instances_named({"a", "b", "c", "d"});
    const auto holding = [](const char* what) {
        vote result = vote::denied(key_state::foreign);
        result.detail = said(what);
        return result;
    };
    BOOST_TEST(
        describe_attempt(
            "x", kinds::shared, votes, instances,
            {colock::core::instance_set::only(0), {{}, holding("a hash"), {}, holding("a set")}}) ==
        "'x': 1 of 4 instances granted the lock, 3 required [a: denied, the key holds a list, "
        "which is not a lock, the key has no ttl] [b: denied, the key holds a hash, which "
        "is not a lock] [c: denied, held by another holder] [d: granted]");
    BOOST_TEST(
        describe_lease_round("x", kinds::exclusive, votes, instances) ==
        "'x': 1 of 4 instances confirmed, 3 required [a: denied, the key holds a list, which "
        "is not a lock] [b: denied, held by another holder] [c: denied, held by another "
        "holder] [d: confirmed]");
}

BOOST_AUTO_TEST_CASE(the_label_of_the_holder_is_reported) {
    const auto by = [](const std::string& label) {
        vote result = vote::denied(key_state::labelled);
        result.detail = std::make_shared<const std::string>(label);
        return result;
    };
    colock::core::round votes(5);
    votes.record(0, by("web-1:4711"));
    votes.record(1, vote::denied(key_state::foreign));
    votes.record(2, vote::denied(key_state::announced));
    votes.record(3, by("a\x1b[31m" + std::string(300, 'b')));
    const auto instances = instances_named({"a", "b", "c", "d", "e"});
    BOOST_TEST(describe_attempt("x", kinds::shared, votes, instances,
                                {colock::core::instance_set::only(1),
                                 {by("no"), by("web-2:1"), by("no"), by("no"), by("no")}}) ==
               "'x': 0 of 5 instances granted the lock, 3 required [a: denied, held by "
               "web-1:4711] [b: denied, held by web-2:1, the key has no ttl] [c: denied, a writer "
               "is waiting] [d: denied, held by a\\x1b[31m" +
                   std::string(194, 'b') + "...] [e: vote not needed]");
    BOOST_TEST(describe_lease_round("x", kinds::exclusive, votes, instances)
                   .starts_with("'x': 0 of 5 instances confirmed, 3 required [a: denied, held by "
                                "web-1:4711] [b: denied, held by another holder]"));
}

BOOST_AUTO_TEST_CASE(instance_states_are_described_before_any_round) {
    using colock::instance::state;
    auto voters = instances_named({"a", "b", "c"});
    voters[1].state = state::connecting;
    voters[2].state = state::down;
    voters[2].reason = "gone";
    BOOST_TEST(describe("x", "not yet", voters) ==
               "'x': not yet [a: connected] [b: down, not connected yet] [c: down, gone]");
}

BOOST_AUTO_TEST_CASE(every_failure_has_its_own_text) {
    const std::vector<std::pair<failure, std::string>> words{
        {failure::none, "failed"},
        {failure::down, "down"},
        {failure::overloaded, "overloaded, too many commands in flight"},
        {failure::withdrawn, "withdrawn before it was sent"},
        {failure::too_late, "too late to be sent"},
        {failure::timeout, "no answer in time"},
        {failure::connection_lost, "connection lost"},
        {failure::server_error, "error"},
        {failure::unclear_error, "error, possibly after the command was executed"},
        {failure::unexpected_reply, "unexpected reply"},
    };
    for (const auto& [reason, text] : words) {
        const std::string before = "'x': 0 of 1 instances granted the lock, 1 required [a: " + text;
        const std::string separator = reason == failure::down ? ", " : ": ";
        BOOST_TEST(describe_one("x", vote::failed(reason)) == before + "]");
        BOOST_TEST(describe_one("x", vote::failed(reason, said(""))) == before + "]");
        BOOST_TEST(describe_one("x", vote::failed(reason, said("why"))) ==
                   before + separator + "why]");
    }
}

BOOST_AUTO_TEST_CASE(an_instance_reports_why_it_is_down_or_quarantined) {
    using colock::instance::state;
    auto voters = instances_named({"a"});
    voters[0].reason = "gone";
    voters[0].why_quarantined = "too young";
    const auto text_of = [&](const vote& v) {
        colock::core::round votes(1);
        votes.record(0, v);
        const std::string text = describe_attempt("x", kinds::shared, votes, voters, {});
        return text.substr(text.find('['));
    };
    BOOST_TEST(text_of(vote::failed(failure::down)) == "[a: down, gone]");
    BOOST_TEST(text_of(vote::failed(failure::down, said("why"))) == "[a: down, why]");
    BOOST_TEST(text_of(vote::failed(failure::quarantined)) == "[a: quarantined, too young]");
    BOOST_TEST(text_of(vote::failed(failure::timeout)) == "[a: no answer in time]");
    BOOST_TEST(text_of(vote::denied(key_state::foreign)) == "[a: denied, held by another holder]");
    BOOST_TEST(text_of(vote::denied(key_state::announced)) == "[a: denied, a writer is waiting]");
    BOOST_TEST(text_of(vote::denied(key_state::unknown)) ==
               "[a: denied, the key is missing or has another holder]");
    for (const state now : {state::connecting, state::probing, state::down}) {
        voters[0].state = now;
        voters[0].reason = "gone";
        BOOST_TEST(text_of(vote::failed(failure::down)) == "[a: down, gone]");
        voters[0].reason.clear();
        BOOST_TEST(text_of(vote::failed(failure::down)) ==
                   (now == state::down ? "[a: down]" : "[a: down, not connected yet]"));
    }
}

BOOST_AUTO_TEST_CASE(binary_resources_are_escaped) {
    const auto shown = [](std::string_view resource) {
        const std::string text = describe_one(resource, vote::granted());
        return text.substr(0, text.find(": 1 of 1"));
    };
    BOOST_TEST(shown("a b~!\"") == "'a b~!\"'");
    BOOST_TEST(shown("\0\n\t\x7f\xff\\"s) == R"('\x00\x0a\x09\x7f\xff\x5c')");
    BOOST_TEST(shown("\xc3\xa9") == R"('\xc3\xa9')");
    BOOST_TEST(shown(std::string(200, 'x')) == "'" + std::string(200, 'x') + "'");
    BOOST_TEST(shown(std::string(201, 'x')) == "'" + std::string(200, 'x') + "...'");
    BOOST_TEST(shown(std::string(64 * 1024, '\0')).size() == 2 + 800 + 3U);
}

BOOST_AUTO_TEST_CASE(server_texts_are_escaped_and_truncated) {
    const std::string text = describe_one(
        "x", vote::failed(
                 failure::unexpected_reply,
                 std::make_shared<const std::string>("a\r\nb\x1b[31m" + std::string(10000, 'y'))));
    BOOST_TEST(text.find(R"(unexpected reply: a\x0d\x0ab\x1b[31myyy)") != std::string::npos, text);
    BOOST_TEST(text.size() < 500U);
}

BOOST_AUTO_TEST_SUITE_END()
