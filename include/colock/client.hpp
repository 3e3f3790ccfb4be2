// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CLIENT_HPP
#define COLOCK_CLIENT_HPP

#include <colock/activity.hpp>
#include <colock/config.hpp>
#include <colock/counters.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>
#include <colock/histograms.hpp>
#include <colock/inspect.hpp>
#include <colock/instance_info.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v1 {
namespace detail {
class lock_handle;
}  // namespace detail

/// A client connects to the instances, and runs everything that its locks need: connections, timers,
/// watchdogs, and releases in the background.
///
/// A client starts to connect when it is constructed. It keeps the execution context busy until it is
/// closed or destroyed. A client that was moved from behaves like a closed one.
///
/// @code{.cpp}
/// int main(int argc, char** argv) try {
///     asio::io_context context;
///     colock::client locks{context, colock::config::from_uris({argv + 1, argv + argc})};
///     asio::co_spawn(context, work(locks), rethrow);
///     context.run();
/// } catch (const std::exception& failure) {
///     std::cerr << failure.what() << '\n';
///     return 1;
/// }
/// @endcode
///
/// **Operations.** The following applies to every operation of colock that takes a completion token.
/// - Completion: It never completes inside the initiating call. The handler runs on its associated
///   executor, by default the client's.
/// - Errors: `errc::forked` in a child of the process that created the client.
/// - Cancellation: The types terminal, partial and total have the same effect, except for `with_lock`
///   and `with_shared_lock`. The operation completes immediately with `operation_aborted`.
/// - Object lifetimes: The client, the lock and the lease may be moved or destroyed before the
///   operation completes.
///
/// **Fork.** A client belongs to the process that created it. In a child created by `fork`, every
/// operation on the client, its locks and its leases fails immediately with `errc::forked`. No lease
/// is valid there, and destructors send nothing. The parent keeps its connections and its locks.
/// Create a new client in the child. If the child continues to run an execution context of the
/// parent, both processes have to call the context's `notify_fork`: see docs/threads.md.
///
/// Thread-safety: distinct objects safe, shared objects unsafe. With `config::thread_safe`, shared
/// objects are safe too, except for construction, destruction and assignment.
class COLOCK_EXPORT client {
public:
    /// The type of the executor.
    using executor_type = boost::asio::any_io_executor;

    /// Starts to connect.
    ///
    /// - Exception safety: Throws `config_error` if the configuration cannot work. Examples are a value
    ///   out of its range, or a password file that cannot be read.
    client(executor_type executor, config configuration);

    /// Starts to connect, on the executor of `context`. Otherwise the same as the other constructor.
    template <typename ExecutionContext>
        requires(std::convertible_to<ExecutionContext&, boost::asio::execution_context&>)
    client(ExecutionContext& context, config configuration)
        : client(executor_type(context.get_executor()), std::move(configuration)) {}

    /// @cond
    template <typename Context, std::convertible_to<std::string_view> config_from_uri_takes_a_uri>
    client(const Context&, const config_from_uri_takes_a_uri&) = delete;
    /// @endcond

    /// Moves the client. Its locks and leases stay usable.
    client(client&& other) noexcept = default;
    /// Closes this client in the background, as the destructor does. Then moves `other` into it.
    client& operator=(client&& other) noexcept;
    /// A client cannot be copied.
    client(const client&) = delete;
    /// A client cannot be copied.
    client& operator=(const client&) = delete;

    /// Closes the client in the background. This is equivalent to calling `close` without waiting for
    /// its completion. Never blocks.
    ~client();

    /// Returns the executor on which the client works, and on which operations complete by default.
    /// Returns the system executor if the client was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Returns the state of each instance, in the order of `config::instances`. Returns an empty vector
    /// if the client was moved from, or belongs to a parent process.
    [[nodiscard]] std::vector<instance_info> instances() const;

    /// Returns what the client has done so far. All numbers are 0 if it was moved from.
    [[nodiscard]] colock::counters counters() const;

    /// Returns how long acquires have waited, and how long leases were held. Everything is 0 if the client was
    /// moved from.
    [[nodiscard]] colock::histograms histograms() const;

    /// Lists the leases that this client holds, in no particular order. It asks no server. The answer is complete, and
    /// ages.
    ///
    /// - Handler signature: `void(colock::error, std::vector<colock::lease_info>)`.
    /// - Errors: `client_closed` if the client was moved from.
    /// - Cancellation: No effect, because the operation waits for nothing.
    template <detail::token_for<std::vector<lease_info>> CompletionToken = boost::asio::deferred_t>
    auto leases(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, std::vector<lease_info>)>(
            starts<&client::start_leases>{host_}, token);
    }

    /// Lists the acquires that are in progress, in no particular order. Otherwise the same as `leases`.
    ///
    /// - Handler signature: `void(colock::error, std::vector<colock::waiter_info>)`.
    template <detail::token_for<std::vector<waiter_info>> CompletionToken = boost::asio::deferred_t>
    auto waiters(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, std::vector<waiter_info>)>(
            starts<&client::start_waiters>{host_}, token);
    }

    /// Closes the client. Waiting acquires fail with `client_closed`. Held leases are lost, with
    /// `client_closed` as the reason, except a lease whose release waits to be sent. Then `close` waits
    /// for releases, and closes the connections.
    ///
    /// A lost lease keeps its lock until its holder releases it, because the holder may still be
    /// working. The client waits for these holders and for all releases, for `config::close_timeout` at
    /// most. A release has ended when a quorum has answered, and so has each instance that can be
    /// reached. If a holder has not released its lease by then, the lock ends with its ttl. That is not
    /// an error.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `no_quorum` if some releases had no quorum of answers after `config::close_timeout`.
    ///   Their locks end with their ttl.
    /// - Cancellation: The client continues to close.
    template <detail::token_for<> CompletionToken = boost::asio::deferred_t>
    auto close(CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            starts<&client::start_close>{host_}, token);
    }

    /// Asks every instance who holds a name and who waits for it. Changes nothing on the servers, and does
    /// not count as an attempt. docs/inspect.md explains the result.
    ///
    /// The instances answer one after the other, so the result is not a snapshot. A lock may change hands
    /// while they do. An instance that does not answer is not an error: see
    /// `instance_inspection::failure`. Each instance has `config::instance_timeout` for its answer. The
    /// client first waits for its first attempt to connect to each of them.
    ///
    /// - Handler signature: `void(colock::error, colock::inspection)`.
    /// - Errors: `invalid_argument` if the name is empty or too long. `operation_aborted`,
    ///   `client_closed`, `forked`.
    template <detail::token_for<inspection> CompletionToken = boost::asio::deferred_t>
    auto inspect(std::string_view resource, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, inspection)>(
            starts<&client::start_inspect>{host_}, token, std::string(resource));
    }

    /// Removes a holder from a name, although its lease has not ended. It removes the token from every
    /// instance where the token still holds the name. Nothing happens where another token holds it. Waiters
    /// are notified as by a release.
    ///
    /// @warning The holder may still be working, and the next holder works at the same time. The former
    ///   holder detects the loss by its next renewal at the earliest, and at the latest when its validity
    ///   ends. Break a lock only if you know that its holder has stopped, and if you cannot wait for the end
    ///   of its ttl. See docs/inspect.md.
    ///
    /// The token is `lock_holder::token`, as `inspect` reports it. It may be of any kind of lock: of an
    /// exclusive holder, of one reader of several, or of one lease of a semaphore. The mark of a writer that waits
    /// has the token `writer:`, followed by `waiting_writer::client`. A token in another form is compared
    /// with the whole key, so a lock of another library can be broken too. Of a `multi_mutex`, only this name
    /// is removed, and its holder loses all of them.
    ///
    /// - Handler signature: `void(colock::error, colock::break_result)`. It is not an error if the token
    ///   does not hold the name, or if an instance does not answer. The result says both.
    /// - Errors: `invalid_argument` if the name is empty or too long, or if the token is empty, is longer
    ///   than 1,024 bytes, or is the result of a `once`. Then nothing is sent. `operation_aborted`,
    ///   `client_closed`, `forked`.
    /// - Cancellation: An instance may still remove the token.
    template <detail::token_for<break_result> CompletionToken = boost::asio::deferred_t>
    auto break_lock(std::string_view resource, std::string_view holder,
                    CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, break_result)>(
            starts<&client::start_break>{host_}, token, std::string(resource), std::string(holder));
    }

private:
    friend class detail::lock_handle;
    friend class versioned;

    using shared_host = std::shared_ptr<runtime::asio_host>;
    static executor_type executor_of(const std::shared_ptr<runtime::asio_host>& owner) noexcept;
    template <auto Start>
    using starts = detail::initiation<Start, &executor_of, shared_host>;
    static void start_close(const std::shared_ptr<runtime::asio_host>& owner,
                            detail::handler<> handler);
    static void start_leases(const std::shared_ptr<runtime::asio_host>& owner,
                             detail::handler<std::vector<lease_info>> handler);
    static void start_waiters(const std::shared_ptr<runtime::asio_host>& owner,
                              detail::handler<std::vector<waiter_info>> handler);
    static void start_inspect(const std::shared_ptr<runtime::asio_host>& owner,
                              std::string resource, detail::handler<inspection> handler);
    static void start_break(const std::shared_ptr<runtime::asio_host>& owner, std::string resource,
                            std::string holder, detail::handler<break_result> handler);

    std::shared_ptr<runtime::asio_host> host_;
};

}  // namespace v1
}  // namespace colock

#endif
