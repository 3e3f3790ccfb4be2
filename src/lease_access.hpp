#ifndef COLOCK_SRC_LEASE_ACCESS_HPP
#define COLOCK_SRC_LEASE_ACCESS_HPP

#include <colock/lease.hpp>

#include "runtime/lease_state.hpp"

#include <memory>
#include <utility>

namespace colock::detail {

/// Lets the library make leases.
struct lease_access {
    static lease make(std::shared_ptr<runtime::lease_state> state) noexcept {
        return lease(std::move(state));
    }
};

/// The error that tells why a lease ended by itself; none if it did not.
error loss_of(const runtime::lease_state& state);

}  // namespace colock::detail

#endif
