// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_LEDGER_HPP
#define LIKE_COUNTER_DRIVER_LEDGER_HPP

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

/// The driver's own truth: how many likes each entity must have, going by the answers it got.
///
/// Each answer tells whether the request made a difference; the sum of the differences is what must
/// be there at the end, in whatever order the requests took effect. A request without a definite
/// answer may have made one. What came of those is read at the end: the like is there or not, and
/// the difference to the sum must be one that they can have made.
class ledger {
public:
    /// A like that was not there before.
    void added(like_key key) { ++book_[key].known; }
    /// A like that was there before, and was taken back.
    void removed(like_key key) { --book_[key].known; }
    /// A request to like, or to take that back, of which nobody knows what it did.
    void unknown(like_key key, bool liked);

    /// The likes that `settle` is to be called for.
    [[nodiscard]] std::vector<like_key> unsettled() const;

    /// Tells whether a like is there, now that nothing is under way. False if no outcome of the
    /// unknown requests explains it.
    bool settle(like_key key, bool there);

    /// The likes that an entity must have.
    [[nodiscard]] std::int64_t likes_of(std::size_t entity) const;

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

}  // namespace like_counter::driver

#endif
