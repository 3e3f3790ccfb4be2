// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/send_window.hpp"

#include <algorithm>

namespace colock::instance {

send_window::send_window(std::size_t most, core::duration longest) noexcept
    : most_(most), longest_(longest), size_(std::min(initial, most)) {}

std::size_t send_window::drained() const noexcept {
    return std::min(least, size_);
}

void send_window::on_sent(std::size_t in_flight, std::size_t size_of_batch,
                          core::time_point now) noexcept {
    if (in_flight >= size_ && full_since_ == core::never) {
        full_since_ = now;
    }
    const bool is_drained = in_flight - size_of_batch <= drained();
    if (is_draining_ && is_drained && drained_at_ == core::never) {
        drained_at_ = now;
    }
}

void send_window::on_first_answer(core::time_point sent, core::time_point now) noexcept {
    const core::duration delay = now - sent;
    const bool was_drained = is_draining_ && sent >= drained_at_;
    if (was_drained) {
        is_draining_ = false;
        drained_at_ = core::never;
        is_starting_ = delay > unloaded_ + target;  // The path to the server has changed.
        full_since_ = core::never;
    }
    if (was_drained || delay <= unloaded_) {
        unloaded_ = delay;
        measured_at_ = now;
    }
}

void send_window::on_answered(core::time_point sent, core::time_point now) noexcept {
    delay_ = now - sent;
    if (sent < full_since_ || is_draining_) {
        return;  // Says nothing about a full window.
    }
    if (now - measured_at_ >= unloaded_for) {
        is_draining_ = true;
    } else {
        adapt();
    }
    full_since_ = core::never;
}

/// Adapts the window to the latest delay, of a batch that was sent with a full window.
void send_window::adapt() noexcept {
    const core::duration allowed = std::min(unloaded_ + target, longest_);
    is_starting_ = is_starting_ && delay_ <= allowed;
    const double ratio = is_starting_ ? 2
                                      : static_cast<double>(allowed.count()) /
                                            static_cast<double>(delay_.count() + 1);
    // mutant: late_answers_do_not_matter
    const double wanted = static_cast<double>(size_) * std::clamp(ratio, 0.5, 2.0);
    size_ = std::clamp(static_cast<std::size_t>(wanted), std::min(least, most_), most_);
}

}  // namespace colock::instance
