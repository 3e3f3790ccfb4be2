// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_TEMPORARIES_HPP
#define COLOCK_DETAIL_TEMPORARIES_HPP

#include <type_traits>

// GCC 12 destroys some temporaries of a `co_await` expression twice: lambdas, and other aggregates. That does harm if
// a member has a destructor.

#define COLOCK_TEMPORARY_BODY \
    [[deprecated( \
        "GCC 12 destroys a temporary body twice. Store the lambda in a variable, and pass " \
        "that. See the note at colock::with_lock")]]

namespace colock {
inline namespace v1 {
namespace detail {

/// A function that GCC 12 destroys twice if it is a temporary of a `co_await` expression. A function that is moved from a
/// variable cannot be told from a temporary one.
template <typename Function>
concept destroyed_twice =
#if defined(COLOCK_ALLOW_TEMPORARY_BODIES) || defined(__clang__) || !defined(__GNUC__) || \
    __GNUC__ >= 13
    false;
#else
    !std::is_lvalue_reference_v<Function> && !std::is_trivially_destructible_v<Function>;
#endif

/// A class whose objects may be temporaries of a `co_await` expression.
template <typename Options>
concept safe_as_temporary = std::is_trivially_destructible_v<Options>;

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
