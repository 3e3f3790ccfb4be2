// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_RECEIVER_HPP
#define COLOCK_API_RECEIVER_HPP

#include <colock/observer.hpp>

#include "runtime/events.hpp"

#include <memory>

namespace colock {
inline namespace v1 {
namespace detail {

/// Returns a receiver that passes the events of a client on to the observer. Null if there is no observer.
std::shared_ptr<runtime::event_receiver> receiver_for(std::shared_ptr<observer> to);

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
