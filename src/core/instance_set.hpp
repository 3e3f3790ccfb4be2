// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_INSTANCE_SET_HPP
#define COLOCK_CORE_INSTANCE_SET_HPP

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace colock::core {

/// A set of a client's instances, identified by their indices.
class instance_set {
public:
    /// The maximum number of instances of a client.
    static constexpr std::size_t most = 64;

    /// Creates an empty set.
    constexpr instance_set() = default;

    /// Returns the set of all instances, whatever their number.
    [[nodiscard]] static constexpr instance_set all() noexcept {
        instance_set result;
        result.bits_ = ~std::uint64_t{0};
        return result;
    }

    [[nodiscard]] static constexpr instance_set only(std::size_t index) noexcept {
        instance_set result;
        result.add(index);
        return result;
    }

    constexpr void add(std::size_t index) noexcept {
        assert(index < most);
        bits_ |= std::uint64_t{1} << index;
    }

    constexpr void remove(std::size_t index) noexcept {
        assert(index < most);
        bits_ &= ~(std::uint64_t{1} << index);
    }

    constexpr void keep(const instance_set& others) noexcept { bits_ &= others.bits_; }

    [[nodiscard]] constexpr bool contains(std::size_t index) const noexcept {
        assert(index < most);
        return (bits_ >> index & 1U) != 0;
    }

    [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

    /// Returns how many of the first `instances` instances are in the set.
    [[nodiscard]] constexpr std::size_t count(std::size_t instances) const noexcept {
        assert(instances <= most);
        if (*this == all() || instances == 0) {
            return instances;  // The usual case: commands go to all instances.
        }
        return static_cast<std::size_t>(std::popcount(bits_ << (most - instances)));
    }

    friend constexpr bool operator==(const instance_set&, const instance_set&) = default;

private:
    std::uint64_t bits_ = 0;
};

}  // namespace colock::core

#endif
