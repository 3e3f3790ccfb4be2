// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_INSTANCE_REPORTER_HPP
#define COLOCK_RUNTIME_INSTANCE_REPORTER_HPP

#include "core/time.hpp"
#include "instance/instance.hpp"
#include "runtime/events.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/loop/timers.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace colock::runtime {

/// Adds an event for each change of an instance's state. Changes of readiness are reported at once. The other
/// ones have no notification, so it looks for them once a second. An example is the end of a Cluster's
/// quarantine.
class instance_reporter final : private timed {
public:
    instance_reporter(const instance_group& instances, timers& alarms, events& out) noexcept
        : instances_(instances), alarms_(alarms), events_(out) {}

    /// Begins, if there is a receiver.
    void start(core::time_point now);
    /// Reports the last states.
    void stop() noexcept;
    /// Reports the state of instance `index` if it is another one than the last.
    void report(std::size_t index) noexcept;

private:
    static constexpr core::duration interval = std::chrono::seconds(1);

    void report_all() noexcept;
    void on_time(core::time_point now) override;

    const instance_group& instances_;
    timers& alarms_;
    events& events_;
    std::vector<instance::state>
        reported_;  // The last state of each instance. Empty before the start.
};

}  // namespace colock::runtime

#endif
