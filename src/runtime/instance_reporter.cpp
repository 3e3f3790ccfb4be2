// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/instance_reporter.hpp"

#include <optional>
#include <utility>

namespace colock::runtime {

void instance_reporter::start(core::time_point now) {
    if (events_.wanted()) {
        reported_.resize(instances_.size(), instance::state::connecting);
        report_all();
        alarms_.wait(*this, now + interval);
    }
}

void instance_reporter::stop() noexcept {
    alarms_.stop_waiting(*this);
    report_all();
}

/// A try to connect is not a state of its own. An instance that was ready is down in the meantime.
void instance_reporter::report(std::size_t index) noexcept {
    if (index >= reported_.size()) {
        return;
    }
    events_.add_if_any([&]() -> std::optional<instance_event> {
        using enum instance_state;
        instance::status now = instances_.state(index);
        instance::state& last = reported_[index];
        if (now.state == connecting || now.state == probing) {
            if (last == connecting) {
                return std::nullopt;
            }
            now.state = down;
        }
        if (now.state == std::exchange(last, now.state)) {
            return std::nullopt;
        }
        return instance_event{index, std::move(now)};
    });
}

void instance_reporter::report_all() noexcept {
    for (std::size_t i = 0; i != reported_.size(); ++i) {
        report(i);
    }
}

void instance_reporter::on_time(core::time_point now) {
    report_all();
    alarms_.wait(*this, now + interval);
}

}  // namespace colock::runtime
