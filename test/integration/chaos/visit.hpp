// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_VISIT_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_VISIT_HPP

#include <colock/lease.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>

namespace colock::chaos {

/// Whether a holder is inside a critical section for as long as it is there, whatever its lease says:
/// wrong, to show that it is found out.
enum class trust { in_lease, in_nothing };

/// Somebody's stay in a critical section: from its making until `leave`, or its end. Writes a line
/// about it for `test::read_sections`.
///
/// Inside is who has a lease that is valid by its own account. So the section ends when the lease is
/// announced lost, or its validity was over while nobody looked: the process may have been stopped.
/// `valid_until` as `look` has last seen it is what counts then.
class visit {
public:
    using time_point = std::chrono::steady_clock::time_point;

    visit(std::ostream& journal, const lease& lease, time_point asked, trust trust);
    ~visit() { leave(); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    /// Takes notice of renewals. Whether we are still inside.
    bool look();

    /// Before the lease is released.
    void leave();

private:
    /// By the lease's own account.
    [[nodiscard]] time_point end(time_point now) const;

    std::ostream& journal_;
    const lease& lease_;
    trust trust_;
    std::string name_;
    std::string token_;
    time_point asked_;
    time_point entered_;
    time_point seen_valid_;   // last
    time_point valid_until_;  // as it was then
    std::shared_ptr<time_point> lost_ = std::make_shared<time_point>(time_point::max());
    bool inside_;
};

}  // namespace colock::chaos

#endif
