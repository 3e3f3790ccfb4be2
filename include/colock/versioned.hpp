// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_VERSIONED_HPP
#define COLOCK_VERSIONED_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/detail/temporaries.hpp>
#include <colock/error.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace colock::runtime {
struct record_spec;
}

namespace colock {
inline namespace v1 {

/// The options of a `versioned` object. It is an aggregate: set the fields that differ, and keep the others.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct COLOCK_EXPORT versioned_options {
    /// The time after which a value expires, counted from its write. Each write through this object
    /// sets it again. 0 means that the value stays until it is erased. Allowed: 0, and 10 ms to 365 days.
    std::chrono::milliseconds ttl{0};

    /// The longest value that this object writes, in bytes. Allowed: 1 to 64 MiB. A reply with the value must
    /// fit into `config::max_reply_size`, which leaves 64 bytes for the rest of the reply.
    std::size_t longest_value = std::size_t{1} << 20U;

    /// How `versioned::update` and lost connections are retried. Before the n-th repetition there is a random
    /// wait from the upper half of `min(maximum, initial * 2^n)`. If `attempts` is not 0, `update` fails with
    /// `errc::contended` after this many writes were refused.
    retry_options retry{};

    /// The time without an answer after which an operation fails. It then fails with `errc::no_quorum`, or with
    /// `errc::outcome_unknown` for a write that may have been carried out. With 0 there is one attempt.
    /// Allowed: 0 to 1 h.
    std::chrono::milliseconds unavailable_timeout{2000};

    /// Checks the options without a client. The constructor of `versioned` also checks `longest_value` against
    /// its client's `max_reply_size`.
    ///
    /// - Exception safety: Throws `config_error`, which names the field, its value, the limit and the cure.
    void validate() const;
};

static_assert(detail::safe_as_temporary<versioned_options>);

/// A value and its version, as a server had it at some time between the start and the end of an operation.
struct versioned_state {
    /// The value, which may have any bytes. Empty if there is none: it was never written, was erased, or has
    /// ended.
    std::optional<std::string> value{};
    /// The version. 0 means that nothing was written here, or not for a week. Each write, each erase, and the
    /// end of a value by its ttl gives a larger one. Below 2^53.
    std::uint64_t version = 0;
};

/// The verdict on a write.
struct write_outcome {
    /// Whether the write was carried out. It was carried out once, even if it had to be sent again. If this is
    /// `false`, it was not carried out, and never will be.
    bool applied = false;
    /// If the write was carried out, the state that it made. Otherwise the state that has refused it.
    versioned_state current{};
};

class versioned;

namespace detail {

/// A function for `versioned::update`: from the state to the new value, or to nothing if there is no change.
template <typename Function>
concept update_function = std::invocable<Function&, const versioned_state&> &&
    std::convertible_to<std::invoke_result_t<Function&, const versioned_state&>,
                        std::optional<std::string>>;

/// See `passed_body`.
template <typename Function>
concept passed_update = update_function<std::decay_t<Function>> && !destroyed_twice<Function>;
template <typename Function>
concept temporary_update = update_function<Function> && destroyed_twice<Function>;

template <typename Function>
class update_loop;

}  // namespace detail

/// A value with a version, on one server, that is changed by optimistic locking. A program reads the value
/// and its version, and then writes a new value with `compare_exchange`. The write is refused if another one
/// came first. So nobody holds a lock, and nobody waits for a holder that is slow or dead.
///
/// Prefer `update` to the other operations. docs/versioned.md explains them.
///
/// @code{.cpp}
/// const auto add_one = [](const colock::versioned_state& now) -> std::optional<std::string> {
///     return std::to_string(now.value ? std::stoi(*now.value) + 1 : 1);
/// };
/// const colock::versioned_state after = co_await likes.update(add_one);
/// std::cout << "likes: " << after.value.value_or("none") << '\n';
/// @endcode
///
/// **Guarantees.** With one server, all operations on a name are linearizable. A write is carried out at most
/// once. A `write_outcome` and each error say truly whether it was. If the reply to a write is lost, the
/// client sends the same write again, and the server recognizes it. If nobody can tell, the error is
/// `errc::outcome_unknown`.
///
/// **Versions never go back.** This holds after an erase, after the end of a value, and after a restart or a
/// failover that has lost writes. So a write that expects an old version is refused, however late it
/// arrives. Versions are times of the server's clock. After a loss of data, this relies on a clock that was
/// not set back by more than the outage. A server stores the version of a name for a week after its value.
///
/// **Deployments.** The client has exactly one instance: a server, a Sentinel-monitored master, a Redis
/// Cluster, or memory. With Sentinels and in a cluster, a failover may lose writes that were acknowledged. The
/// setting `replicas_acked` of the URI narrows that. Several independent servers would need a read from a
/// majority with a repair. The constructor refuses a client with several instances.
///
/// **Other locks.** The name is a key of its own. If a lock has it, an operation fails with `errc::wrong_kind`. If a
/// versioned value has it, a `semaphore` fails likewise. A `mutex` and a `shared_mutex` wait until the value is
/// gone, as for any key without a ttl, and the details of their error name the value. So use a name for each.
///
/// **Operations.** The comments of `client` and `mutex` say which rules hold for all operations. An operation
/// may be cancelled at any time. It then ends with `boost::asio::error::operation_aborted`. A write that was
/// sent before may be carried out in spite of that. The same holds for `errc::client_closed`. The details of
/// the error say which of both it is.
///
/// Algorithm: optimistic concurrency control (H. T. Kung, J. T. Robinson, 1981), with the versions of a hybrid
/// logical clock (S. Kulkarni et al., 2014).
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT versioned {
public:
    /// The type of the executor.
    using executor_type = client::executor_type;

    /// No version is larger, and no record has this one.
    static constexpr std::uint64_t version_limit = std::uint64_t{1} << 53U;

    /// Creates an object for a name. Sends nothing. The name has 1 to 65,536 bytes of any value.
    ///
    /// - Exception safety: Throws `config_error` for a name or options that cannot work, and for a client
    ///   with several instances.
    versioned(client& client, std::string_view resource, versioned_options options = {});

    /// Returns the client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(spec_); }
    /// Returns the name, without the key prefix.
    [[nodiscard]] std::string_view resource() const noexcept;
    /// Returns the options.
    [[nodiscard]] const versioned_options& options() const noexcept { return options_; }

    /// Reads the value and its version in one round trip.
    ///
    /// - Handler signature: `void(colock::error, colock::versioned_state)`.
    /// - Errors: `no_quorum` if the server did not answer within `unavailable_timeout`, or has refused until
    ///   then. It refuses a value that exceeds `config::max_reply_size`. `wrong_kind` if something else has the
    ///   name. `operation_aborted`, `client_closed`, `forked`.
    template <detail::token_for<versioned_state> CompletionToken = boost::asio::deferred_t>
    auto read(CompletionToken&& token = {}) const {
        return read_after(0, std::forward<CompletionToken>(token));
    }

    /// Writes a value if the version is `version`, in one round trip. To write a name that was never written,
    /// give version 0. To write a name after an erase, give the version that the erase has made.
    ///
    /// - Handler signature: `void(colock::error, colock::write_outcome)`. A write that was refused is not an
    ///   error.
    /// - Errors: those of `read`, after which the write was not and will not be carried out, except as the
    ///   class says. `outcome_unknown` if the write may have been carried out, or may be yet. Read, and decide
    ///   by the value. `invalid_argument` if the value is longer than `versioned_options::longest_value`, or if
    ///   no version below `version_limit` can follow. Then nothing is sent.
    template <detail::token_for<write_outcome> CompletionToken = boost::asio::deferred_t>
    auto compare_exchange(std::uint64_t version, std::string value,
                          CompletionToken&& token = {}) const {
        return write(version, std::optional<std::string>(std::move(value)),
                     std::forward<CompletionToken>(token));
    }

    /// Erases the value if the version is `version`. This makes a new version without a value.
    ///
    /// - Handler signature, Errors: as for `compare_exchange`.
    template <detail::token_for<write_outcome> CompletionToken = boost::asio::deferred_t>
    auto erase(std::uint64_t version, CompletionToken&& token = {}) const {
        return write(version, std::optional<std::string>(), std::forward<CompletionToken>(token));
    }

    /// Reads, calls `function`, and writes what it returns, until no other write comes between.
    ///
    /// The function gets a `const versioned_state&`, and returns the new value as a string. Or it returns a
    /// `std::optional<std::string>` without a value: then nothing is written, and the operation completes with
    /// what was read. The function may be called several times, so it must have no other effect. It is called
    /// at most once after each read, so two writers take two round trips each if they do not meet.
    ///
    /// If a write is refused, the function gets the state that refused it, at once. From the second time on
    /// there is a wait with jitter first, and the state is read again.
    ///
    /// - Handler signature: `void(std::exception_ptr, colock::versioned_state)`, as for `with_lock`, because
    ///   the function may throw. The state is the one that the write made.
    /// - Executor: The function runs on the executor that is associated with the handler. By default this is
    ///   the client's executor.
    /// - Errors: `lock_error` with the errors of `compare_exchange`, or with `contended` after
    ///   `retry_options::attempts` refused writes. What the function throws.
    /// - Cancellation: terminal, partial and total. The rules of the class hold.
    ///
    /// @note GCC 12: name a lambda that captures by value, as for `with_lock`.
    template <detail::passed_update Function,
              detail::body_token_for<versioned_state> CompletionToken = boost::asio::deferred_t>
    auto update(Function&& function, CompletionToken&& token = {}) const {
        return start_update(std::forward<Function>(function), std::forward<CompletionToken>(token));
    }

    /// @cond
    template <detail::temporary_update Function,
              detail::body_token_for<versioned_state> CompletionToken = boost::asio::deferred_t>
    COLOCK_TEMPORARY_BODY auto update(Function&& function, CompletionToken&& token = {}) const {
        return start_update(std::forward<Function>(function), std::forward<CompletionToken>(token));
    }
    template <typename update_function_returns_string_or_optional_string, typename... Token>
        requires(!detail::update_function<update_function_returns_string_or_optional_string>)
    void update(const update_function_returns_string_or_optional_string&,
                const Token&...) const = delete;
    /// @endcond

private:
    template <typename Function>
    friend class detail::update_loop;

    template <typename Function, typename CompletionToken>
    auto start_update(Function function, CompletionToken&& token) const {
        return boost::asio::async_compose<CompletionToken,
                                          void(std::exception_ptr, versioned_state)>(
            detail::update_loop<Function>(*this, std::move(function)), token, get_executor());
    }

    using shared_spec = std::shared_ptr<const runtime::record_spec>;

    /// After a wait if a write was refused so often before.
    template <typename CompletionToken>
    auto read_after(std::size_t tries, CompletionToken&& token) const {
        return boost::asio::async_initiate<CompletionToken, void(error, versioned_state)>(
            starts<&versioned::start_read>{spec_}, token, tries);
    }
    template <typename CompletionToken>
    auto write(std::uint64_t version, std::optional<std::string> value,
               CompletionToken&& token) const {
        return boost::asio::async_initiate<CompletionToken, void(error, write_outcome)>(
            starts<&versioned::start_write>{spec_}, token, version, std::move(value));
    }

    [[nodiscard]] error contended_after(std::size_t refused) const;
    [[nodiscard]] error cancelled() const;

    static executor_type executor_of(const shared_spec& spec) noexcept;
    template <auto Start>
    using starts = detail::initiation<Start, &executor_of, shared_spec>;
    static void start_read(shared_spec spec, std::size_t tries,
                           detail::handler<versioned_state> handler);
    static void start_write(shared_spec spec, std::uint64_t version,
                            std::optional<std::string> value,
                            detail::handler<write_outcome> handler);

    versioned_options options_;
    shared_spec spec_;
};

namespace detail {

/// What `versioned::update` does between its operations.
template <typename Function>
class update_loop {
public:
    update_loop(versioned what, Function function)
        : versioned_(std::move(what)), function_(std::move(function)) {}

    template <typename Self>
    void operator()(Self& self) {
        self.reset_cancellation_state(boost::asio::enable_total_cancellation());
        const versioned what = versioned_;
        what.read(std::move(self));
    }

    template <typename Self>
    void operator()(Self& self, const error& failure, versioned_state now) {
        if (failure) {
            fail(self, failure);
        } else {
            write(self, std::move(now));
        }
    }

    template <typename Self>
    void operator()(Self& self, const error& failure, write_outcome outcome) {
        const std::size_t attempts = versioned_.options().retry.attempts;
        if (failure) {
            fail(self, failure);
        } else if (outcome.applied) {
            self.complete(nullptr, std::move(outcome.current));
        } else if (++refused_ == attempts) {
            fail(self, versioned_.contended_after(refused_));
        } else if (is_cancelled(self)) {
            fail(self, versioned_.cancelled());
        } else if (refused_ == 1) {
            write(self, std::move(outcome.current));
        } else {
            const versioned what = versioned_;
            what.read_after(refused_ - 1, std::move(self));
        }
    }

private:
    /// A cancellation that came between two operations has reached neither.
    template <typename Self>
    static bool is_cancelled(const Self& self) {
        return self.cancelled() != boost::asio::cancellation_type::none;
    }

    template <typename Self>
    void fail(Self& self, const error& why) {
        self.complete(std::make_exception_ptr(lock_error(why)), versioned_state());
    }

    template <typename Self>
    void write(Self& self, versioned_state now) {
        std::optional<std::string> value;
        const std::uint64_t version = now.version;
        try {
            value = std::invoke(function_, std::as_const(now));
        } catch (...) {
            self.complete(std::current_exception(), versioned_state());
            return;
        }
        if (!value) {
            self.complete(nullptr, std::move(now));
            return;
        }
        if (is_cancelled(self)) {
            fail(self, versioned_.cancelled());
            return;
        }
        const versioned what = versioned_;
        what.write(version, std::move(value), std::move(self));
    }

    versioned versioned_;
    Function function_;
    std::size_t refused_ = 0;
};

}  // namespace detail

}  // namespace v1
}  // namespace colock

#endif
