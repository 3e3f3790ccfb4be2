// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_SNAPSHOT_OPERATION_HPP
#define COLOCK_RUNTIME_SNAPSHOT_OPERATION_HPP

#include "runtime/client_context.hpp"
#include "runtime/loop/operation.hpp"

#include <memory>
#include <utility>

namespace colock::runtime {

/// Reads the state of a client in one of its turns. It waits for nothing.
class snapshot_operation : public operation {
public:
    explicit snapshot_operation(std::shared_ptr<client_context> client) noexcept
        : client_(std::move(client)) {}

    void cancel() final {}

protected:
    void on_start() final { client_->finished.add(take()); }

    /// Calls the function with each lease at its key: held, or lost and not released.
    template <typename Function>
    void for_each_lease(const Function& tell) const {
        for (const lease_driver& lease : client_->members.leases) {
            if (lease.is_at_key()) {
                tell(lease);
            }
        }
    }
    /// Calls the function with each acquire that is running.
    template <typename Function>
    void for_each_waiter(const Function& tell) const {
        for (const acquire_operation& waiter : client_->members.acquiring) {
            tell(waiter);
        }
    }
    [[nodiscard]] const client_context& client() const noexcept { return *client_; }

private:
    std::shared_ptr<client_context> client_;
};

}  // namespace colock::runtime

#endif
