// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/visit.hpp"

#include <algorithm>
#include <ostream>

namespace colock::chaos {
namespace {

using std::chrono::steady_clock;

std::chrono::nanoseconds::rep ns(steady_clock::time_point time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
}

}  // namespace

visit::visit(std::ostream& journal, const lease& lease, time_point asked, trust trust)
    : journal_(journal),
      lease_(lease),
      trust_(trust),
      name_(lease.resource()),
      token_(lease.token()),
      asked_(asked),
      entered_(steady_clock::now()),
      seen_valid_(entered_),
      valid_until_(lease.valid_until()),
      inside_(trust == trust::in_nothing || entered_ < valid_until_) {
    // The client reports the loss before it releases anything.
    lease.wait_lost([lost = lost_](const error& not_lost) {
        if (!not_lost) {
            *lost = steady_clock::now();
        }
    });
}

bool visit::look() {
    const auto now = steady_clock::now();
    const auto until = lease_.valid_until();
    if (now < until) {
        seen_valid_ = now;
        valid_until_ = until;
    }
    return trust_ == trust::in_nothing || now < until;
}

void visit::leave() {
    if (!inside_) {
        return;
    }
    inside_ = false;
    journal_ << name_ << ' ' << ns(asked_) << ' ' << ns(entered_) << ' '
             << ns(end(steady_clock::now())) << ' ' << token_ << '\n'
             << std::flush;  // Writes whole lines, because a reader may already read the file.
}

visit::time_point visit::end(time_point now) const {
    if (trust_ == trust::in_nothing) {
        return now;
    }
    if (*lost_ != time_point::max()) {
        return std::min(*lost_, valid_until_);
    }
    const auto until = lease_.valid_until();
    if (until == time_point::min()) {  // The report of the loss is pending.
        return seen_valid_;
    }
    return std::min(now, until);
}

}  // namespace colock::chaos
