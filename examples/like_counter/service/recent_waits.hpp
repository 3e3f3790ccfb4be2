// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_RECENT_WAITS_HPP
#define LIKE_COUNTER_RECENT_WAITS_HPP

#include "percentile.hpp"

#include <colock/histograms.hpp>

#include <chrono>
#include <deque>

namespace like_counter {

/// The waits of the last second, for one reader of events. It remembers the snapshots of its latest events.
class recent_waits {
public:
    using clock = std::chrono::steady_clock;

    /// Returns the waits since the latest snapshot that is a second old. If no snapshot is as old as that,
    /// returns the waits since the first one. So the first event has none.
    colock::histogram add(clock::time_point now, const colock::histogram& all) {
        snapshots_.push_back({now, all});
        while (snapshots_.size() > 1 && snapshots_[1].at <= now - std::chrono::seconds(1)) {
            snapshots_.pop_front();
        }
        return difference(all, snapshots_.front().waits);
    }

private:
    struct snapshot {
        clock::time_point at;
        colock::histogram waits;
    };
    std::deque<snapshot> snapshots_;
};

}  // namespace like_counter

#endif
