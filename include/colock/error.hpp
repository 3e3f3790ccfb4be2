#ifndef COLOCK_ERROR_HPP
#define COLOCK_ERROR_HPP

#include <boost/asio/disposition.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/error_condition.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace colock {

/// What can go wrong with a lock. Compare with `==` against an `error`, an `error_code`, or use the
/// coarser `condition`. Values are stable; none is 0, so that a value always is an error.
enum class errc {
    /// Somebody else holds the lock: an instance has denied it, or other waiters come first.
    contended = 1,
    /// Fewer than a quorum of the configured instances answered in time.
    no_quorum = 2,
    /// A quorum granted the lock, but so late that too little of its validity was left. It was undone.
    too_slow = 3,
    /// A held lease could not be renewed, or its keys were found gone or taken over.
    lease_lost = 4,
    /// A lease that is not renewed (`renew = 0`) reached the end of its validity.
    lease_expired = 5,
    /// The lease was held for `lock_options::max_hold`; it ends, and is released.
    max_hold_exceeded = 6,
    /// The operation needs a held lease: this one is empty, moved from, or was released.
    not_held = 7,
    /// The client was closed or destroyed.
    client_closed = 8,
    /// The lease has no fence: its lock was made without `lock_options::fencing`.
    not_fenced = 9,
    /// The client was made before this process was forked from the one that made it, and only the parent can use
    /// it. A client that is made in the child works.
    forked = 10,
    /// A shared lease cannot be made exclusive: see `shared_mutex::upgrade`.
    upgrade_refused = 11,
    /// The operation needs a lease of this lock, and of the side that it names: this one is of another.
    wrong_lease = 12,
};

/// Groups of `errc` that a program treats alike.
enum class condition {
    /// Somebody else has it: `contended`.
    contended = 1,
    /// The servers cannot be asked right now: `no_quorum`, `too_slow`; or not by this client ever again:
    /// `client_closed`, `forked`.
    unavailable = 2,
    /// The lease is not ours any more: `lease_lost`, `lease_expired`, `max_hold_exceeded`.
    lost = 3,
};

/// The category of `errc`. Thread-safe.
const boost::system::error_category& error_category() noexcept;

/// The category of `condition`. Thread-safe.
const boost::system::error_category& condition_category() noexcept;

inline boost::system::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

}  // namespace colock

namespace boost::system {
template <>
struct is_error_code_enum<colock::errc> : std::true_type {};
template <>
struct is_error_condition_enum<colock::condition> : std::true_type {};
}  // namespace boost::system

namespace colock {

/// The first argument of every colock completion handler: an error code plus the story behind it,
/// that is, the resource and what each instance voted.
///
/// It converts to `boost::system::error_code`, so that a handler may take either, and it is an Asio
/// *disposition*: `use_awaitable`, `use_future`, `use_coro` and their like throw it as a `lock_error`. `redirect_error` stores
/// the code without the details.
///
/// Thread-safety: distinct objects safe, shared objects unsafe (copies share immutable text).
class error {
public:
    error() noexcept = default;
    error(boost::system::error_code code) noexcept : code_(code) {}  // NOLINT(*-explicit-*)
    error(errc code) noexcept : code_(code) {}                       // NOLINT(*-explicit-*)
    error(boost::system::error_code code, std::string details);

    /// The bare code; falsy when there is no error.
    [[nodiscard]] const boost::system::error_code& code() const noexcept { return code_; }

    /// The resource and the votes as one line of text; empty when there is nothing to tell.
    [[nodiscard]] const std::string& details() const noexcept;

    /// `details` and the code's own message, for a log.
    [[nodiscard]] std::string message() const;

    explicit operator bool() const noexcept { return code_.failed(); }
    operator boost::system::error_code() const noexcept { return code_; }  // NOLINT(*-explicit-*)

    friend bool operator==(const error& e, errc c) noexcept {
        return e.code_ == make_error_code(c);
    }
    friend bool operator==(const error& e, condition c) noexcept {
        return e.code_ == make_error_condition(c);
    }
    friend bool operator==(const error& e, const boost::system::error_code& c) noexcept {
        return e.code_ == c;
    }

private:
    boost::system::error_code code_;
    std::shared_ptr<const std::string> details_;
};

/// What a failed operation throws. `what()` names the resource and what each instance voted.
class lock_error : public boost::system::system_error {
public:
    explicit lock_error(const error& e)
        : system_error(e.details().empty() ? system_error(e.code())
                                           : system_error(e.code(), e.details())) {}
};

/// Thrown by `with_lock` when the lease was lost while the body ran, even if the body returned.
class lease_lost : public lock_error {
public:
    using lock_error::lock_error;
};

/// Thrown for a configuration or an option that cannot work. The text names the field, the value
/// and what is allowed; `field()` is the field alone (for JSON: the JSON pointer).
class config_error : public std::invalid_argument {
public:
    config_error(std::string field, const std::string& value, const std::string& allowed);
    /// `problem` says all that is to be said: the value, the limit and the cure.
    config_error(std::string field, const std::string& problem);
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    std::string field_;
};

}  // namespace colock

template <>
struct boost::asio::disposition_traits<colock::error> {
    static bool not_an_error(const colock::error& e) noexcept { return !e; }
    [[noreturn]] static void throw_exception(const colock::error& e) {
        throw colock::lock_error(e);
    }
    static std::exception_ptr to_exception_ptr(const colock::error& e) noexcept {
        return e ? std::make_exception_ptr(colock::lock_error(e)) : nullptr;
    }
};

#endif
