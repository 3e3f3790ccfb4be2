// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_KINDS_MEMORY_STORE_HPP
#define COLOCK_TEST_UNIT_KINDS_MEMORY_STORE_HPP

#include <boost/test/unit_test.hpp>

#include "kinds/fenced/fence_counter.hpp"
#include "kinds/table.hpp"
#include "support/step_of_kind.hpp"
#include "support/vote_text.hpp"

#include <chrono>
#include <cstdint>
#include <string>

// A store with clocks that tests can set. The conformance tests compare memory instances with servers.

namespace colock::test {

constexpr kinds::wall_time second(std::uint64_t seconds, std::uint64_t microseconds = 0) {
    return std::chrono::seconds(seconds) + std::chrono::microseconds(microseconds);
}
constexpr std::uint64_t at_second(std::uint64_t seconds) {
    return seconds << kinds::fence_second_bits;
}

struct memory_store {
    kinds::table keys;
    core::time_point now{std::chrono::hours(1000)};
    kinds::wall_time wall = second(1000, 250);

    /// Executes a step. `number` is its value. If there is no token, it is also its ticket.
    core::vote run(const step_of_kind& v, const std::string& token, std::uint64_t number = 0) {
        kinds::command c = v.command();
        c.ticket = token.empty() ? number : client_of(token);
        c.key = "k";
        c.token = token;
        c.ttl = std::chrono::seconds(10);
        c.value = number;
        return keys.execute(c, now, wall);
    }
    /// Acquires and releases the lock, and returns the fence.
    std::uint64_t next(std::uint64_t least = 0) {
        const core::vote v = run(fenced_acquire, "ann", least);
        BOOST_TEST_REQUIRE((v.kind == core::vote_kind::granted));
        BOOST_TEST_REQUIRE((run(core::step::release, "ann").kind == core::vote_kind::granted));
        return v.value;
    }
};

}  // namespace colock::test

#endif
