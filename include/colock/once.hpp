// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_ONCE_HPP
#define COLOCK_ONCE_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v1 {

/// The fingerprint of a request: up to 256 bytes, which it holds in place. So a temporary `once_options` may be made in
/// a `co_await` expression, where GCC 12 destroys an aggregate twice.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class once_fingerprint {
public:
    /// The longest fingerprint, in bytes.
    static constexpr std::size_t limit = 256;

    once_fingerprint() = default;

    /// Copies the text, which may have any bytes. If it is too long, `once_options::validate` refuses it.
    template <std::convertible_to<std::string_view> Text>
    once_fingerprint(const Text& text) noexcept {  // NOLINT(*-explicit-*)
        const std::string_view given = text;
        size_ = given.size();
        std::copy_n(given.begin(), view().size(), bytes_.begin());
    }

    /// Returns the size of the text that was given, in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Returns the text, or the beginning of a text that is too long. It lives as long as this object.
    [[nodiscard]] std::string_view view() const noexcept {
        return {bytes_.data(), std::min(size_, limit)};
    }

private:
    std::size_t size_ = 0;
    std::array<char, limit> bytes_{};
};

/// The options of `once`. It is an aggregate: set the fields that differ, and keep the others.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct COLOCK_EXPORT once_options {
    /// The options of the lock under which the body runs. `fencing` must be false.
    lock_options lock{};

    /// How long a result is kept, counted from the moment when it is recorded. Afterwards the next caller runs
    /// its body. Allowed: 10 ms to 365 days.
    std::chrono::milliseconds keep = std::chrono::hours(24);

    /// Distinguishes a repeated request from another request that reuses the key by mistake. A hash of the request is a
    /// good choice. If the result under the key has another fingerprint, `once` fails with
    /// `errc::fingerprint_mismatch`. It may have any bytes. Allowed: 0 to 256 bytes.
    once_fingerprint fingerprint{};

    /// Checks the options without a client.
    ///
    /// - Exception safety: Throws `config_error`, which names the field, its value, the limit and the cure.
    void validate() const;
};

static_assert(detail::safe_as_temporary<once_options>);

/// What `once` completes with.
struct once_result {
    /// What the body has returned, here or in another process.
    std::string value;
    /// Whether this call has run its body.
    bool ran = false;
};

/// The longest result that `once` can record, in bytes.
inline constexpr std::size_t once_longest_result = std::size_t{64} << 10U;

namespace detail {

/// A body that wants to see the lease, and one that does not.
template <typename Function>
concept once_body_with_lease =
    lock_body<Function> && std::convertible_to<body_result<Function>, std::string>;
template <typename Function>
concept once_body_without_lease =
    std::invocable<Function&> && is_awaitable<std::invoke_result_t<Function&>> &&
    std::convertible_to<typename awaited<std::invoke_result_t<Function&>>::type, std::string>;
template <typename Function>
concept once_body = once_body_with_lease<Function> || once_body_without_lease<Function>;

/// See `passed_body`.
template <typename Function>
concept passed_once_body = once_body<std::decay_t<Function>> && !destroyed_twice<Function>;
template <typename Function>
concept temporary_once_body = once_body<Function> && destroyed_twice<Function>;

/// What is known of a key.
struct once_finding {
    /// Not empty if the caller may run the body.
    lease held{};
    /// What a quorum has recorded. Null if that is not known.
    std::shared_ptr<const std::string> record{};
    /// Whether an instance has recorded something. Its caller may have died at that moment.
    bool has_met_record = false;
    /// Whether a record was written to some instance. Without a quorum, that has ended the lease.
    bool has_written = false;
};

/// A key at a client, with its options.
class COLOCK_EXPORT once_key {
public:
    using executor_type = client::executor_type;

    /// If the key or the options cannot work, every operation fails with `invalid_argument`.
    once_key(client& client, std::string_view key, const once_options& options);

    [[nodiscard]] executor_type get_executor() const noexcept { return lock_.get_executor(); }
    [[nodiscard]] executor_type body_executor() const { return lock_.body_executor(); }

    /// Looks for a result, and writes nothing unless a minority has one.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto look(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, once_finding)>(
            starts<&once_key::start_find>{lock_.spec()}, token, false, lease_state());
    }

    /// Waits until the key is ours, or has a result. If only a minority has one, completes with neither.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, once_finding)>(
            starts<&once_key::start_acquire>{lock_.spec()}, token);
    }

    /// Has a quorum record what a minority has, if it may. If that succeeds, it ends the lease, which may be empty.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto settle(const lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, once_finding)>(
            starts<&once_key::start_find>{lock_.spec()}, token, true, state_of(held));
    }

    /// Has a quorum record this. If that succeeds, it ends the lease.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto record(const lease& held, std::shared_ptr<const std::string> text,
                CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            starts<&once_key::start_record>{lock_.spec()}, token, state_of(held), std::move(text),
            keep_);
    }

    /// Returns the record of a result. If the result is too long, the record says so.
    [[nodiscard]] std::shared_ptr<const std::string> make_record(const std::string& value) const;
    /// Throws `lock_error` if it is the record of another request, or of a result that was too long.
    [[nodiscard]] once_result read(const std::string& record) const;

private:
    using shared_spec = std::shared_ptr<const runtime::lock_spec>;

    struct lease_state {
        std::shared_ptr<runtime::lease_driver> state{};
        std::uint32_t holder = 0;
    };
    template <auto Start>
    using starts = initiation<Start, &lock_handle::executor_of, shared_spec>;

    static lease_state state_of(const lease& held) noexcept;
    static void start_find(shared_spec spec, bool settles, lease_state held,
                           handler<once_finding> handler);
    static void start_acquire(shared_spec spec, handler<once_finding> handler);
    static void start_record(shared_spec spec, lease_state held,
                             std::shared_ptr<const std::string> text,
                             std::chrono::milliseconds keep, handler<> handler);

    lock_handle lock_;
    std::chrono::milliseconds keep_;
    std::string fingerprint_;
};

/// A lock that has been acquired, for `with_lock`.
class acquired_lock {
public:
    explicit acquired_lock(lease& held) noexcept : held_(&held) {}

    boost::asio::awaitable<lease> acquire(boost::asio::use_awaitable_t<> /*token*/) const {
        co_return std::move(*held_);
    }

private:
    lease* held_;
};

/// What a body of `once` has left, whatever becomes of its lease.
struct once_traces {
    std::optional<once_result> recorded{};
    error in_doubt{};  ///< It is unknown whether the result is recorded.
};

/// The body of `once`, for `with_lock`: it records what the caller's body returns.
template <typename Function>
class recording_body {
public:
    recording_body(const once_key& key, Function& body, once_traces& traces) noexcept
        : key_(&key), body_(&body), traces_(&traces) {}

    boost::asio::awaitable<once_result> operator()(lease& held) const {
        namespace asio = boost::asio;
        once_result result;
        result.ran = true;
        if constexpr (once_body_with_lease<Function>) {
            result.value = co_await std::invoke(*body_, held);
        } else {
            result.value = co_await std::invoke(*body_);
        }
        if (held.token().empty()) {
            throw lock_error(moved_out());
        }
        // The effect is there. So this goes on until the result is recorded, or the lease is lost.
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        auto record = key_->make_record(result.value);
        try {
            co_await key_->record(held, record, asio::use_awaitable);
        } catch (const lock_error& failure) {
            if (failure.code() == errc::outcome_unknown) {
                traces_->in_doubt = error(errc::outcome_unknown, failure.what());
            }
            throw;
        }
        static_cast<void>(key_->read(*record));  // Throws if the result was too long.
        traces_->recorded = result;
        co_return result;
    }

private:
    const once_key* key_;
    Function* body_;
    once_traces* traces_;
};

template <typename Function>
boost::asio::awaitable<once_result> run_once(once_key key, Function body) {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());

    once_finding known = co_await key.look();
    bool has_met_record = known.has_met_record;
    while (!known.record && known.held.token().empty()) {
        known = co_await key.acquire();
        has_met_record = has_met_record || known.has_met_record;
        if (!known.record && has_met_record) {
            once_finding settled = co_await key.settle(known.held);
            known.record = std::move(settled.record);
            if (!known.record && settled.has_written) {
                known.held = lease();
            }
        }
    }
    if (known.record) {
        co_return key.read(*known.record);
    }

    const auto caller = co_await asio::this_coro::cancellation_state;
    if (caller.cancelled() != asio::cancellation_type::none) {  // at the moment of the grant
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    once_traces traces;
    const acquired_lock lock(known.held);
    const recording_body<Function> recording(key, body, traces);
    try {
        co_return co_await run_with_lock(lock, recording);
    } catch (const lock_error&) {
        if (traces.recorded) {  // The lease was lost while the record was written.
            co_return *std::move(traces.recorded);
        }
        if (traces.in_doubt) {
            throw lock_error(traces.in_doubt);
        }
        throw;
    }
}

template <typename Function, typename CompletionToken>
auto start_once(once_key key, Function&& body, CompletionToken&& token) {
    const auto executor = key.body_executor();
    return boost::asio::co_spawn(
        executor, run_once<std::decay_t<Function>>(std::move(key), std::forward<Function>(body)),
        std::forward<CompletionToken>(token));
}

}  // namespace detail

/// Runs a coroutine once for a key, and keeps its result for a time. Of all callers with the same key, one runs its
/// body, under a lock with a watchdog. The others wait for the result. If there is a result, `once` returns it in one
/// round trip, and writes nothing.
///
/// @code{.cpp}
/// colock::once_options options;
/// options.fingerprint = request;  // a hash of it, if it is long
/// auto charge = [request]() -> asio::awaitable<std::string> {
///     std::cout << "charging the card for " << request << '\n';
///     co_return "receipt 4711";
/// };
/// const colock::once_result result =
///     co_await colock::once(client, "payment:" + key, charge, options);
/// std::cout << result.value << (result.ran ? "" : ", from an earlier call") << '\n';
/// @endcode
///
/// **At least once.** If a process dies after the effect of its body and before the result is recorded, the next
/// caller runs its body again. Nobody can prevent that from outside the body: see docs/once.md.
///
/// **Guarantees.** A result that was returned is not replaced within `once_options::keep`, while a quorum of the
/// instances that have recorded it still has it. All callers of the key get this result. Two bodies do not run at the
/// same time while their leases are valid.
///
/// **If the body throws**, nothing is recorded, the lock is released, and `once` throws the exception. A caller that
/// waits then runs its own body.
///
/// **Other locks.** The key is that of a `mutex` with this name while the body runs. Afterwards it has the result. A
/// `mutex` would then wait for the end of the result, and other locks fail with `errc::wrong_kind`. So use a name for
/// each.
///
/// @note GCC 12: name the lambda, as for `with_lock`.
///
/// - Preconditions: `body` is a callable from `lease&`, or from nothing, to `asio::awaitable<std::string>`. It is kept
///   by value. It must not release the lease.
/// - Handler signature: `void(std::exception_ptr, colock::once_result)`.
/// - Executor: The body runs on the client's executor. With `config::thread_safe` it runs on a strand.
/// - Errors:
///   - `lock_error` with the errors of `mutex::acquire`. `no_quorum` also means that no result was found.
///   - `lock_error` with `fingerprint_mismatch` if the result has another fingerprint.
///   - `lock_error` with `wrong_kind` if a lock or a value of another kind has the name.
///   - `lock_error` with `outcome_unknown` if the body has returned, and no quorum had recorded the result before the
///     lease was lost, or within a ttl. The result may be found later. Otherwise the next caller runs its body again.
///   - `lock_error` with `not_held` if the body has moved its lease out or released it. Nothing is recorded.
///   - `colock::lease_lost` as for `with_lock`, if the lease was lost while the body ran. Nothing is recorded.
///   - `lock_error` with `invalid_argument` for a key or options that cannot work. The body does not run. Or the body
///     has returned more than `once_longest_result` bytes. That is recorded for `keep`: later callers get the same
///     error, and do not run their bodies.
///   - Otherwise the exception of the body.
/// - Cancellation: The types terminal, partial and total, as for `with_lock`. What comes after the body is not
///   cancelled.
/// - Object lifetimes: The client may be destroyed before the completion.
template <detail::passed_once_body Function,
          detail::body_token_for<once_result> CompletionToken = boost::asio::deferred_t>
auto once(client& client, std::string_view key, Function&& body, const once_options& options = {},
          CompletionToken&& token = {}) {
    return detail::start_once(detail::once_key(client, key, options), std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}

/// Does the same with the default options.
template <detail::passed_once_body Function, detail::body_token_for<once_result> CompletionToken>
auto once(client& client, std::string_view key, Function&& body, CompletionToken&& token) {
    return detail::start_once(detail::once_key(client, key, {}), std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}

/// @cond
template <detail::temporary_once_body Function,
          detail::body_token_for<once_result> CompletionToken = boost::asio::deferred_t>
COLOCK_TEMPORARY_BODY auto once(client& client, std::string_view key, Function&& body,
                                const once_options& options = {}, CompletionToken&& token = {}) {
    return detail::start_once(detail::once_key(client, key, options), std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}
template <detail::temporary_once_body Function, detail::body_token_for<once_result> CompletionToken>
COLOCK_TEMPORARY_BODY auto once(client& client, std::string_view key, Function&& body,
                                CompletionToken&& token) {
    return detail::start_once(detail::once_key(client, key, {}), std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}
template <typename once_body_returns_awaitable_of_string, typename... OptionsAndToken>
    requires(!detail::once_body<once_body_returns_awaitable_of_string>)
void once(client&, std::string_view, const once_body_returns_awaitable_of_string&,
          const OptionsAndToken&...) = delete;
/// @endcond

}  // namespace v1
}  // namespace colock

#endif
