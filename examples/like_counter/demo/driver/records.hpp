// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_RECORDS_HPP
#define LIKE_COUNTER_DRIVER_RECORDS_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace like_counter::driver {

/// One user's like of one entity.
struct like_key {
    std::size_t entity = 0;
    std::size_t user = 0;
    auto operator<=>(const like_key&) const = default;
};

/// The likes that each entity must have, by the answers that the driver got.
///
/// Each answer tells whether the request made a difference. At the end, the sum of the differences must be
/// there, in whatever order the requests took effect. A request without a definite answer may have made a
/// difference. Then the stored like decides, and the difference must be one that such requests can have made.
class ledger {
public:
    /// A like that was not there before.
    void added(like_key key) { ++book_[key].known; }
    /// A like that was there before, and was taken back.
    void removed(like_key key) { --book_[key].known; }

    /// A request to like, or to take a like back, whose effect is not known.
    void unknown(like_key key, bool liked) {
        account& found = book_[key];
        ++(liked ? found.perhaps_added : found.perhaps_removed);
        ++unknown_requests_;
    }

    /// Returns the likes that need `settle`.
    [[nodiscard]] std::vector<like_key> unsettled() const {
        std::vector<like_key> keys;
        for (const auto& [key, found] : book_) {
            if (found.perhaps_added + found.perhaps_removed > 0) {
                keys.push_back(key);
            }
        }
        return keys;
    }

    /// Tells whether a like is there, when no request is under way. Returns false if no outcome of the unknown
    /// requests explains it.
    bool settle(like_key key, bool there) {
        account& found = book_[key];
        const std::int64_t unexplained = (there ? 1 : 0) - found.known;
        const bool possible =
            unexplained <= found.perhaps_added && unexplained >= -found.perhaps_removed;
        if (possible) {
            found.known += unexplained;
        }
        found.perhaps_added = found.perhaps_removed = 0;
        return possible;
    }

    /// Returns the number of likes that an entity must have.
    [[nodiscard]] std::int64_t likes_of(std::size_t entity) const {
        std::int64_t sum = 0;
        for (auto position = book_.lower_bound({entity, 0});
             position != book_.end() && position->first.entity == entity; ++position) {
            sum += position->second.known;
        }
        return sum;
    }

    [[nodiscard]] std::uint64_t unknown_requests() const noexcept { return unknown_requests_; }

private:
    struct account {
        std::int64_t known = 0;
        std::int64_t perhaps_added = 0;
        std::int64_t perhaps_removed = 0;
    };

    std::map<like_key, account> book_;
    std::uint64_t unknown_requests_ = 0;
};

/// The latency of each request. In an hour, a fast machine has some ten million requests, which take 80 MB.
class latencies {
public:
    void record(std::chrono::microseconds latency) { all_.push_back(latency); }

    /// Returns the latency that this share of all (0 to 1) did not exceed, or 0 if there are none.
    [[nodiscard]] std::chrono::microseconds percentile(double share) const {
        if (all_.empty()) {
            return {};
        }
        const double rank = std::ceil(share * static_cast<double>(all_.size()));
        const auto position = static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
        std::vector<std::chrono::microseconds> sorted = all_;
        std::nth_element(sorted.begin(), sorted.begin() + position, sorted.end());
        return sorted[static_cast<std::size_t>(position)];
    }

private:
    std::vector<std::chrono::microseconds> all_;
};

}  // namespace like_counter::driver

#endif
