// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKE_STORE_HPP
#define LIKE_COUNTER_LIKE_STORE_HPP

#include "domain.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

namespace like_counter {

/// The data server cannot be reached, did not answer in time, or sent an invalid answer. It is not known whether
/// the commands were executed.
class store_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The write was refused, because another client has acquired the lock since. Nothing was written.
class stale_write : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Names one stay in a critical section. Each stay has another name.
struct visit_id {
    std::string value;
    /// If an entity has several locks, this is the lock that covers the stay. Each lock has a guard of its own.
    std::string section{};
};

/// What a visit finds when it enters the critical section.
struct entry {
    std::int64_t present;  ///< visits in this entity's section. Not 1 if the lock has failed.
    bool liked;            ///< whether the user is among the likers
};

/// What a visit finds when it leaves.
struct departure {
    bool set_changed;      ///< Whether a write changed the set. True if nothing was written.
    std::int64_t present;  ///< visits left in this entity's section. Not 0 if the lock has failed.
    std::int64_t likes;    ///< the size of the set of likers
};

/// Stores the likes. Each entity has a set of its likers and a running total. Each author has a total over all
/// entities. A like changes all three with separate commands. No transaction covers them, because on a cluster
/// the author's total is in another slot than the rest.
///
/// Each entity also has a *guard*: the set of the visits in its critical section. It does not depend on locks,
/// so it detects a lock that has failed. It is a set and not a counter, so a visit may leave it twice, or leave
/// it when it is not known whether it has entered. It expires, because a killed process does not leave.
///
/// Every operation may throw `store_error`, and takes `command_timeout()` at most.
class like_store {
public:
    virtual ~like_store() = default;

    /// Returns its name in the status: "redis", "redis+cluster", "memory" or "versioned".
    [[nodiscard]] virtual std::string kind() const = 0;

    /// Returns the longest time that an operation takes.
    [[nodiscard]] virtual std::chrono::milliseconds command_timeout() const noexcept = 0;

    /// Whether a wish is carried out under a lock, by the three operations below. Otherwise `change` carries it out.
    [[nodiscard]] virtual bool needs_lock() const noexcept { return true; }

    /// Carries a wish out by itself.
    virtual boost::asio::awaitable<outcome> change(wish /*the_wish*/) {
        throw std::logic_error("this store needs a lock");
    }

    /// Enters the entity's guard, and reads whether the user likes the entity. The guard expires if no visit has
    /// entered for `guard_expiry`. With a fence, writes with a smaller fence are refused from now on. Throws
    /// `stale_write` if a larger fence was used before.
    virtual boost::asio::awaitable<entry> enter(wish, visit_id,
                                                std::chrono::milliseconds /*guard_expiry*/,
                                                std::optional<std::uint64_t> /*fence*/) {
        throw std::logic_error(no_section);
    }

    /// Writes the wish, which must change something, and leaves. With a fence, throws `stale_write` if a larger
    /// fence was used before.
    virtual boost::asio::awaitable<departure> write_and_leave(
        wish, visit_id, std::optional<std::uint64_t> /*fence*/) {
        throw std::logic_error(no_section);
    }

    /// Leaves the guard, even if the visit has not entered it.
    virtual boost::asio::awaitable<departure> leave(entity_id, visit_id) {
        throw std::logic_error(no_section);
    }

    /// Reads the likes, the total, whether `user` is among the likers, and `most_users` of the likers at most.
    virtual boost::asio::awaitable<entity_record> read(entity_id entity,
                                                       std::optional<user_name> user,
                                                       std::size_t most_users) = 0;

    /// Returns the likes of all entities of an author.
    virtual boost::asio::awaitable<std::int64_t> author_total(author_name author) = 0;

    /// Returns whether it answers now. Does not throw `store_error`.
    virtual boost::asio::awaitable<bool> reachable() = 0;

    /// Ends all work in the background, so that `io_context::run` can return.
    virtual void close() = 0;

private:
    static constexpr const char* no_section = "this store has no critical section";
};

std::unique_ptr<like_store> make_memory_store(boost::asio::any_io_executor executor);

/// `uri` is one for `make_data_server`. Throws `std::invalid_argument`.
std::unique_ptr<like_store> make_redis_store(boost::asio::any_io_executor executor,
                                             std::string_view uri,
                                             std::chrono::milliseconds command_timeout);

/// `uri` is one instance of colock: a server, a cluster, or "memory".
std::unique_ptr<like_store> make_versioned_store(boost::asio::any_io_executor executor,
                                                 const std::string& uri,
                                                 std::chrono::milliseconds command_timeout);

/// Returns what `like_store::read` does, for a store that has the set of likers.
entity_record record_of(const std::set<std::string>& likers, std::int64_t counted,
                        const std::optional<user_name>& user, std::size_t most_users);

}  // namespace like_counter

#endif
