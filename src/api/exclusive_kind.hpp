// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_EXCLUSIVE_KIND_HPP
#define COLOCK_API_EXCLUSIVE_KIND_HPP

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/fifo/fifo.hpp"

#include <colock/lock_options.hpp>

namespace colock {
inline namespace v1 {
namespace detail {

/// The kind of a lock with one holder and one name.
inline const kinds::lock_kind& exclusive_kind(const lock_options& options) noexcept {
    if (options.order == queue_order::fifo) {
        return options.fencing ? kinds::fenced_fifo : kinds::fifo;
    }
    return options.fencing ? kinds::fenced : kinds::exclusive;
}

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
