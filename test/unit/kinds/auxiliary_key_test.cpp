// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The names of auxiliary keys. No two are equal, and each is in the slot of the key of its lock.

#include "kinds/auxiliary_key.hpp"
#include "instance/redis/key_slot.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/queue/remote_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::kinds {
namespace {

using instance::redis::key_slot;

/// Returns every auxiliary name of a key, with its role.
std::vector<std::pair<std::string, std::string>> names_of(std::string_view key) {
    return {{"fence", fence_key(key)},
            {"queue", queue_key(key)},
            {"ticket 1", ticket_key(key, 1)},
            {"ticket 12", ticket_key(key, 12)}};
}

/// Returns all concatenations of up to `length` of these pieces.
std::vector<std::string> texts_of(const std::vector<std::string>& pieces, std::size_t length) {
    std::vector<std::string> result{""};
    for (std::size_t begin = 0; length != 0; --length) {
        const std::size_t end = result.size();
        for (; begin != end; ++begin) {
            for (const std::string& piece : pieces) {
                result.push_back(result[begin] + piece);
            }
        }
    }
    return result;
}

BOOST_AUTO_TEST_SUITE(auxiliary_key_test)

BOOST_AUTO_TEST_CASE(key_slots_match_the_cluster_specification) {
    BOOST_TEST(key_slot("123456789") == 0x31C3U);  // From the cluster specification.
    BOOST_TEST(key_slot("foo") == 12182U);
    BOOST_TEST(key_slot("{foo}.bar") == 12182U);
    BOOST_TEST(key_slot("x{foo}{bar}") == 12182U);
    BOOST_TEST(key_slot("{}foo") != 12182U);
    BOOST_TEST(key_slot("") == 0U);
}

BOOST_AUTO_TEST_CASE(keys_with_braces_but_no_hash_tag_have_no_auxiliary_keys) {
    for (const char* const key : {"a}b", "{}a", "}", "{}"}) {
        BOOST_TEST(!has_auxiliary_keys(key), key);
    }
    for (const char* const key : {"a", "{a}", "a{", "{a}b}", "x{a}{}"}) {
        BOOST_TEST(has_auxiliary_keys(key), key);
    }
}

BOOST_AUTO_TEST_CASE(auxiliary_key_names_follow_their_format) {
    BOOST_TEST(fence_key("like:42") == "{like:42}:colock:fence");
    BOOST_TEST(fence_key("like:{42}") == "like:{42}:colock::fence");
    BOOST_TEST(queue_key("z") == "{z}:colock:queue");
    BOOST_TEST(queue_key("{z}") == "{z}:colock::queue");
    BOOST_TEST(ticket_key("z", 42) == "{z}:colock:ticket:42");
    BOOST_TEST(ticket_key("{z}", 42) == "{z}:colock::ticket:42");
    BOOST_TEST(ticket_key("z", 42) == ticket_prefix("z") + "42");
}

BOOST_AUTO_TEST_CASE(auxiliary_keys_are_in_the_slot_of_their_key) {
    for (const std::string& key : texts_of({"{", "}", "a", ":colock:", "queue"}, 5)) {
        for (const auto& [role, name] : names_of(key)) {
            BOOST_TEST((key_slot(name) == key_slot(key) || !has_auxiliary_keys(key) || key.empty()),
                       name << " is not in the slot of " << key);
        }
    }
}

BOOST_AUTO_TEST_CASE(no_two_auxiliary_keys_share_a_name) {
    std::map<std::string, std::string> owners;
    for (const std::string& key :
         texts_of({"{", "}", "a", ":", ":colock:", "fence", "queue", "ticket:", "1"}, 5)) {
        for (const auto& [role, name] : names_of(key)) {
            const std::string owner = role + " of " + key;
            const auto [found, added] = owners.try_emplace(name, owner);
            if (!added) {
                BOOST_ERROR(name << " is the " << owner << " and the " << found->second);
            }
        }
    }
}

// A lock may have the name of an auxiliary key, but not by accident.
BOOST_AUTO_TEST_CASE(every_auxiliary_key_name_contains_colock) {
    for (const std::string key :
         {"k", "{k}", "line", "k:line", "k:fence", "{k}:queue", "}", "{}"}) {
        for (const auto& [role, name] : names_of(key)) {
            BOOST_TEST(name.find(":colock:") != std::string::npos);
            BOOST_TEST(name != key);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
