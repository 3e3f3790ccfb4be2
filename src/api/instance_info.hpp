// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_INSTANCE_INFO_HPP
#define COLOCK_API_INSTANCE_INFO_HPP

#include <colock/instance_info.hpp>

#include "instance/instance.hpp"

namespace colock {
inline namespace v1 {
namespace detail {

/// Returns the status of an instance as the user sees it.
instance_info info_of(instance::status status);

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
