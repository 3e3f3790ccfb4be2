// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_ADVICE_HPP
#define COLOCK_DETAIL_ADVICE_HPP

// A deleted function fits one mistake. The names of its template parameters say what to do. Compilers print them.

#include <chrono>
#include <concepts>
#include <type_traits>

namespace colock {
inline namespace v1 {
namespace detail {

template <typename T>
concept chrono_time = requires {
    typename T::rep;  // of std::chrono::duration and time_point
    typename T::period;
};

/// A number, or a time that does not convert to `To`.
template <typename T, typename To>
concept wrong_time = (chrono_time<T> || std::is_arithmetic_v<T>)&&!std::convertible_to<T, To>;

struct timeout {
    template <std::convertible_to<std::chrono::milliseconds> Duration>
    timeout(Duration given) : value(given) {}  // NOLINT(*-explicit-*)
    template <wrong_time<std::chrono::milliseconds> a_timeout_has_a_unit_such_as_200ms>
    timeout(a_timeout_has_a_unit_such_as_200ms) = delete;
    std::chrono::milliseconds value;
};

struct deadline {
    template <std::convertible_to<std::chrono::steady_clock::time_point> Time>
    deadline(Time given) : value(given) {}  // NOLINT(*-explicit-*)
    template <wrong_time<std::chrono::steady_clock::time_point> a_deadline_is_of_the_steady_clock>
    deadline(a_deadline_is_of_the_steady_clock) = delete;
    std::chrono::steady_clock::time_point value;
};

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
