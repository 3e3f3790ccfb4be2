// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKE_STORE_HPP
#define LIKE_COUNTER_LIKE_STORE_HPP

#include "domain.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace like_counter {

/// The data server could not be asked, did not answer in time, or answered nonsense. Whether the
/// commands were executed is not known.
class store_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The write came from a visit whose lock has passed to another, and was refused. Nothing was written.
class stale_write : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Names one stay in a critical section; no two stays share one.
struct visit_id {
    std::string value;
    /// If an entity has several locks: the lock that covers this stay. Stays under different locks do not see each other.
    std::string section{};
};

/// What is found on entering a critical section.
struct entry {
    std::int64_t present;  ///< visits in this entity's section now; 1 unless the lock has failed
    bool liked;            ///< whether the user is among the likers
};

/// What is found on leaving one.
struct departure {
    bool set_changed;      ///< the set was as the entry had said (true if nothing was written)
    std::int64_t present;  ///< visits left in this entity's section; 0 unless the lock has failed
    std::int64_t likes;    ///< the size of the set of likers
};

/// Where the likes are. Each entity has a set of its likers and a running total, each author a
/// total over all entities; a like touches all three with separate commands. No transaction covers them,
/// as on a cluster the author's total is in another slot than the rest.
///
/// Each entity also has a *guard*: the set of the visits that are in its critical section. It knows
/// nothing of locks, so it can tell when one has failed. It is a set rather than a counter because
/// leaving it twice, or leaving it when the entry's outcome is unknown, does no harm. It expires,
/// as a process that is killed inside leaves its visit behind.
///
/// Every operation throws `store_error` and takes `command_timeout()` at most.
class like_store {
public:
    virtual ~like_store() = default;

    /// What it is, for the status: "redis", "redis+cluster", "memory" or "versioned".
    [[nodiscard]] virtual std::string kind() const = 0;

    /// The longest that any operation here takes.
    [[nodiscard]] virtual std::chrono::milliseconds command_timeout() const noexcept = 0;

    /// Whether a wish is carried out under a lock, by the three operations below. Otherwise `change` carries it out.
    [[nodiscard]] virtual bool needs_lock() const noexcept { return true; }

    /// Carries a wish out by itself.
    virtual boost::asio::awaitable<outcome> change(wish /*the_wish*/) {
        throw std::logic_error("this store needs a lock");
    }

    /// Enters the entity's guard and reads whether the user likes it. The guard forgets all visits
    /// when nobody has entered for `guard_expiry`. With a fence, nobody with a smaller one writes after
    /// that was read; and it throws `stale_write` if a larger one has been here.
    virtual boost::asio::awaitable<entry> enter(wish the_wish, visit_id visit,
                                                std::chrono::milliseconds guard_expiry,
                                                std::optional<std::uint64_t> fence) = 0;

    /// Writes the wish, which must change something: the set, then both totals. Then leaves. With a
    /// fence, throws `stale_write` if a larger one has been here.
    virtual boost::asio::awaitable<departure> write_and_leave(
        wish the_wish, visit_id visit, std::optional<std::uint64_t> fence) = 0;

    /// Leaves the guard, whether or not it was entered.
    virtual boost::asio::awaitable<departure> leave(entity_id entity, visit_id visit) = 0;

    /// Reads an entity: likes, total, whether `user` is among the likers, and some of those, at
    /// most `most_users`.
    virtual boost::asio::awaitable<entity_record> read(entity_id entity,
                                                       std::optional<user_name> user,
                                                       std::size_t most_users) = 0;

    /// The likes of all entities of an author.
    virtual boost::asio::awaitable<std::int64_t> author_total(author_name author) = 0;

    /// Whether it answers now. Does not throw `store_error`.
    virtual boost::asio::awaitable<bool> reachable() = 0;

    /// Ends all background work, so that the executor's context can run out of it.
    virtual void close() = 0;
};

}  // namespace like_counter

#endif
