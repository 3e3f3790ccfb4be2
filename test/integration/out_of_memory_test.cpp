// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// An instance that runs out of memory while it sends.

#include "instance_rig.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

/// The number of allocations that succeed before one fails. If it is negative, none fails.
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

/// Each allocation in the processing of a batch fails once. Every command must still get exactly one vote,
/// which the rig checks. The instance must continue to serve.
BOOST_AUTO_TEST_CASE(every_command_gets_a_vote_if_an_allocation_fails) {
    using namespace colock::test;
    using colock::core::step;
    const redis_server server;
    instance_rig rig(server.uri());
    // A batch with a withdrawn command is not sent unchanged.
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
