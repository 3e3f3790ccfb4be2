#ifndef COLOCK_CORE_PLACE_HPP
#define COLOCK_CORE_PLACE_HPP

#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>

namespace colock::core {

struct place_settings {
    /// From one `join` to the next, which keeps the place. An answer may take as long; and the first waits for
    /// as long to be told that the lock is free, before it tries without that.
    duration refresh = milliseconds(250);

    /// After so many changes of the lock, each this soon after the one before, the first polls if it still
    /// does not have it, until the lock has not changed for as long. (Renewals are further apart, unless
    /// the ttl is short.)
    unsigned changes_in_vain = 3;
    duration quick_succession = milliseconds(250);

    /// What a place is joined for: it outlives a few joins that are late. Those write the ticket anew only
    /// when half of that is over, since whoever is behind is told of it.
    [[nodiscard]] duration ttl() const noexcept { return 4 * refresh; }
};

/// A place in the line of the processes that wait for a lock: a list at one instance, the line's keeper,
/// with a ticket for each of them, a key that ends with its wait or its life. Who joins is told who is
/// before it, and asks the keeper to be told when that one's ticket changes; the first asks so of the
/// lock. So a release wakes one process, and not all of them. (As in a queue lock, where everybody spins on
/// what the one before it will write: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for Scalable
/// Synchronization on Shared-Memory Multiprocessors", 1991.)
///
/// Who gets the lock keeps its place, and leaves with the release; unless it holds the lock for long. So when
/// a ticket is gone, the next one attempts at once: mostly it was a release.
///
/// A program that does not join the queue, and takes the lock again right after its release, is always
/// faster than a waiter that has to be told first. So when the lock has changed a few times in quick
/// succession, and the first still does not have it, the first polls, until it has the lock or the changes
/// end. Only the first does so, and it is still told of each release.
///
/// All of it is a hint, of when an attempt makes sense. Mutual exclusion does not depend on it; and if the
/// keeper forgets, errs or is silent, it only ends in attempts too early or a little late.
///
/// It acts by being called: each member that takes `now` returns a step. Carry it out; then call what
/// comes first, at the latest `on_time` at the time that it said.
class place {
public:
    enum class news : std::uint8_t {
        none,
        wait,        ///< an attempt makes no sense before its turn
        turn,        ///< the lock seems to be free: attempt now
        on_its_own,  ///< it is the first, and was denied when it was its turn: it has to look for itself
        poll,  ///< as that, and others have taken the lock time and again since: to be told is too late
        broken,  ///< as `on_its_own`, and the place is kept no more
        over,    ///< it has held the lock for long, and is to leave
    };

    struct step {
        bool join = false;        ///< send `join_line`
        bool ask_lock = false;    ///< send `remaining` of the lock, to be told of its changes, too
        bool ask_before = false;  ///< send `remaining` of the ticket of `before()`, likewise
        place::news news = news::none;
        time_point until = never;
    };

    explicit place(const place_settings& settings) noexcept : settings_(settings) {}

    /// Joins the line, `from` then on.
    step join(time_point now, time_point from = time_point::min());

    /// An attempt was denied, after its turn or before the place was joined: joins again. `by_keeper`: the
    /// keeper denied it too. Otherwise the attempt may have written the lock there, and the keeper tells
    /// nobody of its own writing, nor of what comes after.
    step denied(bool by_keeper, time_point now);

    /// An attempt was granted. The place outlives that a little, without joining.
    step held(time_point now);

    /// When who leaves now may join again: after a sixteenth of the time for which it held the lock, so that it
    /// is not in the way of the next one's attempt.
    [[nodiscard]] time_point rejoin_from(time_point now) const noexcept;

    /// The keeper's votes on what a step said to send; on `join_line` with the number of the one before
    /// it as the fence.
    step on_joined(const vote& v, time_point now);
    step on_lock(const vote& v, time_point now);
    step on_before(const vote& v, time_point now);

    /// The keeper tells that something has happened to the lock; to the ticket of the one before it; or
    /// that it may have happened to any key.
    step lock_changed(time_point now);
    step before_changed(time_point now);
    step all_changed(time_point now);

    step on_time(time_point now);

    [[nodiscard]] const place_settings& settings() const noexcept { return settings_; }

    /// Whether nobody was before it when it joined last.
    [[nodiscard]] bool is_first() const noexcept { return is_first_; }

    /// The number of the one before it when it joined last; 0 if there was none.
    [[nodiscard]] std::uint64_t before() const noexcept { return before_; }

private:
    enum class look : bool { no, yes };

    step begin(look at_lock, time_point now);
    step ask(const step& what, time_point now);
    step answered(const vote& v, time_point now);
    step settle(time_point now);
    step changed(time_point now);
    step wait(place::news what);
    step give_turn(place::news what);
    void count_change(time_point now);
    [[nodiscard]] bool must_poll(time_point now) const noexcept;
    [[nodiscard]] time_point next_look() const noexcept;

    place_settings settings_;
    bool attempting_ = false;      // had its turn, or is on its own: the place is only kept
    bool guessed_ = false;         // that it is its turn, since the ticket before it was gone
    bool is_first_ = false;        // as it joined last
    bool watches_before_ = false;  // the keeper will tell
    bool watches_lock_ = false;
    bool before_is_gone_ = false;  // as was answered last
    bool lock_is_free_ = false;
    bool looks_ = false;  // at the lock, even if others are before it: they may have died
    bool was_denied_ = false;
    bool failed_ = false;
    bool again_ = false;       // something has changed since it asked
    unsigned unanswered_ = 0;  // of what it asked
    unsigned changes_ = 0;     // of the lock in quick succession, while it was the first
    std::uint64_t before_ = 0;
    time_point before_renews_{};   // not its ticket before then: what changes that is the end of it
    time_point join_at_ = never;   // if it has not yet
    time_point leave_at_ = never;  // once it holds the lock
    time_point joined_{};
    time_point asked_{};
    time_point changed_{};  // the last of `changes_`
    time_point first_since_ = never;
    time_point lock_end_ = never;
};

}  // namespace colock::core

#endif
