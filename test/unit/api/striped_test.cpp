// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/error.hpp>
#include <colock/mutex.hpp>
#include <colock/semaphore.hpp>
#include <colock/shared_mutex.hpp>
#include <colock/striped.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using namespace colock;
using strings = std::vector<std::string>;

config of_memory() {
    config result;
    result.instances = {"memory://striped"};
    return result;
}

/// A single-pass range of the texts "a" and "b", which are made when they are read.
struct made_texts {
    struct iterator {
        char* next;
        std::string operator*() const { return std::string(1, *next); }
        iterator& operator++() {
            ++*next;
            return *this;
        }
        bool operator!=(char end) const { return *next != end; }
    };
    [[nodiscard]] iterator begin() { return {&next_}; }
    [[nodiscard]] static char end() { return 'c'; }

private:
    char next_ = 'a';
};

/// A lock class that has what `striped` needs, and no more.
struct least_lock {
    least_lock(client& /*of*/, std::string_view name) : name_(name) {}
    [[nodiscard]] const std::string& resource() const { return name_; }
    [[nodiscard]] static lock_options options() {
        lock_options result;
        result.ttl = std::chrono::seconds(42);
        return result;
    }

private:
    std::string name_;
};

struct fixture {
    boost::asio::io_context context;
    client locks{context, of_memory()};
};

BOOST_FIXTURE_TEST_SUITE(stripes, fixture)

/// The programs of all versions must agree, so these numbers must never change.
BOOST_AUTO_TEST_CASE(the_stripe_of_a_key_is_frozen) {
    const striped<mutex> of_64(locks, "x", 64);
    BOOST_TEST(of_64.index_of("") == 37U);
    BOOST_TEST(of_64.index_of("a") == 12U);
    BOOST_TEST(of_64.index_of("user:4711") == of_64.index_of("user:4711"));
    const striped<mutex> of_1000(locks, "x", 1000);
    // FNV-1a of "foobar" is 0x85944171f73967e8.
    BOOST_TEST(of_1000.index_of("foobar") == 0x85944171f73967e8U % 1000);
    BOOST_TEST(of_1000.of("foobar").resource() ==
               "x:" + std::to_string(0x85944171f73967e8U % 1000));
}

BOOST_AUTO_TEST_CASE(keys_are_spread_evenly) {
    for (const std::uint32_t stripes : {2U, 7U, 64U, 1000U}) {
        const striped<mutex> all(locks, "x", stripes);
        constexpr std::uint32_t keys = 100'000;
        std::vector<std::uint32_t> counts(stripes);
        for (std::uint32_t i = 0; i != keys; ++i) {
            ++counts[all.index_of("user:" + std::to_string(i))];
        }
        const double mean = static_cast<double>(keys) / stripes;
        // Six standard deviations of a random distribution.
        BOOST_TEST(std::abs(*std::ranges::max_element(counts) - mean) < 6 * std::sqrt(mean));
        BOOST_TEST(std::abs(*std::ranges::min_element(counts) - mean) < 6 * std::sqrt(mean));
    }
}

BOOST_AUTO_TEST_CASE(several_keys_are_one_lock_on_their_stripes) {
    lock_options options;
    options.ttl = std::chrono::seconds(42);
    const striped<mutex> four(locks, "x", 4, options);
    BOOST_TEST(four.of("a").options().ttl.count() == options.ttl.count());
    const multi_mutex ab = four.all_of({"a", "b"});
    const multi_mutex ba = four.all_of({"b", "a", "b"});
    BOOST_TEST(ab.resources() == ba.resources());
    BOOST_TEST(ab.options().ttl.count() == options.ttl.count());
    strings expected{std::string(four.of("a").resource()), std::string(four.of("b").resource())};
    std::ranges::sort(expected);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    BOOST_TEST(ab.resources() == expected);
    // A hundred keys map to four stripes.
    strings keys;
    for (int i = 0; i != 100; ++i) {
        keys.push_back("key " + std::to_string(i));
    }
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    BOOST_TEST(four.all_of(views).resources() == (strings{"x:0", "x:1", "x:2", "x:3"}));
}

BOOST_AUTO_TEST_CASE(names_are_any_range_of_strings) {
    const strings expected{"a", "b"};
    const striped<mutex> locks_of_keys(locks, "x", 1000);
    const auto expect = [&](auto make) {
        BOOST_TEST(multi_mutex(locks, make()).resources() == expected);
        BOOST_TEST(locks_of_keys.all_of(make()).resources() ==
                   locks_of_keys.all_of({"a", "b"}).resources());
    };
    expect([] { return strings{"b", "a"}; });
    expect([] { return std::set<std::string, std::less<>>{"a", "b"}; });
    expect([] { return std::array{"b", "a", "b"}; });
    expect([] { return std::list<std::string_view>{"a", "b"}; });
    expect([] { return made_texts(); });
    const std::array<std::string_view, 2> views{"a", "b"};
    expect([&] { return std::span(views); });
    lock_options options;
    options.ttl = std::chrono::seconds(42);
    const strings names{"a", "b"};
    BOOST_TEST(multi_mutex(locks, names, options).options().ttl.count() == options.ttl.count());
    BOOST_CHECK_THROW(multi_mutex(locks, strings()), config_error);
    // A text is no range of texts.
    static_assert(!std::is_constructible_v<multi_mutex, client&, std::string>);
    static_assert(!std::is_constructible_v<multi_mutex, client&, const char(&)[3]>);
}

BOOST_AUTO_TEST_CASE(every_class_of_locks_can_be_striped) {
    const striped<semaphore> permits(locks, "x", 3, 20U);
    BOOST_TEST(permits.of("a").permits() == 20U);
    const striped<shared_mutex> shared(locks, "x", 3);
    BOOST_TEST(shared.size() == 3U);
    const striped<mutex> one(locks, "x", 1);
    BOOST_TEST(one.index_of("anything") == 0U);
    const striped<mutex> copy = one;
    BOOST_TEST(&copy.of("a") == &one.of("a"));
    const striped<least_lock> least(locks, "x", 1);
    BOOST_TEST(least.all_of({"a", "b"}).resources() == strings{"x:0"});
    BOOST_TEST(least.all_of({"a"}).options().ttl.count() == 42000);
}

BOOST_AUTO_TEST_CASE(impossible_numbers_of_stripes_are_refused) {
    for (const std::uint32_t stripes : {0U, 65537U}) {
        BOOST_CHECK_EXCEPTION(striped<mutex>(locks, "x", stripes), config_error,
                              [&](const config_error& refused) {
                                  BOOST_TEST(refused.field() == "stripes");
                                  BOOST_TEST(std::string(refused.what()) ==
                                             "stripes: " + std::to_string(stripes) +
                                                 " stripes are not possible. Give 1 to 65536");
                                  return true;
                              });
    }
    const striped<mutex> four(locks, "x", 4);
    BOOST_CHECK_THROW(static_cast<void>(four.all_of({})), config_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
