// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/mutex.hpp>

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"

namespace colock {

mutex::mutex(client& client, std::string_view resource, lock_options options)
    : side_(client, resource, options, options.fencing ? kinds::fenced : kinds::exclusive),
      options_(options) {}

}  // namespace colock
