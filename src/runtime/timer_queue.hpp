#ifndef COLOCK_RUNTIME_TIMER_QUEUE_HPP
#define COLOCK_RUNTIME_TIMER_QUEUE_HPP

#include "core/time.hpp"

#include <cstddef>
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

protected:
    ~timed() = default;

private:
    friend class timer_queue;
    static constexpr std::size_t unset = std::numeric_limits<std::size_t>::max();

    /// The time has come; it is not set any more.
    virtual void on_time(core::time_point now) = 0;

    core::time_point time_{};
    std::size_t position_ = unset;
};

/// The times that all operations and leases of a client wait for, behind one Asio timer: setting one
/// costs a few comparisons, not a timer of the reactor. A binary heap whose members know their place.
class timer_queue {
public:
    /// Sets or moves the time of `t`; `core::never` clears it.
    void set(timed& t, core::time_point when);

    /// Clears the time of `t`, if it has one.
    void clear(timed& t);

    /// The earliest time, or `core::never`.
    [[nodiscard]] core::time_point earliest() const noexcept {
        return heap_.empty() ? core::never : heap_.front()->time_;
    }

    /// Calls `on_time` of everything whose time is `now` or earlier.
    void run(core::time_point now);

private:
    void place(std::size_t position, timed* t) noexcept;
    void sift_up(std::size_t position) noexcept;
    void sift_down(std::size_t position) noexcept;

    std::vector<timed*> heap_;
};

}  // namespace colock::runtime

#endif
