// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What becomes of an instance that finds no memory for what it is to send.

#include "instance_rig.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

/// So many allocations succeed from now on, and then one fails; negative: none does.
long allocations_left = -1;
bool has_failed = false;

}  // namespace

// NOLINTBEGIN(*-no-malloc, misc-new-delete-overloads)
void* operator new(std::size_t size) {
    if (allocations_left >= 0 && allocations_left-- == 0) {
        has_failed = true;
        throw std::bad_alloc();
    }
    if (void* const memory = std::malloc(size == 0 ? 1 : size)) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
    std::free(memory);
}
// NOLINTEND(*-no-malloc, misc-new-delete-overloads)

BOOST_AUTO_TEST_SUITE(out_of_memory)

/// Each allocation on the way of a batch fails once. Every command gets its vote nevertheless (the rig checks
/// that there is exactly one), and the instance serves on.
BOOST_AUTO_TEST_CASE(every_command_gets_a_vote_if_an_allocation_fails) {
    using namespace colock::test;
    using colock::core::step;
    const redis_server server;
    instance_rig rig(server.uri());
    // With one of its commands withdrawn, a batch is not sent as it is.
    for (const bool withdraws : {false, true}) {
        long allocations = 0;
        for (bool failed = true; failed; ++allocations) {
            rig.run_until_ready();
            rig.submit(step::acquire, "k", "ann");
            rig.submit(step::remaining, "k");
            const auto last = rig.submit(step::acquire, "l", "ann");
            if (withdraws) {
                rig.withdraw(last);
            }
            has_failed = false;
            rig.before_send = [allocations] { allocations_left = allocations; };
            rig.flush();
            allocations_left = -1;
            rig.before_send = nullptr;
            failed = has_failed;
            rig.run_until_voted();
            rig.run_until_ready();
            BOOST_TEST((rig.release("k", "ann") == "granted" || failed));
            rig.release("l", "ann");
            server.flush();
        }
        BOOST_TEST_MESSAGE((withdraws ? "withdrawn: " : "as it is: ") << allocations - 1);
        BOOST_TEST(allocations > 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
