// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_PERMIT_HPP
#define COLOCK_TEST_SIMULATION_PERMIT_HPP

#include "core/command.hpp"
#include "core/vote.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The meaning of a semaphore lease's token, implemented independently of the library.

namespace colock::simulation {

/// Slots of a semaphore as bits. No world has a semaphore with more than 32.
using slot_set = std::uint32_t;

/// The numbers of slots, in increasing order. See `kinds::semaphore`.
using slot_numbers = std::vector<std::uint32_t>;

/// The permits that a token requests.
struct permit_wish {
    std::uint32_t limit = 0;  ///< Of the semaphore. 0 if the token is not a semaphore's.
    std::uint32_t count = 0;
    std::uint32_t preferred = 0;  ///< The slot with number 1.

    [[nodiscard]] slot_set slot_of(std::uint32_t number) const {
        return slot_set{1} << ((preferred + number - 1) % limit);
    }
    [[nodiscard]] slot_set slots_of(const slot_numbers& numbers) const {
        slot_set result = 0;
        for (const std::uint32_t one : numbers) {
            result |= slot_of(one);
        }
        return result;
    }
    /// Returns all slots.
    [[nodiscard]] slot_set all() const { return (slot_set{1} << limit) - 1; }
};

/// Parses `permit:<limit>*<count>:`, with or without the hexadecimal digits after it.
inline permit_wish wish_of(std::string_view token) {
    constexpr std::string_view prefix = "permit:";
    constexpr std::size_t digits = 8;
    permit_wish result;
    if (!token.starts_with(prefix)) {
        return result;
    }
    const char* const end = token.data() + token.size();
    const char* at = std::from_chars(token.data() + prefix.size(), end, result.limit).ptr;
    at = std::from_chars(at + 1, end, result.count).ptr + 1;
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    std::uint32_t number = 0;
    std::from_chars(at, at + rest.substr(0, digits).size(), number, 16);
    result.preferred = number % result.limit;
    return result;
}

inline slot_numbers numbers_in(std::string_view text) {
    slot_numbers result;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
        at = std::from_chars(at, end, result.emplace_back()).ptr + 1;
    }
    return result;
}

/// Returns the numbers that a command requests. Empty if any numbers are acceptable.
inline slot_numbers numbers_of(const core::command& command) {
    if (command.values != nullptr) {
        return numbers_in(*command.values);
    }
    return command.value == 0 ? slot_numbers()
                              : slot_numbers{static_cast<std::uint32_t>(command.value)};
}

/// Returns the numbers that are granted.
inline slot_numbers numbers_of(const core::vote& granted) {
    if (granted.detail) {
        return numbers_in(*granted.detail);
    }
    return granted.value == 0 ? slot_numbers()
                              : slot_numbers{static_cast<std::uint32_t>(granted.value)};
}

}  // namespace colock::simulation

#endif
