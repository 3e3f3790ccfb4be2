// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "likes.hpp"

#include <colock/with_lock.hpp>

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <optional>
#include <random>
#include <utility>

namespace asio = boost::asio;

namespace like_counter {

likes::likes(like_store& store, colock::client* locks, colock::lock_options lock_options,
             std::optional<std::uint32_t> stripes, std::chrono::milliseconds patience,
             std::chrono::milliseconds dawdle, counters& counters)
    : store_(store),
      locks_(locks),
      lock_options_(lock_options),
      patience_(patience),
      dawdle_(dawdle),
      counters_(counters),
      visit_prefix_(std::to_string(std::random_device()()) + "-") {
    if (stripes && locks_ != nullptr) {
        stripes_.emplace(*locks_, "likes", *stripes, lock_options_);
    }
}

asio::awaitable<outcome> likes::fulfil(wish the_wish) {
    outcome result{};
    if (!store_.needs_lock()) {
        result = co_await store_.change(std::move(the_wish));
    } else if (uses_locks()) {
        result = co_await fulfil_locked(std::move(the_wish));
    } else {
        result = co_await visit(std::move(the_wish), nullptr);
    }
    ++counters_.accepted;
    counters_.changed += result.changed ? 1 : 0;
    co_return result;
}

asio::awaitable<outcome> likes::fulfil_locked(wish the_wish) {
    const colock::mutex lock = lock_for(the_wish);
    std::optional<stale_write> refused;
    auto critical_section = [this, &the_wish,
                             &refused](colock::lease& held) -> asio::awaitable<outcome> {
        try {
            co_return co_await visit(the_wish, &held);
        } catch (const stale_write& failure) {
            refused = failure;
            throw;
        }
    };
    try {
        co_return co_await colock::with_lock(lock, critical_section,
                                             asio::cancel_after(patience_, asio::use_awaitable));
    } catch (const colock::lease_lost&) {
        if (refused) {  // This says more: nothing was written.
            throw *refused;
        }
        throw;
    } catch (const boost::system::system_error& failure) {
        if (failure.code() != asio::error::operation_aborted) {
            throw;
        }
        // Only the wait for the lock can have been cancelled. `visit` cannot be.
        throw busy("others had the lock on " + the_wish.entity.value() + " for too long");
    }
}

// The critical section. It enters the guard, reads, writes, and leaves.
//
// The loss of the lease would cancel it between two writes, and the set and the totals would differ. So it
// cannot be cancelled. This is safe, because it is short: it sends two groups of commands to the data server,
// and each has a timeout. It writes only if the lease is valid for longer than this timeout.
//
// So a visit writes while it has the lock, and it writes everything or nothing. There are two exceptions.
// - The process may be paused after the check, or the data server may execute a command late. Then the write
//   may arrive when another client has the lock. The data server refuses it by its fence: see fenced_store.hpp.
// - A connection that breaks during a command may leave some of the writes undone. Only a transaction would
//   prevent this.
asio::awaitable<outcome> likes::visit(wish the_wish, const colock::lease* held) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());

    const visit_id visit = next_visit(the_wish);
    const entity_id entity = the_wish.entity;
    bool changed = false;
    bool alone = true;
    std::exception_ptr failure;
    departure left{};
    try {
        left = co_await act(std::move(the_wish), visit, held, changed, alone);
        alone = alone && left.present == 0 && left.set_changed;
    } catch (const stale_write&) {
        ++counters_.stale_writes_refused;
        failure = std::current_exception();
    } catch (...) {
        failure = std::current_exception();
    }
    if (!alone) {
        ++counters_.lock_violations;
    }
    if (failure) {
        try {
            co_await store_.leave(entity, visit);
        } catch (const store_error&) {
            // Then the guard expires.
        }
        std::rethrow_exception(failure);
    }
    co_return outcome{changed, left.likes};
}

// Reads, and then writes what depends on it. A counter as simple as this one needs no lock, because SADD
// reports whether it added a member. It stands for cases that are not as simple.
asio::awaitable<departure> likes::act(wish the_wish, visit_id visit, const colock::lease* held,
                                      bool& changed, bool& alone) {
    // A killed process leaves its visit in the guard. The guard expires before the lock does, so the next holder
    // does not find this visit.
    const auto guard_expiry = lock_options_.ttl / 2;
    const auto fence = held != nullptr ? std::optional<std::uint64_t>(held->fence()) : std::nullopt;
    const entry found = co_await store_.enter(the_wish, visit, guard_expiry, fence);
    alone = found.present == 1;
    changed = found.liked != the_wish.liked;
    if (!changed) {
        co_return co_await store_.leave(the_wish.entity, std::move(visit));
    }
    if (!time_to_write(held)) {
        throw too_late("the lock on " + the_wish.entity.value() + " was about to be lost");
    }
    co_await dawdle();
    co_return co_await store_.write_and_leave(std::move(the_wish), std::move(visit), fence);
}

asio::awaitable<void> likes::dawdle() const {
    if (dawdle_ != std::chrono::milliseconds(0)) {
        asio::steady_timer timer(co_await asio::this_coro::executor, dawdle_);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

bool likes::time_to_write(const colock::lease* held) const noexcept {
    return held == nullptr ||
           held->valid_until() - std::chrono::steady_clock::now() >= store_.command_timeout();
}

/// With stripes, the locks only exclude two wishes of one user for one entity. Each command that writes is
/// atomic, so different users need not exclude each other.
std::optional<std::uint32_t> likes::stripe_of(const wish& the_wish) const {
    if (!stripes_) {
        return std::nullopt;
    }
    return stripes_->index_of(the_wish.entity.value() + '/' + the_wish.user.value());
}

colock::mutex likes::lock_for(const wish& the_wish) const {
    if (const auto stripe = stripe_of(the_wish)) {
        return stripes_->of(the_wish.entity.value() + '/' + the_wish.user.value());
    }
    return {*locks_, "like:" + the_wish.entity.value(), lock_options_};
}

visit_id likes::next_visit(const wish& the_wish) {
    const auto stripe = stripe_of(the_wish);
    return {visit_prefix_ + std::to_string(++visits_),
            stripe ? ":" + std::to_string(*stripe) : std::string()};
}

}  // namespace like_counter
