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
    std::string key_prefix{};  ///< of all locks
    /// Shared by all of a client.
    std::shared_ptr<redis::lookups> lookups = std::make_shared<redis::lookups>();
    std::shared_ptr<redis::first_addresses> first_addresses =
        std::make_shared<redis::first_addresses>();
    std::shared_ptr<redis::tls_contexts> tls_contexts = std::make_shared<redis::tls_contexts>();
};

/// The owner of a connection, which hears what becomes of it.
class connection_owner {
public:
    /// It is connected, and has begun to answer the probe.
    virtual void on_probing() = 0;
    /// The probe was passed: `execute` may be called. Gives the reason against this server, which ends the
    /// connection, or an empty string.
    virtual std::string on_ready(const server_facts& facts) = 0;
    /// The vote on a command of a batch, with the reply's error text or the connection's end. `now` is as that of
    /// `vote_receiver`.
    virtual void on_vote(const submission& command, const core::vote& vote,
                         core::time_point now) = 0;
    /// Something has happened to a key; to any of them.
    virtual void on_key_changed(std::string_view key) = 0;
    virtual void on_all_keys_changed() = 0;
    /// The server has answered the shortest form of a command with an error, so that a script has to do it, for
    /// each by itself; `for_good` if it will do so again.
    virtual void on_refused(const submission& command, bool for_good) = 0;
    /// The server has forgotten the script of a command that was sent by digest, by itself or as one of many.
    virtual void on_unknown_script(const submission& command, bool of_many) = 0;
    /// A node of a cluster has not executed a command, and says with this error where, or when, to send it.
    virtual void on_redirected(const submission& command, const resp::value& error) = 0;
    /// The answer to `sent_batch::waits_for_replicas`. It says how many replicas have acknowledged all that was answered
    /// before, or it is the server's error.
    virtual void on_replicated(const resp::value& reply, core::time_point now) = 0;
    /// After each read: when the latest batch was sent whose first command it has answered, and the latest of which it has
    /// answered all.
    virtual void on_answered(std::optional<core::time_point> first,
                             std::optional<core::time_point> all) = 0;
    /// It has broken, or been closed: what `execute` is given from now on is never answered. Comes
    /// before the votes on what was in flight.
    virtual void on_ended(const std::string& reason) = 0;

protected:
    ~connection_owner() = default;
};

/// One connection's life, from connecting to the end. Never reconnects: a new connection is a new
/// object, so that nothing submitted to the old one can be replayed on it.
///
/// It writes what it is given, matches replies to commands by their order, hands on pushes, and ends once. In the
/// steady state it needs no memory, no timer and no handler of its own for a command or batch. The socket below it
/// is made for the executor's own type where that is the usual one. (An executor of any type costs a little at each
/// of its many steps: a third of the CPU in user mode for a lock that is taken all by itself.)
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class connection : public std::enable_shared_from_this<connection> {
public:
    static std::shared_ptr<connection> make(const boost::asio::any_io_executor& executor,
                                            const address& to, const connection_settings& settings);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// Connects to `numeric_host` (ignored for a UNIX socket), probes, and then serves until the
    /// connection breaks or `close` is called. Gives the reason.
    boost::asio::awaitable<std::string> serve(std::string numeric_host,
                                              std::shared_ptr<connection_owner> owner);

    /// Sends a batch, as `text`. Each of its commands gets its vote, in a later handler. Throws `std::bad_alloc`:
    /// then none of them does, though they may have been sent.
    void execute(sent_batch commands, std::string_view text, core::time_point now);

    /// Sends a PING, of whose answer nobody hears.
    void ping(core::time_point now);

    /// Since when the oldest command that is not answered waits for its reply; `core::never` if there is none.
    [[nodiscard]] core::time_point waiting_since() const noexcept {
        return expected_.empty() ? core::never : expected_.front().sent_at;
    }

    /// Ends the connection: nothing more is read or written. `serve` then ends, in a later handler.
    void close(std::string reason = "closed") noexcept { end(std::move(reason)); }

protected:
    using endpoint_type = boost::asio::generic::stream_protocol::endpoint;

    connection(const boost::asio::any_io_executor& executor, const address& to,
               const connection_settings& settings);

    // From the socket:

    /// Where the next bytes belong. Ends the connection, and gives nothing, without the memory for them.
    std::span<char> room() noexcept;
    /// So many bytes are there. Gives whether to go on reading.
    bool on_read(const boost::system::error_code& failure, std::size_t size);

    [[nodiscard]] const address& to() const noexcept { return to_; }
    [[nodiscard]] redis::tls_contexts& tls_contexts() noexcept { return *settings_.tls_contexts; }

private:
    // To the socket:

    virtual boost::asio::awaitable<boost::system::error_code> connect(endpoint_type endpoint) = 0;
    [[nodiscard]] virtual bool encrypts() const noexcept = 0;
    /// Throws `address_error`.
    virtual boost::asio::awaitable<boost::system::error_code> shake_hands() = 0;
    virtual void read() = 0;
    /// Throws `std::bad_alloc`: then some of it may have been written.
    virtual void write(std::string_view text) = 0;
    virtual std::string explain(const boost::system::error_code& failure) = 0;
    virtual void disconnect() noexcept = 0;
    virtual int native_handle() = 0;

    enum class stage : std::uint8_t { connecting, shaking_hands, probing, ready };

    /// What the server is to answer next.
    struct expectation {
        enum class kind_type : std::uint8_t { probe, ping, batch };
        kind_type kind = kind_type::batch;
        core::time_point sent_at;
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
    std::optional<probe> probe_;  // from `stage::probing` on
    server_facts facts_;
    read_buffer input_;
    core::time_point read_at_;  // the time of the latest read, and so of its votes
    resp::reader reader_;
    std::list<expectation> expected_;  // in the order in which they were sent
    std::list<expectation> spares_;
    core::time_point last_sent_;
    platform::unshared_socket socket_;
    std::optional<core::time_point>
        first_answered_;  // as `connection_owner::on_answered` is to be told
    std::optional<core::time_point> all_answered_;
    std::string end_reason_;            // empty until it ends
    boost::asio::steady_timer signal_;  // cancelled when the probe is answered, and at the end

    boost::asio::steady_timer watch_timer_;
    core::time_point watch_due_;    // when it should fire
    core::duration blocked_for_{};  // the event loop, at least, when the timer last fired too late
    core::time_point blocked_until_ = core::time_point::min();
};

}  // namespace colock::instance::redis

#endif
