// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The batch of commands of one turn, and when it may be sent without a check.

#include "instance/batch.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::instance::test {
namespace {

using namespace std::chrono_literals;
using core::time_point;

constexpr time_point now{1000h};

submission make(command_tag tag, core::instance_set targets = core::instance_set::all(),
                time_point deadline = core::never) {
    submission result;
    result.command.key = "key";
    result.command.token = "token";
    result.command.deadline = deadline;
    result.tag = tag;
    result.targets = targets;
    return result;
}

/// One command of each kind. The flag says whether a batch with it may be sent to instance 4 without a check.
struct sample {
    std::string text;
    core::instance_set targets;
    time_point deadline;
    bool unquestioned;
};

core::instance_set some(std::initializer_list<std::size_t> indices) {
    core::instance_set result;
    for (const std::size_t i : indices) {
        result.add(i);
    }
    return result;
}

constexpr std::size_t reader = 4;

const std::vector<sample> samples = {
    {"for all, for ever", core::instance_set::all(), core::never, true},
    {"for all, until later", core::instance_set::all(), now + 1ns, true},
    {"for all, until now", core::instance_set::all(), now, true},
    {"for all, too late", core::instance_set::all(), now - 1ns, false},
    {"for all, always too late", core::instance_set::all(), time_point::min(), false},
    {"for it and another", some({1, reader}), core::never, true},
    {"for it, too late", some({reader}), now - 1ns, false},
    {"for two others", some({0, 5}), core::never, false},
    {"for another, too late", some({3}), now - 1ns, false},
    {"for nobody", some({}), now + 1ns, false},
};

BOOST_AUTO_TEST_SUITE(a_batch)

BOOST_AUTO_TEST_CASE(stores_submissions_in_order) {
    batch commands;
    BOOST_TEST(commands.empty());
    for (command_tag tag = 0; tag != 100; ++tag) {
        BOOST_TEST(commands.size() == tag);
        commands.submit(make(tag, tag % 5 == 0 ? some({tag % 7}) : core::instance_set::all()));
        BOOST_TEST(!commands.empty());
    }
    for (command_tag tag = 0; tag != 100; ++tag) {
        const submission& one = commands.submissions()[tag];
        BOOST_TEST(one.tag == tag);
        BOOST_TEST((one.targets == (tag % 5 == 0 ? some({tag % 7}) : core::instance_set::all())));
        BOOST_TEST(one.command.key == "key");
        BOOST_TEST(one.command.token == "token");
    }
}

BOOST_AUTO_TEST_CASE(targets_all_or_selected_instances) {
    for (std::size_t index = 0; index != core::instance_set::most; ++index) {
        BOOST_TEST(make(0).is_for(index));
        BOOST_TEST(make(0, some({0, 7, 63})).is_for(index) ==
                   (index == 0 || index == 7 || index == 63));
        BOOST_TEST(!make(0, some({})).is_for(index));
    }
    BOOST_TEST(submission{}.is_for(7));
}

BOOST_AUTO_TEST_CASE(empty_batch_needs_no_check) {
    for (const time_point when : {time_point::min(), now, core::never}) {
        BOOST_TEST(batch().unquestioned(reader, when));
    }
}

// Tests all orders of three commands. A single command that needs a check suffices.
BOOST_AUTO_TEST_CASE(needs_no_check_if_no_command_needs_one) {
    for (const sample& a : samples) {
        for (const sample& b : samples) {
            for (const sample& c : samples) {
                BOOST_TEST_CONTEXT(a.text << "; " << b.text << "; " << c.text) {
                    batch commands;
                    command_tag tag = 0;
                    bool expected = true;
                    for (const sample* one : {&a, &b, &c}) {
                        commands.submit(make(tag++, one->targets, one->deadline));
                        expected = expected && one->unquestioned;
                        BOOST_TEST(commands.unquestioned(reader, now) == expected);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(needs_no_check_until_its_earliest_deadline) {
    const std::vector<std::vector<std::chrono::nanoseconds>> orders = {
        {1h, 2h, 3h}, {3h, 2h, 1h}, {2h, 1h, 3h}, {1h}};
    for (const auto& order : orders) {
        batch commands;
        commands.submit(make(0));
        for (const auto after : order) {
            commands.submit(make(0, core::instance_set::all(), now + after));
        }
        BOOST_TEST(commands.unquestioned(reader, now));
        BOOST_TEST(commands.unquestioned(reader, now + 1h));
        BOOST_TEST(!commands.unquestioned(reader, now + 1h + 1ns));
        BOOST_TEST(!commands.unquestioned(reader, core::never));
        BOOST_TEST(commands.unquestioned(reader, now));  // The result is not cached.
    }
}

BOOST_AUTO_TEST_CASE(needs_a_check_after_reconsider) {
    batch commands;
    commands.reconsider();
    BOOST_TEST(!commands.unquestioned(reader, now));
    commands.submit(make(0));
    BOOST_TEST(!commands.unquestioned(reader, now));
    commands.reconsider();
    commands.submit(make(1));
    BOOST_TEST(!commands.unquestioned(reader, now));
    BOOST_TEST(commands.size() == 2U);
}

BOOST_AUTO_TEST_CASE(clear_resets_everything_except_the_capacity) {
    for (const bool with_reconsider : {false, true}) {
        for (const sample& before : samples) {
            for (const sample& after : samples) {
                BOOST_TEST_CONTEXT(before.text << "; " << after.text) {
                    batch commands;
                    for (command_tag tag = 0; tag != 10; ++tag) {
                        commands.submit(make(tag, before.targets, before.deadline));
                    }
                    if (with_reconsider) {
                        commands.reconsider();
                    }
                    const auto memory = commands.submissions().capacity();
                    commands.clear();
                    BOOST_TEST(commands.empty());
                    BOOST_TEST(commands.size() == 0U);
                    BOOST_TEST(commands.unquestioned(reader, core::never));
                    BOOST_TEST(commands.submissions().capacity() == memory);
                    commands.submit(make(77, after.targets, after.deadline));
                    BOOST_TEST(commands.size() == 1U);
                    BOOST_TEST(commands.submissions().front().tag == 77U);
                    BOOST_TEST(commands.unquestioned(reader, now) == after.unquestioned);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::test
