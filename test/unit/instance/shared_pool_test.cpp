// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Objects that are reused only after their last reference is gone.

#include "instance/shared_pool.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

namespace colock::instance::test {
namespace {

constexpr std::size_t most = 64;  // The capacity of the pool.

/// A pool of numbers, which are created in the order 0, 1, 2...
class numbers {
public:
    std::shared_ptr<int> take() {
        return pool_.take([this] { return std::make_shared<int>(made_++); });
    }
    [[nodiscard]] int made() const noexcept { return made_; }

private:
    shared_pool<int> pool_;
    int made_ = 0;
};

/// Returns how many of these objects still exist.
std::size_t kept(const std::vector<std::weak_ptr<int>>& all) {
    std::size_t result = 0;
    for (const auto& one : all) {
        result += one.expired() ? 0 : 1;
    }
    return result;
}

BOOST_AUTO_TEST_SUITE(pools)

BOOST_AUTO_TEST_CASE(a_single_object_is_reused) {
    numbers pool;
    for (int i = 0; i != 1000; ++i) {
        const auto one = pool.take();
        BOOST_TEST(*one == i);  // As the last user has left it.
        ++*one;
    }
    BOOST_TEST(pool.made() == 1);
}

BOOST_AUTO_TEST_CASE(makes_another_object_while_the_first_is_referenced) {
    numbers pool;
    auto first = pool.take();
    const std::weak_ptr<int> watching = first;  // Does not hold a reference.
    auto second = pool.take();
    BOOST_TEST(first != second);
    const auto third = pool.take();
    BOOST_TEST(pool.made() == 3);
    second.reset();
    first.reset();
    const auto again = pool.take();
    BOOST_TEST(again == watching.lock());
    BOOST_TEST(pool.made() == 3);
}

// The pool creates as many objects as are in use at a time, and reuses them in turn.
BOOST_AUTO_TEST_CASE(objects_are_reused_in_the_order_of_their_return) {
    for (const std::size_t out : {1U, 2U, 3U, 10U, 63U, 64U}) {
        BOOST_TEST_CONTEXT(out << " out at a time") {
            numbers pool;
            std::deque<std::shared_ptr<int>> taken;
            std::vector<const int*> order;
            for (std::size_t i = 0; i != out; ++i) {
                taken.push_back(pool.take());
                order.push_back(taken.back().get());
            }
            for (std::size_t i = 0; i != 10 * out; ++i) {
                taken.pop_front();
                taken.push_back(pool.take());
                BOOST_TEST(taken.back().get() == order[i % out]);
            }
            BOOST_TEST(static_cast<std::size_t>(pool.made()) == out);
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_at_most_64_objects) {
    numbers pool;
    std::vector<std::shared_ptr<int>> taken;
    std::vector<std::weak_ptr<int>> all;
    for (std::size_t i = 1; i != 3 * most; ++i) {
        taken.push_back(pool.take());
        all.push_back(taken.back());
        BOOST_TEST(static_cast<std::size_t>(pool.made()) == i);
    }
    taken.clear();
    BOOST_TEST(kept(all) == most);
    // All of these are reused.
    for (std::size_t i = 0; i != most; ++i) {
        taken.push_back(pool.take());
        BOOST_TEST(static_cast<std::size_t>(pool.made()) == 3 * most - 1);
    }
    BOOST_TEST((std::set<std::shared_ptr<int>>(taken.begin(), taken.end()).size() == most));
}

BOOST_AUTO_TEST_CASE(an_object_that_is_never_returned_does_not_block_reuse) {
    numbers pool;
    const auto never_back = pool.take();
    std::vector<std::weak_ptr<int>> all;
    for (int i = 0; i != 10'000; ++i) {
        const auto one = pool.take();
        BOOST_TEST(one != never_back);
        all.push_back(one);
    }
    BOOST_TEST(static_cast<std::size_t>(pool.made()) < 10'000 / most * 2);
    BOOST_TEST(*never_back == 0);
}

BOOST_AUTO_TEST_CASE(a_failed_creation_leaves_the_pool_unchanged) {
    shared_pool<int> pool;
    const auto fail = []() -> std::shared_ptr<int> { throw std::runtime_error("no memory"); };
    BOOST_CHECK_THROW(pool.take(fail), std::runtime_error);
    auto first = pool.take([] { return std::make_shared<int>(1); });
    BOOST_CHECK_THROW(pool.take(fail), std::runtime_error);
    first.reset();
    BOOST_TEST(*pool.take(fail) == 1);
}

// Many users keep their objects for random times. Each writes a different value.
BOOST_AUTO_TEST_CASE(never_hands_out_a_referenced_object) {
    for (unsigned seed = 0; seed != 20; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            struct user {
                std::shared_ptr<int> has;
                int wrote;
            };
            std::mt19937 random(seed);
            numbers pool;
            std::vector<user> users;
            const std::size_t limit = 1 + random() % (2 * most);
            for (int step = 0; step != 2000; ++step) {
                if (users.size() == limit || (!users.empty() && random() % 2 == 0)) {
                    const std::size_t leaves = random() % 4 == 0 ? random() % users.size() : 0;
                    users.erase(users.begin() + static_cast<std::ptrdiff_t>(leaves));
                } else {
                    users.push_back({pool.take(), step});
                    *users.back().has = step;
                }
                BOOST_REQUIRE(std::all_of(users.begin(), users.end(),
                                          [](const user& u) { return *u.has == u.wrote; }));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::test
