// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_DETOUR_QUEUE_HPP
#define COLOCK_INSTANCE_REDIS_DETOUR_QUEUE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "instance/redis/key_slot.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <boost/intrusive/options.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace colock::instance::redis {

/// Commands of a cluster that wait to be sent again. Decides when, in which order, and how many are sent.
///
/// Commands for one key keep their order. A slot can be *shut*: no node executes its commands. A shut slot
/// sends only one command, a *probe*, and its other commands wait for the result. Probes are sent in small
/// rounds, with growing pauses between the rounds. Each executed probe permits two more. The load on the
/// cluster therefore does not grow with the number of waiting commands.
///
/// All functions take constant or logarithmic time, except `shut` and `open`. If they change the slot's
/// state, they take time for each waiting key of the slot.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class detour_queue {
    struct line;

public:
    /// Maximum number of regular probes in a round.
    static constexpr std::size_t round_size = 16;

    /// Why a slot is shut. Each reason has its own rounds. Many slots without an owner therefore do not delay
    /// slots that are only briefly unavailable.
    enum class reason : std::uint8_t {
        hole,     ///< It has no owner.
        refused,  ///< Its owner refuses its commands.
    };

    /// A command that can wait here.
    class entry : public boost::intrusive::list_base_hook<>,
                  public boost::intrusive::set_base_hook<> {
    public:
        [[nodiscard]] bool waits() const noexcept { return in_ != nullptr; }

        std::string_view key{};  ///< Must not change while the entry waits.
        /// Earliest time to send this entry. Must not change while it waits.
        core::time_point not_before = core::time_point::min();
        /// Must not change while the entry waits.
        core::time_point give_up_at = core::never;

    private:
        friend detour_queue;
        std::uint64_t number_ = 0;  // In the order of the first `add`.
        line* in_ = nullptr;
        bool is_probe_ = false;
    };

    /// `seed` feeds the jitter.
    detour_queue(const core::backoff& between_rounds, std::uint64_t seed) noexcept
        : between_rounds_(between_rounds), random_(seed) {}
    detour_queue(const detour_queue&) = delete;
    detour_queue& operator=(const detour_queue&) = delete;
    ~detour_queue();

    /// Returns whether no entry waits.
    [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }

    /// Returns whether a new command has to wait behind others or for the slot.
    [[nodiscard]] bool holds_up(std::size_t slot, std::string_view key) const;

    /// Adds an entry. If it waited before, it keeps its place in the order of its key. Throws
    /// `std::bad_alloc`, without effect.
    void add(entry& one);

    /// Removes a waiting entry.
    void remove(entry& one) noexcept;

    /// Reports that an entry that was sent is answered. `executed` if its slot is served.
    void ended(entry& one, bool executed, core::time_point now) noexcept;
    /// Reports that an entry from `next` will not be sent.
    void skip(entry& one) noexcept;

    /// Throws `std::bad_alloc`, without effect.
    void shut(std::size_t slot, reason why);
    void open(std::size_t slot) noexcept;

    /// Starts the next round of probes, because the cluster's state has changed.
    void hurry(core::time_point now) noexcept;

    /// Removes and returns an entry: one with an expired time (`next_over`), or a due one. Returns null if
    /// there is none.
    entry* next_over(core::time_point now) noexcept;
    entry* next(core::time_point now) noexcept;
    /// Returns any waiting entry, or null.
    entry* any() noexcept;

    /// Returns when `next` and `next_over` have an entry.
    [[nodiscard]] core::time_point next_time(core::time_point now) const noexcept;
    [[nodiscard]] core::time_point next_end() const noexcept {
        return ends_.empty() ? core::never : ends_.begin()->give_up_at;
    }

private:
    struct slot_state;
    using entries = boost::intrusive::list<entry, boost::intrusive::constant_time_size<false>>;
    struct line_tag;
    using line_of_slot = boost::intrusive::list_base_hook<boost::intrusive::tag<line_tag>>;
    using line_when_due = boost::intrusive::set_base_hook<boost::intrusive::tag<line_tag>>;

    /// The entries that wait for one key, in order.
    struct line : line_of_slot, line_when_due {
        std::string_view key{};
        slot_state* slot = nullptr;
        entries waiting{};
        core::time_point due{};
    };
    using lines = boost::intrusive::list<line, boost::intrusive::base_hook<line_of_slot>,
                                         boost::intrusive::constant_time_size<false>>;

    struct slot_state : boost::intrusive::list_base_hook<> {
        std::size_t number = 0;
        lines waiting{};
        bool is_shut = false;
        reason why = reason::refused;
        bool is_probing = false;
        std::uint64_t round = 0;  // Round of its last probe.
    };

    /// The shut slots that have commands, but no probe in flight.
    struct rounds {
        boost::intrusive::list<slot_state, boost::intrusive::constant_time_size<false>> slots{};
        std::uint64_t number = 1;
        std::size_t left = 0;  // Remaining probes of this round.
        core::time_point next = core::time_point::min();
        unsigned in_vain = 0;
    };

    struct earlier_end {
        bool operator()(const entry& a, const entry& b) const noexcept {
            return a.give_up_at < b.give_up_at;
        }
    };
    struct earlier_due {
        bool operator()(const line& a, const line& b) const noexcept { return a.due < b.due; }
    };
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };

    rounds& rounds_of(const slot_state& one) noexcept {
        return rounds_[static_cast<std::size_t>(one.why)];
    }
    slot_state& state_of(std::size_t slot);
    void schedule(line& one) noexcept;
    void unschedule(line& one) noexcept;
    void line_up(slot_state& one) noexcept;
    void leave_rounds(slot_state& one) noexcept;
    void end_probe(entry& one) noexcept;
    void forget_if_idle(slot_state& one) noexcept;
    void open(slot_state& one) noexcept;
    slot_state* next_to_be_probed(rounds& of, core::time_point now) noexcept;
    [[nodiscard]] static core::time_point next_probe(const rounds& of,
                                                     core::time_point now) noexcept;

    core::backoff between_rounds_;
    std::uint64_t random_;
    std::uint64_t last_number_ = 0;
    std::bitset<slot_count> is_known_;  // Slots that have a state.
    std::unordered_map<std::size_t, slot_state> slots_;
    // Keyed by the lock key.
    std::unordered_map<std::string, line, text_hash, std::equal_to<>> lines_;
    // Lines of open slots.
    boost::intrusive::multiset<line, boost::intrusive::base_hook<line_when_due>,
                               boost::intrusive::compare<earlier_due>,
                               boost::intrusive::constant_time_size<false>>
        due_;
    // All waiting entries.
    boost::intrusive::multiset<entry, boost::intrusive::compare<earlier_end>,
                               boost::intrusive::constant_time_size<false>>
        ends_;
    std::array<rounds, 2> rounds_;
};

}  // namespace colock::instance::redis

#endif
