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

/// Commands of a cluster that wait to be sent again: when, in which order, and how many at once.
///
/// Commands for one key stay in their order. A slot can be *shut*: nobody executes its commands. Of a shut slot only one
/// command is sent, a *probe*, and the others wait for what becomes of it. Probes go out in rounds of a few, with growing
/// pauses between the rounds. As long as probes are executed, each of them lets two more out. So what is sent to a cluster
/// does not grow with the number of commands that wait.
///
/// All of its functions take constant or logarithmic time, except `shut` and `open`: they take time for each waiting key of
/// the slot, if the slot was not shut, or open, before.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class detour_queue {
    struct line;

public:
    /// Probes in a round.
    static constexpr std::size_t round_size = 16;

    /// Why a slot is shut. Either have rounds of their own, so that many holes do not hold up the slots that are only
    /// unavailable for a moment.
    enum class reason : std::uint8_t {
        hole,     ///< it has no owner
        refused,  ///< its owner does not execute commands for it
    };

    /// A command that may wait here.
    class entry : public boost::intrusive::list_base_hook<>,
                  public boost::intrusive::set_base_hook<> {
    public:
        [[nodiscard]] bool waits() const noexcept { return in_ != nullptr; }

        std::string_view key{};  ///< not to be changed while it waits
        core::time_point not_before = core::time_point::min();  ///< likewise; of the entry
        core::time_point give_up_at = core::never;              ///< likewise

    private:
        friend detour_queue;
        std::uint64_t number_ = 0;  // in the order of the first adding
        line* in_ = nullptr;
        bool is_probe_ = false;
    };

    /// `seed` feeds the jitter.
    detour_queue(const core::backoff& between_rounds, std::uint64_t seed) noexcept
        : between_rounds_(between_rounds), random_(seed) {}
    detour_queue(const detour_queue&) = delete;
    detour_queue& operator=(const detour_queue&) = delete;
    ~detour_queue();

    /// Whether nothing waits.
    [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }

    /// Whether a command that comes now has to wait behind others, or for the slot.
    [[nodiscard]] bool holds_up(std::size_t slot, std::string_view key) const;

    /// The entry waits from now on. If it waited before, it keeps its place in the order of its key. Throws
    /// `std::bad_alloc`, without effect.
    void add(entry& one);

    /// It does not wait any more.
    void remove(entry& one) noexcept;

    /// It was sent, and is answered. `executed` if its slot is served.
    void ended(entry& one, bool executed, core::time_point now) noexcept;
    /// It will not be sent.
    void skip(entry& one) noexcept;

    /// Throws `std::bad_alloc`, without effect.
    void shut(std::size_t slot, reason why);
    void open(std::size_t slot) noexcept;

    /// Something has changed: the next round of probes begins.
    void hurry(core::time_point now) noexcept;

    /// An entry whose time is over, or that is to be sent now. It does not wait any more. Null if there is none.
    entry* next_over(core::time_point now) noexcept;
    entry* next(core::time_point now) noexcept;
    /// Any of them; null if there is none.
    entry* any() noexcept;

    /// When `next` gives something, and when `next_over` does.
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

    /// What waits for a key, in its order.
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
        std::uint64_t round = 0;  // of its last probe
    };

    /// The shut slots with commands, but without a probe under way.
    struct rounds {
        boost::intrusive::list<slot_state, boost::intrusive::constant_time_size<false>> slots{};
        std::uint64_t number = 1;
        std::size_t left = 0;  // how many probes may be sent in this round
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
    std::bitset<slot_count> is_known_;  // which slots have a state
    std::unordered_map<std::size_t, slot_state> slots_;
    std::unordered_map<std::string, line, text_hash, std::equal_to<>> lines_;  // by key
    boost::intrusive::multiset<line, boost::intrusive::base_hook<line_when_due>,
                               boost::intrusive::compare<earlier_due>,
                               boost::intrusive::constant_time_size<false>>
        due_;  // the lines of open slots
    boost::intrusive::multiset<entry, boost::intrusive::compare<earlier_end>,
                               boost::intrusive::constant_time_size<false>>
        ends_;  // all that waits
    std::array<rounds, 2> rounds_;
};

}  // namespace colock::instance::redis

#endif
