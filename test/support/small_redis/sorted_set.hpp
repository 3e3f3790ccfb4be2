// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_SORTED_SET_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_SORTED_SET_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// An interval of scores.
struct score_range {
    double first = 0;
    double last = 0;
    bool is_first_excluded = false;
    bool is_last_excluded = false;

    [[nodiscard]] bool contains(double score) const noexcept {
        return (is_first_excluded ? score > first : score >= first) &&
               (is_last_excluded ? score < last : score <= last);
    }
};

/// Members sorted by score, and by name if the scores are equal. It is meant for few members.
class sorted_set {
public:
    struct member {
        double score;
        std::string name;
        friend bool operator==(const member& a, const member& b) = default;
    };

    [[nodiscard]] const std::vector<member>& members() const noexcept { return members_; }
    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] std::optional<double> score(std::string_view name) const noexcept;
    /// Adds a member, or changes its score.
    void put(std::string_view name, double score);
    /// Removes a member. Returns true if it existed.
    bool erase(std::string_view name);
    /// Removes the members in the range. Returns their number.
    std::size_t erase(const score_range& range);

    friend bool operator==(const sorted_set& a, const sorted_set& b) = default;

private:
    std::vector<member> members_;
};

}  // namespace colock::small_redis

#endif
