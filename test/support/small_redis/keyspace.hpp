// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_KEYSPACE_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_KEYSPACE_HPP

#include "support/small_redis/sorted_set.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace colock::small_redis {

/// The wall clock in milliseconds since 1970. Redis stores expiry times with this precision.
using wall_milliseconds = std::int64_t;

/// The wall clock in microseconds since 1970.
using wall_microseconds = std::int64_t;

/// The expiry time of a key without ttl.
inline constexpr wall_milliseconds no_expiry = std::numeric_limits<wall_milliseconds>::max();

using list = std::vector<std::string>;
/// The fields in the order of their insertion.
using hash = std::vector<std::pair<std::string, std::string>>;
using key_value = std::variant<std::string, list, sorted_set, hash>;

/// Returns the type name that TYPE reports.
std::string_view type_name(const key_value& v) noexcept;

/// A key with its value and its expiry time.
struct record {
    std::string name;
    key_value content{};
    wall_milliseconds expires = no_expiry;

    friend bool operator==(const record& a, const record& b) = default;
};

/// The keys of a server. A copy is cheap, because copies share each key until one of them changes it. It has
/// no clock, so expired keys remain until a caller removes them.
///
/// Thread-safety: distinct objects: safe, except copies of each other.
class keyspace {
public:
    /// Returns the key, or null if there is none. The pointer is valid until the key is changed.
    [[nodiscard]] const record* find(std::string_view name) const noexcept;
    [[nodiscard]] bool contains(std::string_view name) const noexcept {
        return find(name) != nullptr;
    }

    /// Returns the same key as `find`, for a change.
    [[nodiscard]] record* find_to_change(std::string_view name);
    /// Returns the key, and creates it if it is missing.
    record& make(std::string_view name);
    /// Removes the key. Returns true if it existed.
    bool erase(std::string_view name) noexcept;
    /// Moves the content of the first name, which must exist, to the second name.
    void rename(std::string_view from, std::string_view to);
    void clear() noexcept { records_.clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    /// Returns a key in the order of the names.
    [[nodiscard]] const record& operator[](std::size_t i) const noexcept { return *records_[i]; }

    /// Returns true if both have the same keys, values and expiry times.
    friend bool operator==(const keyspace& a, const keyspace& b);

private:
    using records = std::vector<std::shared_ptr<record>>;

    [[nodiscard]] records::const_iterator lower_bound(std::string_view name) const noexcept;
    [[nodiscard]] record& own(std::size_t at);

    records records_;  // Sorted by name.
};

}  // namespace colock::small_redis

#endif
