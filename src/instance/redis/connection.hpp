#ifndef COLOCK_INSTANCE_REDIS_CONNECTION_HPP
#define COLOCK_INSTANCE_REDIS_CONNECTION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/fork.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/probe.hpp"
#include "instance/redis/sent_batch.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/redis/adapter/any_adapter.hpp>
#include <boost/redis/config.hpp>
#include <boost/redis/operation.hpp>
#include <boost/redis/request.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

struct connection_settings {
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds silence_timeout{};
    std::size_t max_reply_size = std::size_t{16} << 20U;
};

/// Who owns a connection, and hears what becomes of it.
class connection_owner {
public:
    /// It is connected, and has begun to answer the probe.
    virtual void on_probing() = 0;
    /// The probe was passed: `execute` may be called. Gives the reason against this server, which ends the
    /// connection, or an empty string.
    virtual std::string on_ready(const server_facts& facts) = 0;
    /// The vote on a command of a batch, with the reply's error text or the connection's end. `soon`
    /// will be voted on soon after that; null if not known.
    virtual void on_vote(const submission& command, const core::vote& vote,
                         const submission* soon) = 0;
    /// Something has happened to a key; to any of them.
    virtual void on_key_changed(std::string_view key) = 0;
    virtual void on_all_keys_changed() = 0;
    /// The server has answered the shortest form of a command with an error, so that a script has to do it, for
    /// each by itself; `for_good` if it will do so again.
    virtual void on_refused(const submission& command, bool for_good) = 0;
    /// The server has forgotten the script of a command that was sent by digest, by itself or as one of many.
    virtual void on_unknown_script(const submission& command, bool of_many) = 0;
    /// It has broken, or been closed: what `execute` is given from now on is never answered. Comes
    /// before the votes on what was in flight.
    virtual void on_ended(const std::string& reason) = 0;

protected:
    ~connection_owner() = default;
};

/// One connection's life, from connecting to the end. Never reconnects: a new connection is a new
/// object, so that nothing submitted to the old one can be replayed on it.
///
/// Boost.Redis is at work below it, made for the executor's own type where that is the usual one. (An
/// executor of any type costs a little at each of its many steps: a third of the CPU in user mode for a lock
/// that is taken all by itself.)
class connection : public std::enable_shared_from_this<connection> {
public:
    static std::shared_ptr<connection> make(const boost::asio::any_io_executor& executor,
                                            const address& to, const connection_settings& settings,
                                            boost::asio::ssl::context tls);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    virtual ~connection() = default;

    /// Connects to `numeric_host` (ignored for a UNIX socket), probes, and then serves until the
    /// connection breaks or `close` is called. Gives the reason.
    boost::asio::awaitable<std::string> serve(std::string numeric_host,
                                              std::shared_ptr<connection_owner> owner);

    /// Sends a batch. Each of its commands gets its vote. Throws `std::bad_alloc`: then none of them does,
    /// though they may have been sent.
    void execute(sent_batch commands, core::time_point now);

    /// Since when the oldest batch that is not fully answered waits for its replies; `core::never`
    /// if there is none.
    [[nodiscard]] core::time_point waiting_since() const noexcept {
        return sent_at_.empty() ? core::never : sent_at_.front();
    }

    /// Ends the connection. `serve` then ends.
    void close();

protected:
    connection(const boost::asio::any_io_executor& executor, const address& to,
               const connection_settings& settings);

    // From Boost.Redis:

    void on_run_ended(const boost::system::error_code& failure);
    void on_executed(std::unique_ptr<sent_batch> sent, const boost::system::error_code& failure);
    /// Pushes have come, and their adapter has taken them.
    void on_received(const boost::system::error_code& failure);

private:
    // To Boost.Redis:

    /// Ends with `on_run_ended`.
    virtual void start_run(const boost::redis::config& settings) = 0;
    /// Ends with `on_received`.
    virtual void start_receive() = 0;
    /// Ends with `on_executed`.
    virtual void start_execute(std::unique_ptr<sent_batch> commands,
                               boost::redis::any_adapter replies) = 0;
    virtual boost::asio::awaitable<boost::system::error_code> ask(
        const boost::redis::request& questions, boost::redis::any_adapter replies,
        std::chrono::milliseconds timeout) = 0;
    virtual void cancel(boost::redis::operation what) = 0;
    /// Over TCP.
    [[nodiscard]] virtual bool is_connected() = 0;
    virtual void disable_nagle() = 0;
    /// Of the socket; not known for a UNIX socket.
    virtual int native_handle() = 0;

    void run(const std::string& numeric_host);
    boost::asio::awaitable<std::string> pass_probe();
    void watch();
    void check();
    void give_up(const std::string& reason);
    [[nodiscard]] std::string reason_for(const boost::system::error_code& failure) const;
    [[nodiscard]] std::string blocked_note() const;
    [[nodiscard]] bool recently_blocked(core::time_point now) const;
    friend class push_adapter;
    void on_reply(sent_batch& sent, const boost::redis::resp3::node_view& root);
    void vote_on(const submission& answered, const core::vote& vote, const submission* soon);
    void on_reply_to_many(sent_batch& sent, std::size_t count,
                          const boost::redis::resp3::node_view& root);

    address to_;
    connection_settings settings_;
    std::shared_ptr<connection_owner> owner_;
    server_facts facts_;
    boost::redis::config config_;
    boost::asio::steady_timer ended_signal_;  // cancelled when the connection has ended
    unshared_socket socket_;
    bool ended_ = false;
    std::string end_reason_;  // empty until it is known
    boost::asio::steady_timer watch_timer_;
    core::time_point watch_due_;    // when it should fire
    core::duration blocked_for_{};  // the event loop, at least, when the timer last fired too late
    core::time_point blocked_until_ = core::time_point::min();
    std::deque<core::time_point> sent_at_;  // of the batches under way; they end in this order
    std::vector<std::unique_ptr<sent_batch>> spares_;
    encoder::request_pointer last_request_;  // kept for Boost.Redis, which may know it
};

/// The TLS settings of an address; throws `boost::system::system_error` if a file cannot be used.
boost::asio::ssl::context make_tls_context(const address& to);

}  // namespace colock::instance::redis

#endif
