// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_START_ON_LOCK_HPP
#define COLOCK_API_START_ON_LOCK_HPP

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include "api/call.hpp"
#include "runtime/asio_host.hpp"
#include "runtime/client_context.hpp"
#include "runtime/lock_spec.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

using shared_spec = std::shared_ptr<const runtime::lock_spec>;

/// Returns null for a lock that was moved from, or whose client was.
inline const runtime::asio_host* host_of(const shared_spec& spec) noexcept {
    return spec && spec->owner ? &runtime::asio_host::of(*spec->owner) : nullptr;
}

inline std::string_view resource_of(const shared_spec& spec) noexcept {
    return spec ? spec->resource() : std::string_view();
}

inline bool can_start(const shared_spec& spec) noexcept {
    const runtime::asio_host* const host = host_of(spec);
    return host != nullptr && !host->is_inherited() && spec->problem.empty();
}

/// Starts a `Call` on a lock, or fails it with empty results.
template <typename Call, typename... Results, typename... Arguments>
void start_on_lock(shared_spec spec, detail::handler<Results...> handler,
                   Arguments&&... arguments) {
    const std::string_view problem = spec ? std::string_view(spec->problem) : std::string_view();
    if (!fails_at_start(host_of(spec), handler, resource_of(spec), problem)) {
        const auto owner = runtime::asio_host::of(spec->owner);
        start_call<Call>(owner, std::move(handler), std::move(spec),
                         std::forward<Arguments>(arguments)...);
    }
}

}  // namespace v1
}  // namespace colock

#endif
