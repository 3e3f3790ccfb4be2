// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_LISTENER_HPP
#define COLOCK_TEST_SIMULATION_LISTENER_HPP

#include "runtime/events.hpp"
#include "runtime/statistics.hpp"

#include <cstdint>
#include <string>

namespace colock::simulation {

/// What a client has counted, or what its listener was told.
struct event_counts {
    event_counts() = default;
    explicit event_counts(const runtime::statistics& counts)
        : acquired(counts.acquired),
          contended(counts.contended),
          unavailable(counts.unavailable),
          lost(counts.lost) {}

    friend bool operator==(const event_counts&, const event_counts&) = default;
    [[nodiscard]] std::string text() const {
        return std::to_string(acquired) + " acquired, " + std::to_string(contended) + " denied, " +
               std::to_string(unavailable) + " without a quorum, " + std::to_string(lost) + " lost";
    }

    std::uint64_t acquired = 0;
    std::uint64_t contended = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t lost = 0;
};

/// Receives the events of a client, and counts them.
class listener final : public runtime::event_receiver {
public:
    void receive(runtime::acquired_event /*one*/) noexcept override { ++told.acquired; }
    void receive(runtime::denied_event one) noexcept override {
        ++(one.is_contended ? told.contended : told.unavailable);
    }
    void receive(runtime::lost_event one) noexcept override { told.lost += one.holders; }
    void receive(runtime::instance_event /*one*/) noexcept override {}
    void receive(runtime::blocked_event /*one*/) noexcept override {}

    event_counts told;
};

}  // namespace colock::simulation

#endif
