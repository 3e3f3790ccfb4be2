// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Records: the votes on reads and writes, the remembered writes, and what locks on the name see.

#include "kinds/versioned/versioned.hpp"
#include "conformance.hpp"
#include "kinds/semaphore/semaphore.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(versioned_test)

using namespace colock::test;

inline const step_of_kind reads{step::read, colock::kinds::versioned};
inline const step_of_kind erases{step::write, colock::kinds::versioned};

inline step_of_kind puts_value(const std::string& value) {
    return erases.with_values(value);
}

/// The steps on the record "k". Versions are named in the order of their creation: v1, v2, and so on.
class one_record : public subject {
public:
    using subject::subject;

    vote ask(const step_of_kind& what, const std::string& id = "", std::uint64_t expected = 0,
             milliseconds ttl = 0ms) {
        return subject::ask(what, id, ttl, expected);
    }

    std::string read() { return text_of(ask(reads)); }
    /// Writes, expecting the version with that number.
    std::string write(const std::string& id, std::size_t from, const std::string& value,
                      milliseconds ttl = 0ms) {
        return text_of(ask(puts_value(value), id, version(from), ttl));
    }
    std::string erase(const std::string& id, std::size_t from) {
        return text_of(ask(erases, id, version(from)));
    }

    [[nodiscard]] std::uint64_t version(std::size_t number) const { return versions_.at(number); }

    std::string text_of(const vote& v) {
        if (v.kind == vote_kind::failed ||
            (v.kind == vote_kind::denied && v.key == key_state::other_kind)) {
            return to_text(v) + (v.detail ? " " + *v.detail : "");
        }
        auto found = std::ranges::find(versions_, v.value);
        if (found == versions_.end()) {
            BOOST_TEST(v.value > versions_.back());  // Versions never go back.
            found = versions_.insert(versions_.end(), v.value);
        }
        const std::string name = "v" + std::to_string(found - versions_.begin());
        const std::string state = name + (v.detail ? " " + *v.detail : "");
        return v.kind == vote_kind::granted  ? state
               : v.key == key_state::foreign ? "refused by " + state
                                             : "unknown, now " + state;
    }

private:
    std::vector<std::uint64_t> versions_{0};
};

BOOST_DATA_TEST_CASE(a_write_needs_the_version_of_the_record, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.read() == "v0");
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    BOOST_TEST(r.read() == "v1 one");
    BOOST_TEST(r.write("a2", 0, "two") == "refused by v1 one");
    BOOST_TEST(r.write("a3", 1, "two") == "v2");
    BOOST_TEST(r.write("a4", 1, "three") == "refused by v2 two");
    BOOST_TEST(r.erase("a5", 1) == "refused by v2 two");
    BOOST_TEST(r.erase("a6", 2) == "v3");
    BOOST_TEST(r.read() == "v3");
    BOOST_TEST(r.write("a7", 2, "four") == "refused by v3");
    BOOST_TEST(r.write("a8", 3, "four") == "v4");
    BOOST_TEST(r.read() == "v4 four");
}

/// Fault 62: a version that existed before the erase never returns.
BOOST_TEST_DECORATOR(*label("fault-62"))
BOOST_DATA_TEST_CASE(versions_go_on_after_an_erase, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    BOOST_TEST(r.erase("a2", 1) == "v2");
    BOOST_TEST(r.write("a3", 0, "late") == "refused by v2");
    BOOST_TEST(r.write("a4", 2, "two") == "v3");
    BOOST_TEST(r.erase("a5", 1) == "refused by v3 two");
}

/// Fault 62: the expiry of a value creates a new version.
BOOST_TEST_DECORATOR(*label("fault-62"))
BOOST_DATA_TEST_CASE(the_end_of_a_value_is_a_change, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.write("a1", 0, "one", 40ms) == "v1");
    std::string state;
    r.rig.run_until([&] { return (state = r.read()) != "v1 one"; });
    BOOST_TEST(state == "v2");
    BOOST_TEST(r.write("a2", 1, "late") == "refused by v2");
    BOOST_TEST(r.write("a3", 0, "late") == "refused by v2");
    BOOST_TEST(r.write("a1", 0, "one", 40ms) == "v1");  // This write was carried out.
    BOOST_TEST(r.write("a4", 2, "two") == "v3");
    BOOST_TEST(r.read() == "v3 two");
}

/// Fault 61: the record recognizes a repeated write by its id.
BOOST_TEST_DECORATOR(*label("fault-61"))
BOOST_DATA_TEST_CASE(a_write_that_is_sent_again_is_carried_out_once, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    BOOST_TEST(r.write("a2", 1, "two") == "v2");
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    BOOST_TEST(r.erase("a3", 2) == "v3");
    BOOST_TEST(r.erase("a3", 2) == "v3");
    BOOST_TEST(r.write("a2", 1, "two") == "v2");
    BOOST_TEST(r.write("a4", 1, "two") == "refused by v3");  // The same value, in another write.
    BOOST_TEST(r.read() == "v3");
}

/// Fault 61: the outcome of a write is unknown after later writes have displaced it.
BOOST_TEST_DECORATOR(*label("fault-61"))
BOOST_DATA_TEST_CASE(a_record_remembers_its_last_writes, all_kinds) {
    one_record r(sample);
    constexpr std::size_t last = colock::kinds::remembered_writes + 2;
    for (std::size_t i = 0; i != last; ++i) {
        BOOST_TEST(r.write("a" + std::to_string(i), i, std::to_string(i)) ==
                   "v" + std::to_string(i + 1));
    }
    const std::string now = "v18 17";
    BOOST_TEST(r.write("a2", 2, "2") == "v3");
    BOOST_TEST(r.write("a1", 1, "1") == "unknown, now " + now);
    BOOST_TEST(r.write("b1", 1, "1") == "unknown, now " + now);
    BOOST_TEST(r.write("b2", 2, "1") == "refused by " + now);
    BOOST_TEST(r.write("b3", 0, "1") == "unknown, now " + now);
    const auto in_future = r.ask(puts_value("x"), "b4", r.version(18) + 1);
    BOOST_TEST(r.text_of(in_future) == "unknown, now " + now);
}

/// Fault 61: a missing record cannot report the outcome of a write.
BOOST_TEST_DECORATOR(*label("fault-61"))
BOOST_DATA_TEST_CASE(a_record_that_is_gone_tells_nothing, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.text_of(r.ask(puts_value("x"), "a1", 7)) == "unknown, now v0");
}

BOOST_DATA_TEST_CASE(a_value_has_any_bytes, all_kinds) {
    one_record r(sample);
    std::string bytes;
    for (int i = 0; i != 256; ++i) {
        bytes += static_cast<char>(i);
    }
    BOOST_TEST(r.write("a1", 0, bytes) == "v1");
    BOOST_TEST(r.read() == "v1 " + bytes);
    BOOST_TEST(r.write("a2", 1, " leading\r\n") == "v2");
    BOOST_TEST(r.write("a3", 1, "x") == "refused by v2  leading\r\n");
    const std::string large(std::size_t{1} << 20U, '\0');
    BOOST_TEST((r.write("a4", 2, large) == "v3"));
    BOOST_TEST((r.read() == "v3 " + large));
    BOOST_TEST((r.write("a5", 2, "x") == "refused by v3 " + large));
}

/// The key of one is not valid for the other.
BOOST_DATA_TEST_CASE(a_key_of_a_lock_is_no_record, all_kinds) {
    one_record r(sample);
    auto& rig = r.rig;
    const auto expect = [&](const std::string& lock) {
        for (const std::string& said : {r.read(), r.write("a1", 0, "x"), r.erase("a2", 0)}) {
            BOOST_TEST(said.ends_with(lock), said);
        }
    };
    BOOST_TEST(rig.acquire("k", ann) == "granted");
    expect("a mutex");
    BOOST_TEST(rig.release("k", ann) == "granted");
    rig.ask(looks, "k", ann_reads);
    expect("a shared mutex");
    rig.ask(joins, "k", bob_reads);
    expect("a shared mutex");
    r.rig.ask(of_reader(step::release), "k", ann_reads);
    r.rig.ask(of_reader(step::release), "k", bob_reads);
    const auto& three = colock::kinds::semaphore(3, 1);
    rig.ask({step::acquire, three}, "k", "permit:3*1:" + ann);
    expect("a semaphore of 3 permits");
    rig.ask({step::acquire, three, true}, "k", "permit:3*1:" + bob);
    expect("a semaphore of 3 permits");
}

BOOST_DATA_TEST_CASE(a_record_is_no_lock, all_kinds) {
    one_record r(sample);
    BOOST_TEST(r.write("a1", 0, "one") == "v1");
    check_is_no_lock(r.rig, "a versioned value");
    BOOST_TEST(r.read() == "v1 one");
}

BOOST_DATA_TEST_CASE(a_value_that_colock_did_not_write_is_left_alone, all_kinds) {
    one_record r(sample);
    r.plant_foreign_key("k");
    const std::string found = r.read();
    BOOST_TEST(found.starts_with("denied"), found);
    BOOST_TEST(r.write("a1", 0, "x") == found);
    BOOST_TEST(r.erase("a2", 0) == found);
}

/// Memory and servers give equal votes for any steps. Only the version numbers differ.
BOOST_DATA_TEST_CASE(memory_and_servers_remember_the_same, compared_kinds) {
    for_each_seed(20, [&](std::mt19937& random, unsigned /*seed*/) {
        one_record server(sample);
        one_record memory(kind::memory);
        std::size_t latest = 0;
        for (int i = 0; i != 300; ++i) {
            const std::size_t back = random() % 3 == 0 ? random() % 24 : 0;
            const std::size_t from = latest - std::min(latest, back);
            // All copies of a write expect the same version.
            const std::string id = "a" + std::to_string(random() % 3) + "b" + std::to_string(from);
            const std::string value = std::to_string(random() % 3);
            const milliseconds ttl = random() % 2 == 0 ? 0ms : 1h;
            const unsigned what = random() % 8;
            const auto answer_of = [&](one_record& r) {
                return what == 0   ? r.read()
                       : what == 1 ? r.erase(id, from)
                                   : r.write(id, from, value, ttl);
            };
            const std::string answer = answer_of(server);
            BOOST_TEST_REQUIRE(answer == answer_of(memory));
            const auto digits = answer.find_first_of("0123456789", answer.find('v'));
            latest = std::max<std::size_t>(latest, std::stoul(answer.substr(digits)));
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
