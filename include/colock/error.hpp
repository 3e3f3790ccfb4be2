// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_ERROR_HPP
#define COLOCK_ERROR_HPP

#include <colock/detail/export.hpp>

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
inline namespace v1 {

/// The reason why an operation failed. Compare it by `==` with an `error` or an `error_code`. Most
/// programs need only the coarser `condition`. The values are stable. None is 0, so each is an error.
///
/// docs/errors.md has the causes, and says after which errors a lock is still held.
enum class errc {
    /// Another holder has the lock: an instance has denied it, or other waiters come first.
    contended = 1,
    /// Too few instances voted in time. The others are down, slow or quarantined, or report an error.
    /// The lock was not acquired. After an operation on a lease, see that operation.
    no_quorum = 2,
    /// A quorum granted the lock, but its remaining validity was too short. The attempt was rolled back.
    too_slow = 3,
    /// A held lease could not be renewed. Or its keys were missing, or belonged to another holder.
    lease_lost = 4,
    /// A lease without renewal (`renew = 0`) reached the end of its validity.
    lease_expired = 5,
    /// The lease was held for `lock_options::max_hold`. It ends, and the client releases it.
    max_hold_exceeded = 6,
    /// The operation needs a held lease. This one is empty, was moved from, or was released.
    not_held = 7,
    /// The client was closed or destroyed.
    client_closed = 8,
    /// The lease has no fence, because its lock was created without `lock_options::fencing`.
    not_fenced = 9,
    /// The client was created before this process was forked. Only the parent can use it. Create a new
    /// client in the child.
    forked = 10,
    // 11 is not used.
    /// The lease does not match this lock or this operation.
    wrong_lease = 12,
    /// A `semaphore` with another number of permits uses the name. Give all programs the same number, or
    /// use another name.
    limit_mismatch = 13,
    /// A lock of another kind uses the name. Use another name for one of them.
    wrong_kind = 14,
    /// The owner of this acquire holds the lock already, and would wait for itself: see `lock_owner`.
    would_deadlock = 15,
    /// A write of a `versioned` value may have been carried out, or may be yet. Read the value to find out. Or the
    /// body of `once` has run, and its result may have been recorded. Call `once` again to find out.
    outcome_unknown = 16,
    /// The key of this `once` has a result for a request with another fingerprint. Use a new key for a new request.
    fingerprint_mismatch = 17,
    /// An argument of the operation is impossible. The details have its name, its value, the limit and the cure.
    invalid_argument = 18,
};

/// Groups of `errc` that a program treats in the same way.
enum class condition {
    /// Another holder has the lock: `errc::contended`.
    contended = 1,
    /// The instances give no lock now: `errc::no_quorum` and `errc::too_slow`. Or this client never
    /// acquires one again: `errc::client_closed` and `errc::forked`.
    unavailable = 2,
    /// The lease ended without a release: `errc::lease_lost`, `errc::lease_expired` and
    /// `errc::max_hold_exceeded`.
    lost = 3,
};

/// Returns the category of `errc`. Thread-safe.
COLOCK_EXPORT const boost::system::error_category& error_category() noexcept;

/// Returns the category of `condition`. Thread-safe.
COLOCK_EXPORT const boost::system::error_category& condition_category() noexcept;

/// Returns the error code for `e`.
inline boost::system::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// Returns the error condition for `c`.
inline boost::system::error_condition make_error_condition(condition c) noexcept {
    return {static_cast<int>(c), condition_category()};
}

}  // namespace v1
}  // namespace colock

namespace boost::system {
/// @cond
/// Lets an `errc` convert to an `error_code`.
template <>
struct is_error_code_enum<colock::errc> : std::true_type {};
/// Lets a `condition` convert to an `error_condition`.
template <>
struct is_error_condition_enum<colock::condition> : std::true_type {};
/// @endcond
}  // namespace boost::system

namespace colock {
inline namespace v1 {

/// The first argument of every completion handler of colock. It is an error code with diagnostics: the
/// resource and the vote of each instance.
///
/// It converts to `boost::system::error_code`, so a handler may take either. It is also an Asio
/// *disposition*. Tokens such as `use_awaitable`, `use_future` and `use_coro` throw it as a
/// `lock_error`. `redirect_error` stores the code without the details.
///
/// Thread-safety: distinct objects safe, shared objects unsafe. Copies share immutable text.
class COLOCK_EXPORT error {
public:
    /// Creates an object that says that there is no error.
    error() noexcept = default;
    /// Creates an error without details.
    error(boost::system::error_code code) noexcept : code_(code) {}  // NOLINT(*-explicit-*)
    /// Creates an error without details.
    error(errc code) noexcept : code_(code) {}  // NOLINT(*-explicit-*)
    /// Creates an error with details.
    error(boost::system::error_code code, std::string details);

    /// Returns the code without the details. It converts to `false` if there is no error.
    [[nodiscard]] const boost::system::error_code& code() const noexcept { return code_; }

    /// Returns the resource and the votes as one line of text. Empty if there is nothing to report.
    [[nodiscard]] const std::string& details() const noexcept;

    /// Returns the code's message and `details()` as one line, for a log.
    [[nodiscard]] std::string message() const;

    /// Returns whether there is an error.
    explicit operator bool() const noexcept { return code_.failed(); }
    /// Returns the code without the details.
    operator boost::system::error_code() const noexcept { return code_; }  // NOLINT(*-explicit-*)

    /// Returns whether the error has this code.
    friend bool operator==(const error& e, errc c) noexcept {
        return e.code_ == make_error_code(c);
    }
    /// Returns whether the code belongs to this condition.
    friend bool operator==(const error& e, condition c) noexcept {
        return e.code_ == make_error_condition(c);
    }
    /// Returns whether the error has this code.
    friend bool operator==(const error& e, const boost::system::error_code& c) noexcept {
        return e.code_ == c;
    }

private:
    boost::system::error_code code_;
    std::shared_ptr<const std::string> details_;
};

/// The exception of a failed operation. `what()` contains the resource and the vote of each instance.
class COLOCK_EXPORT lock_error : public boost::system::system_error {
public:
    /// Creates an exception with the code and the details of `e`.
    explicit lock_error(const error& e)
        : system_error(e.details().empty() ? system_error(e.code())
                                           : system_error(e.code(), e.details())) {}
};

/// The exception of `with_lock` if the lease was lost while the body ran. It is thrown even if the body
/// returned or threw. Its code belongs to `condition::lost`, or is `errc::client_closed`.
class COLOCK_EXPORT lease_lost : public lock_error {
public:
    /// Creates an exception with the code and the details of an `error`.
    using lock_error::lock_error;
};

/// The exception for a configuration or an option that cannot work. `what()` contains the field, the
/// value, the limit and the cure. It never contains a password.
class COLOCK_EXPORT config_error : public std::invalid_argument {
public:
    /// Creates an exception. `problem` contains the value, the limit and the cure.
    config_error(std::string field, const std::string& problem);
    /// Returns the name of the field. For JSON, this is the JSON pointer, or empty for the whole text.
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    std::string field_;
};

}  // namespace v1
}  // namespace colock

/// @cond
/// Makes `colock::error` a disposition of Asio, which throws it as a `colock::lock_error`.
template <>
struct boost::asio::disposition_traits<colock::error> {
    /// Returns whether `e` is no error.
    static bool not_an_error(const colock::error& e) noexcept { return !e; }
    /// Throws `e` as a `colock::lock_error`.
    [[noreturn]] static void throw_exception(const colock::error& e) {
        throw colock::lock_error(e);
    }
    /// Returns `e` as a pointer to a `colock::lock_error`. Returns null if there is no error.
    static std::exception_ptr to_exception_ptr(const colock::error& e) noexcept {
        return e ? std::make_exception_ptr(colock::lock_error(e)) : nullptr;
    }
};
/// @endcond

#endif
