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

/// The wall clock in milliseconds since 1970, which is how exactly Redis stores when a key expires.
using wall_milliseconds = std::int64_t;

/// The wall clock in microseconds since 1970.
using wall_microseconds = std::int64_t;

/// Of a key without ttl.
inline constexpr wall_milliseconds no_expiry = std::numeric_limits<wall_milliseconds>::max();

using list = std::vector<std::string>;
/// The fields in the order in which they came.
using hash = std::vector<std::pair<std::string, std::string>>;
using key_value = std::variant<std::string, list, sorted_set, hash>;

/// As TYPE reports it.
std::string_view type_name(const key_value& v) noexcept;

/// A key and what it has.
struct record {
    std::string name;
    key_value content{};
    wall_milliseconds expires = no_expiry;

    friend bool operator==(const record& a, const record& b) = default;
};

/// The keys of a server. A copy is cheap: the copies share each key until one of them changes it. It knows no clock, so it contains keys
/// that have expired until somebody removes them.
///
/// Thread-safety: distinct objects safe if they are no copies of each other.
class keyspace {
public:
    /// Null if there is none. It is valid until the key is changed.
    [[nodiscard]] const record* find(std::string_view name) const noexcept;
    [[nodiscard]] bool contains(std::string_view name) const noexcept {
        return find(name) != nullptr;
    }

    /// The same, to be changed.
    [[nodiscard]] record* find_to_change(std::string_view name);
    /// The key, which is made if there is none.
    record& make(std::string_view name);
    /// Returns whether it was there.
    bool erase(std::string_view name) noexcept;
    /// Has the second name have what the first has, which must exist.
    void rename(std::string_view from, std::string_view to);
    void clear() noexcept { records_.clear(); }

    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    /// The keys, by name.
    [[nodiscard]] const record& operator[](std::size_t i) const noexcept { return *records_[i]; }

    /// Whether they have the same keys, values and times.
    friend bool operator==(const keyspace& a, const keyspace& b);

private:
    using records = std::vector<std::shared_ptr<record>>;

    [[nodiscard]] records::const_iterator lower_bound(std::string_view name) const noexcept;
    [[nodiscard]] record& own(std::size_t at);

    records records_;  // sorted by name
};

}  // namespace colock::small_redis

#endif
