// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_RUNTIME_SHARED_HPP
#define COLOCK_TEST_UNIT_RUNTIME_SHARED_HPP

#include "core/time.hpp"
#include "kinds/queue/remote_queue.hpp"
#include "kinds/shared/shared.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

// Shared code of the tests of readers and writers.

namespace colock::test {

inline runtime::lock_policy policy_of(const client& of, const kinds::lock_kind& kind) {
    runtime::lock_policy policy = of.usual_policy();
    policy.set_kind(kind);
    return policy;
}

inline acquire read(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", policy_of(by, kinds::shared), deadline);
}
inline acquire write(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", policy_of(by, kinds::writer), deadline);
}

/// Starts a reader that does not share the lease of another reader.
inline acquire read_alone(client& by) {
    runtime::lock_policy policy = policy_of(by, kinds::shared);
    policy.handoff.limit = 0;
    return by.acquire("a", policy);
}

/// Returns the end of the last writer mark on a server, or `time_point::min()` if there is none.
inline core::time_point mark_at(virtual_deployment& in, std::size_t index) {
    return kinds::lock_key(in.server(index).keys, "a", in.world().now()).marked_until();
}

/// Returns the number of clients that wait in the remote queue.
inline std::size_t tickets_at(virtual_deployment& in) {
    auto* const queue = in.server(0).keys.find(kinds::queue_key("a"), in.world().now());
    return queue != nullptr ? queue->as<kinds::waiting_clients>()->tickets.size() : 0;
}

/// A share of a lease that records its result.
class virtual_share final : public runtime::share_operation {
public:
    using share_operation::share_operation;
    void deliver() override {
        ended_with = result();
        fence_number = fence();
        holder_number = new_holder();
    }

    [[nodiscard]] static std::shared_ptr<virtual_share> begin(const client& of,
                                                              const virtual_acquire& reader) {
        const auto made =
            std::make_shared<virtual_share>(reader.lease, reader.holder_number,
                                            of.spec_of("a", policy_of(of, kinds::fenced_shared)));
        made->start(made);
        return made;
    }

    std::optional<runtime::lease_result> ended_with;
    std::uint64_t fence_number = 0;
    std::uint32_t holder_number = 0;
};

}  // namespace colock::test

#endif
