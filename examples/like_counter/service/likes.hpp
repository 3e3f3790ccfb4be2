// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKES_HPP
#define LIKE_COUNTER_LIKES_HPP

#include "counters.hpp"
#include "domain.hpp"
#include "like_store.hpp"

#include <colock/client.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/mutex.hpp>
#include <colock/striped.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace like_counter {

/// The entity's lock was not free within the patience of a request. Nothing was written.
class busy : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The lease would have ended during the write. Nothing was written.
class too_late : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The likes, and the critical section that keeps a set and two totals consistent.
class likes {
public:
    /// If `locks` is null, nothing is locked. Otherwise `lock_options` must enable fencing. Each entity has a
    /// lock, or all entities and users share as many locks as `stripes` says. Before each write, a request
    /// pauses for `dawdle`. An experiment without locks or with a pause shows what can go wrong.
    likes(like_store& store, colock::client* locks, colock::lock_options lock_options,
          std::optional<std::uint32_t> stripes, std::chrono::milliseconds patience,
          std::chrono::milliseconds dawdle, counters& counters);

    /// Carries out a wish, under the lock on its entity or on its stripe.
    ///
    /// Nothing was written if it throws `busy`, `too_late`, `stale_write`, or a `colock::lock_error` with
    /// `condition::unavailable`. The wish may have been written if it throws `colock::lease_lost` or `store_error`.
    boost::asio::awaitable<outcome> fulfil(wish the_wish);

    /// Whether requests from now on use the locks. There must be locks to use.
    void use_locks(bool on) noexcept { uses_locks_ = on; }
    [[nodiscard]] bool uses_locks() const noexcept { return uses_locks_ && locks_ != nullptr; }

    /// Changes the pause before each write.
    void set_dawdle(std::chrono::milliseconds dawdle) noexcept { dawdle_ = dawdle; }

private:
    boost::asio::awaitable<outcome> fulfil_locked(wish the_wish);
    boost::asio::awaitable<outcome> visit(wish the_wish, const colock::lease* held);
    boost::asio::awaitable<departure> act(wish the_wish, visit_id visit, const colock::lease* held,
                                          bool& changed, bool& alone);
    boost::asio::awaitable<void> dawdle() const;
    [[nodiscard]] bool time_to_write(const colock::lease* held) const noexcept;
    [[nodiscard]] std::optional<std::uint32_t> stripe_of(const wish& the_wish) const;
    [[nodiscard]] colock::mutex lock_for(const wish& the_wish) const;
    [[nodiscard]] visit_id next_visit(const wish& the_wish);

    like_store& store_;
    colock::client* locks_;
    colock::lock_options lock_options_;
    std::optional<colock::striped<colock::mutex>> stripes_;
    std::chrono::milliseconds patience_;
    std::chrono::milliseconds dawdle_;
    counters& counters_;
    bool uses_locks_ = true;
    std::string visit_prefix_;
    std::uint64_t visits_ = 0;
};

}  // namespace like_counter

#endif
