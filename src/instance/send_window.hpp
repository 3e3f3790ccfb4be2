// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_SEND_WINDOW_HPP
#define COLOCK_INSTANCE_SEND_WINDOW_HPP

#include "core/time.hpp"

#include <cstddef>

namespace colock::instance {

/// Limits the commands in flight on one connection, so that replies stay near their unloaded delay.
///
/// A server executes commands one after the other. Commands beyond the number that keeps it busy only wait in
/// its queue. The window therefore grows while replies are quick, and shrinks when they are late. It is
/// updated once per round trip with a full window:
///
///     window = window * (unloaded delay + target) / delay, but at most doubled and at least halved
///
/// This is the equation of FAST TCP, with a target for the delay of the queue instead of its length. See C.
/// Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms, Performance", INFOCOM 2004.
/// The target is that of CoDel, RFC 8289. Like TCP, it starts by doubling the window until the first late
/// reply (slow start, RFC 5681).
///
/// The unloaded delay is the smallest delay of the last ten seconds, as in BBR. See N. Cardwell et al., "BBR:
/// Congestion-Based Congestion Control", ACM Queue 14, 2016. If no smaller delay was measured for ten seconds
/// and the window is full, it closes until the queue has drained. The next reply is then the new measurement.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class send_window {
public:
    /// Acceptable delay in the server's queue.
    static constexpr core::duration target = core::milliseconds(5);
    /// Age at which the unloaded delay is measured again.
    static constexpr core::duration unloaded_for = std::chrono::seconds(10);
    static constexpr std::size_t initial = 64;
    static constexpr std::size_t least = 16;

    /// Creates a window that never grows beyond `most`. A reply with a delay above `longest` is late
    /// regardless of the unloaded delay. Other clients may have loaded the server during that measurement.
    send_window(std::size_t most, core::duration longest) noexcept;

    /// Returns the number of commands that may be in flight.
    [[nodiscard]] std::size_t size() const noexcept { return is_draining_ ? drained() : size_; }

    /// Returns the delay of the latest reply, or zero before the first.
    [[nodiscard]] core::duration delay() const noexcept { return delay_; }

    /// Records a batch that is sent. `in_flight` includes its commands.
    void on_sent(std::size_t in_flight, std::size_t size_of_batch, core::time_point now) noexcept;

    /// Records that the first command of a batch is answered. Only commands of earlier batches preceded it in
    /// the queue.
    void on_first_answer(core::time_point sent, core::time_point now) noexcept;

    /// Records that all commands of a batch are answered.
    void on_answered(core::time_point sent, core::time_point now) noexcept;

private:
    [[nodiscard]] std::size_t drained() const noexcept;
    void adapt() noexcept;

    std::size_t most_;
    core::duration longest_;
    std::size_t size_;
    core::duration delay_{};
    core::duration unloaded_ = core::duration::max();
    // Time of the measurement of the unloaded delay.
    core::time_point measured_at_ = core::time_point::min();
    // First time the window was full since its last change.
    core::time_point full_since_ = core::never;
    bool is_starting_ = true;  // No reply was late yet.
    bool is_draining_ = false;
    core::time_point drained_at_ = core::never;
};

}  // namespace colock::instance

#endif
