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

/// Others had the entity's lock for all of the time that we were willing to wait. Nothing was
/// written.
class busy : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The lease had too little left when it was time to write. Nothing was written.
class too_late : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The likes, and the critical section that keeps a set and two totals in step.
class likes {
public:
    /// With `locks == nullptr` nothing is locked, to show what happens then; otherwise the locks are to
    /// be with fencing. Each entity has one, or with `stripes` all entities share so many, by entity and user. For `dawdle` it does
    /// nothing before it writes, to show what happens then.
    likes(like_store& store, colock::client* locks, colock::lock_options lock_options,
          std::optional<std::uint32_t> stripes, std::chrono::milliseconds patience,
          std::chrono::milliseconds dawdle, counters& counters);

    /// Makes a wish come true, under the lock on its entity, or on its stripe.
    ///
    /// Throws `busy`, `too_late` and `stale_write` (nothing was written); `colock::lock_error` with `condition::unavailable` (nothing
    /// was written) or `colock::lease_lost` (it may have been); `store_error` (it may have been).
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
