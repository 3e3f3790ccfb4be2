// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_SEND_WINDOW_HPP
#define COLOCK_INSTANCE_SEND_WINDOW_HPP

#include "core/time.hpp"

#include <cstddef>

namespace colock::instance {

/// How many commands may be in flight on one connection, so that its answers stay near their unloaded delay.
///
/// A server executes commands one after the other. More of them in flight than it needs to stay busy only wait in its
/// queue. So the window grows while answers are quick, and shrinks when they are late. Once in a round trip with a full window:
///
///     window = window * (unloaded delay + target) / delay, but at most doubled and at least halved
///
/// This is the equation of FAST TCP (C. Jin, D. X. Wei, S. H. Low, "FAST TCP: Motivation, Architecture, Algorithms,
/// Performance", INFOCOM 2004) with a target for the delay of the queue instead of its length. The target is that of CoDel
/// (RFC 8289). It begins as TCP does, and doubles the window until the first answer that is late (slow start, RFC 5681).
///
/// The unloaded delay is measured as by BBR (N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14,
/// 2016): it is the smallest delay of the last ten seconds. If the window was in use for so long, it is closed until the queue
/// has drained, and the next answer is measured.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class send_window {
public:
    /// Delay of the queue that is allowed.
    static constexpr core::duration target = core::milliseconds(5);
    /// An unloaded delay that is older is measured anew.
    static constexpr core::duration unloaded_for = std::chrono::seconds(10);
    static constexpr std::size_t initial = 64;
    static constexpr std::size_t least = 16;

    /// It never grows beyond `most`. An answer with a longer delay than `longest` is late, whatever the unloaded delay: that
    /// may have been measured while other clients kept the server busy.
    send_window(std::size_t most, core::duration longest) noexcept;

    /// The number of commands that may be in flight.
    [[nodiscard]] std::size_t size() const noexcept { return is_draining_ ? drained() : size_; }

    /// The delay of the latest answer; zero before the first.
    [[nodiscard]] core::duration delay() const noexcept { return delay_; }

    /// A batch goes out, after which so many commands are `in_flight`.
    void on_sent(std::size_t in_flight, std::size_t size_of_batch, core::time_point now) noexcept;

    /// The first command of a batch is answered. Only the commands of earlier batches were before it in the queue.
    void on_first_answer(core::time_point sent, core::time_point now) noexcept;

    /// All commands of a batch are answered.
    void on_answered(core::time_point sent, core::time_point now) noexcept;

private:
    [[nodiscard]] std::size_t drained() const noexcept;
    void adapt() noexcept;

    std::size_t most_;
    core::duration longest_;
    std::size_t size_;
    core::duration delay_{};
    core::duration unloaded_ = core::duration::max();
    core::time_point measured_at_ = core::time_point::min();  // the unloaded delay
    core::time_point full_since_ = core::never;               // since the window has changed
    bool is_starting_ = true;                                 // no answer was late yet
    bool is_draining_ = false;
    core::time_point drained_at_ = core::never;
};

}  // namespace colock::instance

#endif
