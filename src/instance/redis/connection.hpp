// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_CONNECTION_HPP
#define COLOCK_INSTANCE_REDIS_CONNECTION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/probe.hpp"
#include "instance/redis/read_buffer.hpp"
#include "instance/redis/resolve.hpp"
#include "instance/redis/sent_batch.hpp"
#include "instance/redis/tls.hpp"
#include "platform/fork.hpp"
#include "resp/reader.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace colock::instance::redis {

struct connection_settings {
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds silence_timeout{};
    std::size_t max_reply_size = std::size_t{16} << 20U;
    redis::deployment deployment = deployment::standalone;
    std::string key_prefix{};  ///< Common prefix of all lock keys.
    /// Shared within a client.
    std::shared_ptr<redis::lookups> lookups = std::make_shared<redis::lookups>();
    std::shared_ptr<redis::first_addresses> first_addresses =
        std::make_shared<redis::first_addresses>();
    std::shared_ptr<redis::tls_contexts> tls_contexts = std::make_shared<redis::tls_contexts>();
};

/// The owner of a connection. Receives its events.
class connection_owner {
public:
    /// The server has accepted the connection and started to answer the probe.
    virtual void on_probing() = 0;
    /// The probe has succeeded, and `execute` may be called. Returns the reason to reject this server, which
    /// ends the connection, or an empty string.
    virtual std::string on_ready(const server_facts& facts) = 0;
    /// Receives the vote on a command of a batch. Its detail is the error text, or the reason why the
    /// connection ended. `now` is defined as in `vote_receiver`.
    virtual void on_vote(const submission& command, const core::vote& vote,
                         core::time_point now) = 0;
    /// A key may have changed, or any key.
    virtual void on_key_changed(std::string_view key) = 0;
    virtual void on_all_keys_changed() = 0;
    /// The server has refused the native form of a command with an error. Each such command needs a script.
    /// `for_good` if the server will always refuse.
    virtual void on_refused(const submission& command, bool for_good) = 0;
    /// The server does not have the script of a command that was sent by digest, alone or as one of many.
    virtual void on_unknown_script(const submission& command, bool of_many) = 0;
    /// A cluster node has not executed a command. The error says where or when to send it.
    virtual void on_redirected(const submission& command, const resp::value& error) = 0;
    /// Receives the reply to `sent_batch::waits_for_replicas`. It is the number of replicas that have
    /// acknowledged all earlier commands, or an error.
    virtual void on_replicated(const resp::value& reply, core::time_point now) = 0;
    /// Called after each read. `first` is the send time of the latest batch with an answered first command.
    /// `all` is that of the latest batch with all commands answered.
    virtual void on_answered(std::optional<core::time_point> first,
                             std::optional<core::time_point> all) = 0;
    /// The connection has ended. Later calls of `execute` are never answered. Called before the votes on the
    /// commands in flight.
    virtual void on_ended(const std::string& reason) = 0;

protected:
    ~connection_owner() = default;
};

/// One connection, from connecting to its end. It never reconnects. A new connection is a new object, so no
/// command of the old one can be sent again on it.
///
/// It writes batches, matches replies to commands by their order, passes pushes on, and ends once. In the
/// steady state a command or batch needs no allocation, no timer and no handler. The socket is instantiated
/// for the concrete executor type if that is `io_context`'s. The type-erased executor took a third of the
/// user CPU time of a single lock.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class connection : public std::enable_shared_from_this<connection> {
public:
    static std::shared_ptr<connection> make(const boost::asio::any_io_executor& executor,
                                            const address& to, const connection_settings& settings);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// Connects to `numeric_host` and probes the server. Ignores the host for a UNIX socket. Serves until the
    /// connection breaks or `close` is called. Returns the reason.
    boost::asio::awaitable<std::string> serve(std::string numeric_host,
                                              std::shared_ptr<connection_owner> owner);

    /// Sends a batch, as `text`. Each of its commands gets its vote in a later handler. Throws
    /// `std::bad_alloc`. None of them gets a vote then, although they may have been sent.
    void execute(sent_batch commands, std::string_view text, core::time_point now);

    /// Sends a PING. Its reply is not reported.
    void ping(core::time_point now);

    /// Returns when the oldest unanswered command was sent. Returns `core::never` if there is none.
    [[nodiscard]] core::time_point waiting_since() const noexcept {
        return expected_.empty() ? core::never : expected_.front().sent_at;
    }

    /// Returns the time of the latest read, or of the oldest unanswered command if that was sent later. Returns
    /// `core::never` if no command is unanswered.
    [[nodiscard]] core::time_point silent_since() const noexcept {
        return std::max(read_at_, waiting_since());
    }

    /// Returns whether the socket has bytes that were not read yet.
    [[nodiscard]] virtual bool has_unread() const noexcept = 0;

    /// Ends the connection. It stops reading and writing. `serve` completes in a later handler.
    void close(std::string reason = "closed") noexcept { end(std::move(reason)); }

protected:
    using endpoint_type = boost::asio::generic::stream_protocol::endpoint;

    connection(const boost::asio::any_io_executor& executor, const address& to,
               const connection_settings& settings);

    // Calls from the socket.

    /// Returns the buffer for the next bytes. Without memory, ends the connection and returns an empty span.
    std::span<char> room() noexcept;
    /// Handles the `size` bytes read. Returns whether to continue reading.
    bool on_read(const boost::system::error_code& failure, std::size_t size);

    [[nodiscard]] const address& to() const noexcept { return to_; }
    [[nodiscard]] redis::tls_contexts& tls_contexts() noexcept { return *settings_.tls_contexts; }

private:
    // Calls to the socket.

    virtual boost::asio::awaitable<boost::system::error_code> connect(endpoint_type endpoint) = 0;
    [[nodiscard]] virtual bool encrypts() const noexcept = 0;
    /// Throws `address_error`.
    virtual boost::asio::awaitable<boost::system::error_code> shake_hands() = 0;
    virtual void read() = 0;
    /// Throws `std::bad_alloc`. Part of the text may have been written then.
    virtual void write(std::string_view text) = 0;
    virtual std::string explain(const boost::system::error_code& failure) = 0;
    virtual void disconnect() noexcept = 0;
    virtual int native_handle() = 0;

    enum class stage : std::uint8_t { connecting, shaking_hands, probing, ready };

    /// The next reply that is due.
    struct expectation {
        enum class kind_type : std::uint8_t { probe, ping, batch };
        kind_type kind = kind_type::batch;
        core::time_point sent_at;
        core::duration blocked_before{};  // `blocked_in_all_` at that time.
        sent_batch sent;
    };

    [[nodiscard]] bool ended() const noexcept { return !end_reason_.empty(); }
    void end(std::string reason) noexcept;
    boost::asio::awaitable<void> set_up(std::string numeric_host);
    boost::asio::awaitable<boost::system::error_code> open(std::string numeric_host);
    void fail_unanswered();
    [[nodiscard]] std::string reason_for(const boost::system::error_code& failure);

    expectation& expect(expectation::kind_type kind, core::time_point now);
    void forget(std::list<expectation>::iterator done) noexcept;
    void read_replies();
    void on_reply(const resp::value& root, std::string_view reply);
    void on_push(std::string_view push);
    void on_reply_to_batch(expectation& batch, const resp::value& root);
    void on_reply_to_command(sent_batch& sent, const resp::value& root);
    void on_reply_to_many(sent_batch& sent, std::size_t count, const resp::value& root);
    [[nodiscard]] bool on_misplaced(sent_batch& sent, const resp::value& root);
    void vote_on(const submission& answered, const core::vote& vote);

    void watch();
    void check();
    [[nodiscard]] core::time_point due() const noexcept;
    [[nodiscard]] std::string late_reason() const;
    [[nodiscard]] std::string blocked_note() const;
    [[nodiscard]] bool recently_blocked(core::time_point now) const;

    address to_;
    connection_settings settings_;
    std::shared_ptr<connection_owner> owner_;
    stage stage_ = stage::connecting;
    core::time_point set_up_until_;
    std::optional<probe> probe_;  // Present from `stage::probing` on.
    server_facts facts_;
    read_buffer input_;
    core::time_point read_at_;  // The time of the latest read and of its votes.
    resp::reader reader_;
    std::list<expectation> expected_;  // In the order of sending.
    std::list<expectation> spares_;
    core::time_point last_sent_;
    platform::unshared_socket socket_;
    // The next arguments of `connection_owner::on_answered`.
    std::optional<core::time_point> first_answered_;
    std::optional<core::time_point> all_answered_;
    std::string end_reason_;            // Empty until the connection ends.
    boost::asio::steady_timer signal_;  // Cancelled when the probe is answered, and at the end.

    boost::asio::steady_timer watch_timer_;
    core::time_point watch_due_;    // Expiry of `watch_timer_`.
    core::duration blocked_for_{};  // Minimum duration of the latest blockage of the event loop.
    core::time_point blocked_until_ = core::time_point::min();
    core::duration blocked_in_all_{};  // The durations of all blockages.
};

}  // namespace colock::instance::redis

#endif
