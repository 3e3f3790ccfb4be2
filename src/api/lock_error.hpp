// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_LOCK_ERROR_HPP
#define COLOCK_API_LOCK_ERROR_HPP

#include <colock/error.hpp>

#include "core/outcome.hpp"

#include <string>

namespace colock {
inline namespace v1 {
namespace detail {

/// The error of an acquire that has ended so. One that was granted or has found a record has none.
error error_of(core::acquire_outcome result, std::string details);

/// Returns the error of a lease that was lost for this reason.
error error_of(core::loss why, std::string details);

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
