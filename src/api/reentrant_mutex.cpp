// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/reentrant_mutex.hpp>

#include "api/exclusive_kind.hpp"

namespace colock {
inline namespace v1 {

reentrant_mutex::reentrant_mutex(client& client, std::string_view resource, lock_options options)
    : basic_lock({client, resource, options, detail::exclusive_kind(options),
                  detail::lock_handle::reentry::allowed},
                 options) {}

}  // namespace v1
}  // namespace colock
