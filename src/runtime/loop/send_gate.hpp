// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_SEND_GATE_HPP
#define COLOCK_RUNTIME_LOOP_SEND_GATE_HPP

#include "core/time.hpp"
#include "runtime/loop/timers.hpp"
#include "runtime/loop/turn_clock.hpp"
#include "runtime/statistics.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <cstddef>

namespace colock::runtime {

struct at_gate_tag;
using at_gate =
    boost::intrusive::list_base_hook<boost::intrusive::tag<at_gate_tag>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// An operation that waits to be sent.
class gated : public at_gate {
public:
    /// The operation may be sent now, and has left the gate.
    virtual void on_admitted(core::time_point now) = 0;

protected:
    ~gated() = default;
};

/// Flow control: releases and attempts wait here until the instances have room for them. All releases precede
/// all attempts. Each kind is in FIFO order. Renewals and roll-backs of attempts bypass the gate. They are
/// sent immediately and use the room of the others.
///
/// While no quorum accepts attempts, attempts with time to wait stay here. An attempt costs as much as a lock,
/// and thousands of them would keep the client from its connections.
class send_gate final : private timed {
public:
    send_gate(turn_clock& when, timers& alarms, statistics& counts)
        : turns_(when), alarms_(alarms), counts_(counts) {}
    send_gate(const send_gate&) = delete;
    send_gate& operator=(const send_gate&) = delete;
    ~send_gate() { alarms_.stop_waiting(*this); }

    /// Returns whether an attempt may be sent immediately. If not, the caller waits.
    [[nodiscard]] bool admits_attempt() noexcept {
        // mutant: attempts_pass_the_gate
        return releases_.empty() && attempts_.empty() && take_room();
    }
    void wait_for_attempt(gated& one) { push(attempts_, one); }

    void wait_for_quorum(gated& one) { push(without_quorum_, one); }
    [[nodiscard]] bool waits_for_quorum() const noexcept { return !without_quorum_.empty(); }

    /// Returns whether a release may be sent immediately. If not, the caller waits.
    [[nodiscard]] bool admits_release() noexcept { return releases_.empty() && take_room(); }
    void wait_for_release(gated& one) { push(releases_, one); }

    /// Removes an operation from the gate.
    void leave(gated& one) noexcept {
        if (one.at_gate::is_linked()) {
            one.at_gate::unlink();
            --counts_.waiting_to_send;
        }
    }

    [[nodiscard]] bool has_waiters() const noexcept {
        return !releases_.empty() || !attempts_.empty() || !without_quorum_.empty();
    }

    /// Schedules a turn, because the instances may have room.
    void look_for_room() noexcept { turns_.schedule(); }

    /// Lets those that wait for a quorum wait for room, before all other attempts.
    void on_quorum() noexcept { attempts_.splice(attempts_.begin(), without_quorum_); }

    /// Admits waiters up to the current room on the instances.
    void open(std::size_t room, core::time_point now) {
        room_ = room;
        if (!has_waiters()) {
            return;
        }
        while ((!releases_.empty() || !attempts_.empty()) && take_room()) {
            gated& one = releases_.empty() ? attempts_.front() : releases_.front();
            leave(one);
            one.on_admitted(now);
        }
        if (!releases_.empty() || !attempts_.empty()) {
            alarms_.wait(*this, now + longest_pause);
        } else if (!without_quorum_.empty()) {
            alarms_.wait(*this, now + 10 * longest_pause);
        }
    }

private:
    /// Each answer makes room, and opens the gate in the next turn. An instance without room may not answer
    /// for a long time, so the gate does not rely on it.
    static constexpr core::duration longest_pause = core::milliseconds(2);

    void on_time(core::time_point /*now*/) override { turns_.schedule(); }

    using list = boost::intrusive::list<gated, boost::intrusive::base_hook<at_gate>,
                                        boost::intrusive::constant_time_size<false>>;

    bool take_room() noexcept {
        if (room_ == 0) {
            return false;
        }
        --room_;
        return true;
    }

    void push(list& waiting, gated& one) {
        turns_.schedule();
        // mutant: newcomers_first_at_the_gate
        waiting.push_back(one);
        ++counts_.waiting_to_send;
    }

    turn_clock& turns_;
    timers& alarms_;
    statistics& counts_;
    list releases_;
    list attempts_;
    list without_quorum_;  // Attempts that wait for one.
    std::size_t room_ = 0;
};

}  // namespace colock::runtime

#endif
