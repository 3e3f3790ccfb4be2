#ifndef COLOCK_SRC_LEASE_ACCESS_HPP
#define COLOCK_SRC_LEASE_ACCESS_HPP

#include <colock/error.hpp>
#include <colock/lease.hpp>

#include "runtime/lease_state.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace colock::detail {

/// Lets the library make leases.
struct lease_access {
    /// `holder` as in `runtime::lease_state`; `fence` is 0 without fencing.
    static lease make(std::shared_ptr<runtime::lease_state> state, std::uint32_t holder,
                      std::uint64_t fence) noexcept {
        return lease({std::move(state), holder, fence});
    }

    /// Null for an empty lease.
    static const std::shared_ptr<runtime::lease_state>& state_of(const lease& l) noexcept {
        return l.held_.state;
    }
    static std::uint32_t holder_of(const lease& l) noexcept { return l.held_.holder; }
    static std::uint64_t fence_of(const lease& l) noexcept { return l.held_.fence; }
};

/// The error of an operation on a lease.
error error_of(runtime::lease_result result, const runtime::lease_state& state,
               std::uint32_t holder);

}  // namespace colock::detail

#endif
