// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_VISIT_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_VISIT_HPP

#include <colock/lease.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>

namespace colock::chaos {

/// Whether a holder leaves when its lease has ended. With `in_nothing` it stays inside regardless. This is an
/// error that the checker must find.
enum class trust { in_lease, in_nothing };

/// A stay in a critical section, from the construction until `leave` or the destruction. It writes a line for
/// `test::read_sections`.
///
/// A process is inside only while its lease is valid by its own account. So the section ends when the loss is
/// reported. If the validity ended while the process was stopped, the value of `valid_until` that `look` saw
/// last counts.
class visit {
public:
    using time_point = std::chrono::steady_clock::time_point;

    visit(std::ostream& journal, const lease& lease, time_point asked, trust trust);
    ~visit() { leave(); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    /// Records renewals. Returns whether the process is still inside.
    bool look();

    /// Call this before the lease is released.
    void leave();

private:
    /// Returns the end of the stay by the lease's own account.
    [[nodiscard]] time_point end(time_point now) const;

    std::ostream& journal_;
    const lease& lease_;
    trust trust_;
    std::string name_;
    std::string token_;
    time_point asked_;
    time_point entered_;
    time_point seen_valid_;   // The last time at which `look` saw a valid lease.
    time_point valid_until_;  // The value at that time.
    std::shared_ptr<time_point> lost_ = std::make_shared<time_point>(time_point::max());
    bool inside_;
};

}  // namespace colock::chaos

#endif
