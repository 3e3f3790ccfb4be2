// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_TIMER_QUEUE_HPP
#define COLOCK_RUNTIME_TIMER_QUEUE_HPP

#include "core/time.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/intrusive/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace colock::runtime {

/// Something that has at most one time to wait for. It must not move, nor be destroyed while its
/// time is set.
class timed {
public:
    timed() = default;
    timed(const timed&) = delete;
    timed& operator=(const timed&) = delete;

    /// The time that is set; `core::never` if none is.
    [[nodiscard]] core::time_point time() const noexcept { return time_; }

protected:
    ~timed() = default;

private:
    friend class timer_queue;
    using hook = boost::intrusive::list_member_hook<
        boost::intrusive::link_mode<boost::intrusive::normal_link>>;
    static constexpr std::size_t not_in_heap = std::numeric_limits<std::size_t>::max();

    /// The time has come; it is not set any more.
    virtual void on_time(core::time_point now) = 0;

    core::time_point time_ = core::never;  // never: not set
    std::size_t heap_position_ = not_in_heap;
    hook hook_;
};

/// The times that all operations and leases of a client wait for, behind one Asio timer. Nearly all
/// are cleared long before they come, so to set and to clear one is cheap, however many there are.
///
/// Time is cut into ticks. What is due in the current tick or before it is in a binary heap, what
/// comes later in a wheel of wheels: the slots of level 0 are a tick long, those of level 1 64 ticks,
/// and so on. A tick's level is that of the highest digit, to the base of 64, in which it differs
/// from the current tick; that digit is its slot. So all slots of a level come before those of the
/// next, and what has been put into a slot stays there until the slot begins. Only then its timers
/// move on, to lower levels or into the heap.
class timer_queue {
public:
    timer_queue() = default;
    timer_queue(const timer_queue&) = delete;
    timer_queue& operator=(const timer_queue&) = delete;

    /// Sets or moves the time of `t`; `core::never` clears it.
    void set(timed& t, core::time_point when);

    /// Clears the time of `t`, if it has one.
    void clear(timed& t) noexcept;

    /// When to call `run` next, or `core::never`: at the earliest time, or before it, when a slot
    /// begins. To be asked anew after each run.
    [[nodiscard]] core::time_point earliest() const noexcept;

    /// Calls `on_time` of everything whose time is `now` or earlier, in the order of the times.
    /// What they set meanwhile has its turn in a later run, even if that time has passed.
    void run(core::time_point now);

private:
    using tick = std::uint64_t;
    using list =
        boost::intrusive::list<timed,
                               boost::intrusive::member_hook<timed, timed::hook, &timed::hook_>,
                               boost::intrusive::constant_time_size<false>>;
    struct heap_entry {
        core::time_point time;
        timed* owner;
    };

    static constexpr int tick_bits = 22;  // of nanoseconds: about 4 ms
    static constexpr int digit_bits = 6;
    static constexpr std::size_t slots_per_level = std::size_t{1} << digit_bits;
    static constexpr std::size_t levels = (64 - tick_bits) / digit_bits;  // for all times there are
    static constexpr tick no_tick = std::numeric_limits<tick>::max();

    static tick tick_of(core::time_point time) noexcept;
    static core::time_point start_of(tick t) noexcept;

    void insert(timed& t) noexcept;
    void remove(timed& t) noexcept;
    void make_room();
    void advance(tick to) noexcept;

    [[nodiscard]] std::size_t slot_of(tick t) const noexcept;
    [[nodiscard]] tick first_slot_start() const noexcept;
    void insert_into_slot(std::size_t slot, timed& t) noexcept;
    void remove_from_slot(std::size_t slot, timed& t) noexcept;
    void mark_empty(std::size_t slot) noexcept;

    void insert_into_heap(timed& t) noexcept;
    void remove_from_heap(timed& t) noexcept;
    void settle(std::size_t hole, heap_entry entry) noexcept;
    void put(std::size_t position, heap_entry entry) noexcept;

    std::size_t size_ = 0;                          // of all that are set
    tick current_ = tick_of(core::time_point());    // of the last run
    std::array<std::uint64_t, levels> occupied_{};  // a bit for each slot
    std::array<list, levels * slots_per_level> slots_;
    std::vector<heap_entry> heap_;
    list due_;  // what this run has still to call
};

}  // namespace colock::runtime

#endif
