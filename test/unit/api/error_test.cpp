// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Errors: codes, conditions, texts, and their use with Asio.

#include <colock/error.hpp>

#include <boost/asio/disposition.hpp>
#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using boost::system::error_code;
using colock::condition;
using colock::errc;
using colock::error;

namespace {

struct mapping {
    errc code;
    int value;
    std::optional<condition> group;
};

const std::vector<mapping> mappings{
    {errc::contended, 1, condition::contended},  {errc::no_quorum, 2, condition::unavailable},
    {errc::too_slow, 3, condition::unavailable}, {errc::lease_lost, 4, condition::lost},
    {errc::lease_expired, 5, condition::lost},   {errc::max_hold_exceeded, 6, condition::lost},
    {errc::not_held, 7, std::nullopt},           {errc::client_closed, 8, condition::unavailable},
    {errc::not_fenced, 9, std::nullopt},         {errc::forked, 10, condition::unavailable},
    {errc::wrong_lease, 12, std::nullopt},       {errc::limit_mismatch, 13, std::nullopt},
    {errc::wrong_kind, 14, std::nullopt},        {errc::would_deadlock, 15, std::nullopt},
    {errc::outcome_unknown, 16, std::nullopt},   {errc::fingerprint_mismatch, 17, std::nullopt},
    {errc::invalid_argument, 18, std::nullopt},
};

constexpr condition all_conditions[] = {condition::contended, condition::unavailable,
                                        condition::lost};

const error_code aborted = boost::asio::error::operation_aborted;

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_code_has_its_value_its_text_and_its_condition) {
    std::set<std::string> texts;
    for (const mapping& m : mappings) {
        const error_code code = m.code;
        BOOST_TEST(code.value() == m.value);
        BOOST_TEST(code.failed());
        BOOST_TEST(code.category().name() == std::string("colock"));
        BOOST_TEST(code.message() != "unknown colock error");
        BOOST_TEST(texts.insert(code.message()).second, code.message() << " twice");
        for (const condition c : all_conditions) {
            BOOST_TEST((code == make_error_condition(c)) == (m.group == c));
            BOOST_TEST((error(m.code) == c) == (m.group == c));
        }
        for (const mapping& other : mappings) {
            BOOST_TEST((error(m.code) == other.code) == (m.code == other.code));
        }
    }
}

BOOST_AUTO_TEST_CASE(conditions_have_texts) {
    std::set<std::string> texts;
    for (const condition c : all_conditions) {
        const auto made = make_error_condition(c);
        BOOST_TEST(made.category().name() == std::string("colock.condition"));
        BOOST_TEST(made.message() != "unknown colock condition");
        BOOST_TEST(texts.insert(made.message()).second);
    }
}

BOOST_AUTO_TEST_CASE(unknown_values_have_a_generic_text_and_no_condition) {
    for (const int value : {0, 11, 19, 26, -1}) {
        const error_code code(value, colock::error_category());
        BOOST_TEST(code.message() == "unknown colock error");
        for (const condition c : all_conditions) {
            BOOST_TEST((code != make_error_condition(c)));
        }
    }
    BOOST_TEST(colock::condition_category().message(0) == "unknown colock condition");
}

BOOST_AUTO_TEST_CASE(codes_of_other_categories_match_no_condition) {
    for (const condition c : all_conditions) {
        BOOST_TEST((error(aborted) != c));
    }
    // The same number in another category is a different error.
    const error_code generic(1, boost::system::generic_category());
    BOOST_TEST((error(generic) != errc::contended));
    BOOST_TEST((error(generic) != condition::contended));
}

BOOST_AUTO_TEST_CASE(an_error_combines_a_code_with_details) {
    const error none;
    BOOST_TEST(!none);
    BOOST_TEST(none.details().empty());
    BOOST_TEST(!error_code(none).failed());
    BOOST_TEST(!error(error_code()));

    const error bare = errc::contended;
    BOOST_TEST(static_cast<bool>(bare));
    BOOST_TEST(bare.details().empty());
    BOOST_TEST(bare.message() == "the lock is not free");

    const error told(errc::no_quorum, "'x': 1 of 3 instances granted the lock");
    BOOST_TEST(told.details() == "'x': 1 of 3 instances granted the lock");
    BOOST_TEST(told.message() ==
               "no quorum of instances agreed in time: 'x': 1 of 3 instances granted the lock");
    const error copy = told;
    BOOST_TEST(copy.details() == told.details());

    const error untold(errc::no_quorum, "");
    BOOST_TEST(untold.message() == "no quorum of instances agreed in time");
}

BOOST_AUTO_TEST_CASE(an_error_converts_to_and_from_error_code) {
    const error_code code = error(errc::too_slow, "story");
    BOOST_TEST((code == errc::too_slow));
    BOOST_TEST((error(code) == errc::too_slow));
    BOOST_TEST((error(aborted) == aborted));
    BOOST_TEST((error(aborted) != error_code(errc::too_slow)));
    const auto handler = [](error_code given) { return given.value(); };
    BOOST_TEST(handler(error(errc::too_slow)) == 3);
}

BOOST_AUTO_TEST_CASE(a_lock_error_contains_the_details) {
    const colock::lock_error e(error(errc::contended, "'x': 0 of 1 instances granted the lock"));
    BOOST_TEST((e.code() == errc::contended));
    const std::string what = e.what();
    BOOST_TEST(what.find("'x': 0 of 1 instances granted the lock: the lock is not free") == 0U,
               what);

    const colock::lock_error bare{error(errc::contended)};
    BOOST_TEST(std::string(bare.what()).find("the lock is not free") == 0U, bare.what());

    const colock::lease_lost lost(error(errc::max_hold_exceeded, "'x'"));
    BOOST_TEST((lost.code() == condition::lost));
    BOOST_CHECK_THROW(throw lost, colock::lock_error);
    BOOST_CHECK_THROW(throw lost, boost::system::system_error);
}

BOOST_AUTO_TEST_CASE(an_error_is_a_disposition) {
    using traits = boost::asio::disposition_traits<error>;
    static_assert(boost::asio::is_disposition<error>::value);
    const error told(errc::no_quorum, "'x'");
    BOOST_TEST(traits::not_an_error(error()));
    BOOST_TEST(!traits::not_an_error(told));
    BOOST_TEST((traits::to_exception_ptr(error()) == nullptr));
    const auto is_told = [](const colock::lock_error& e) {
        return e.code() == errc::no_quorum && std::string(e.what()).starts_with("'x': ");
    };
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(traits::to_exception_ptr(told)),
                          colock::lock_error, is_told);
    BOOST_CHECK_EXCEPTION(traits::throw_exception(told), colock::lock_error, is_told);
    BOOST_CHECK_EXCEPTION(boost::asio::throw_exception(told), colock::lock_error, is_told);
}

BOOST_AUTO_TEST_CASE(a_config_error_names_its_field) {
    const colock::config_error e("ttl", "5 ms is out of range (10 ms to 1 h)");
    BOOST_TEST(e.field() == "ttl");
    BOOST_TEST(std::string(e.what()) == "ttl: 5 ms is out of range (10 ms to 1 h)");
    BOOST_TEST(std::string(colock::config_error("", "the text is empty").what()) ==
               "the text is empty");
    BOOST_CHECK_THROW(throw e, std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
