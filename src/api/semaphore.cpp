// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include <colock/semaphore.hpp>

#include "kinds/semaphore/semaphore.hpp"

#include <colock/error.hpp>

#include <string>

namespace colock {
inline namespace v1 {
namespace {

static_assert(semaphore::max_permits == kinds::most_permits);

const kinds::lock_kind& kind_of(std::uint32_t permits, const lock_options& options) {
    if (permits == 0 || permits > semaphore::max_permits) {
        throw config_error("permits", std::to_string(permits) +
                                          " permits are not possible. Give 1 to " +
                                          std::to_string(semaphore::max_permits));
    }
    if (options.fencing) {
        throw config_error("fencing",
                           "true is not possible for a semaphore, since its holders have no "
                           "order. Leave it false, or use a mutex");
    }
    return kinds::semaphore(permits, 1);
}

}  // namespace

semaphore::semaphore(client& client, std::string_view resource, std::uint32_t permits,
                     lock_options options)
    : basic_lock({client, resource, options, kind_of(permits, options)}, options),
      permits_(permits) {}

detail::lock_handle semaphore::several(std::uint32_t count) const {
    if (count == 0 || count > permits_) {
        return handle().with_problem(
            "count: " + std::to_string(count) + " permits are not possible, since it has " +
            std::to_string(permits_) + ". Ask for 1 to " + std::to_string(permits_));
    }
    return count == 1 ? handle() : handle().with_kind(kinds::semaphore(permits_, count));
}

}  // namespace v1
}  // namespace colock
