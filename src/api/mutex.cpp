// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/mutex.hpp>

#include "api/exclusive_kind.hpp"

namespace colock {
inline namespace v1 {

mutex::mutex(client& client, std::string_view resource, lock_options options)
    : basic_lock({client, resource, options, detail::exclusive_kind(options)}, options) {}

}  // namespace v1
}  // namespace colock
