// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_DIALOG_HPP
#define COLOCK_INSTANCE_REDIS_DIALOG_HPP

#include "core/time.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/connection.hpp"
#include "instance/redis/read_buffer.hpp"
#include "instance/redis/resolve.hpp"
#include "instance/redis/stream.hpp"
#include "platform/fork.hpp"
#include "resp/reader.hpp"
#include "resp/value.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis {

/// A connection without locks, to a Sentinel or to a cluster node that is queried for its map. It handles one
/// question at a time. It is opened once and ends once.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class dialog : public std::enable_shared_from_this<dialog> {
public:
    /// The reply of a server.
    struct answer {
        std::string reply;    ///< Its bytes, which may be an error.
        std::string failure;  ///< Why there is no reply.

        /// Returns the error text, or why there is no reply. Empty if the reply is not an error.
        [[nodiscard]] std::string problem() const;
    };

    dialog(const boost::asio::any_io_executor& executor, address to,
           const connection_settings& settings);
    dialog(const dialog&) = delete;
    dialog& operator=(const dialog&) = delete;

    /// Resolves, connects and logs in. Returns the reason if that fails, or an empty string.
    boost::asio::awaitable<std::string> open();

    /// Sends a question and waits for the reply, at most for `connect_timeout`.
    boost::asio::awaitable<answer> ask(std::vector<std::string_view> question);

    /// Waits for a pushed message or a call of `wake`, at most for `longest`. Always waits for `shortest`,
    /// unless the dialog ends.
    boost::asio::awaitable<void> rest(core::duration shortest, core::duration longest);

    /// Ends the current `rest`, or otherwise the next one.
    void wake() noexcept;

    /// Returns whether a message was pushed since the last call.
    bool take_message() noexcept { return std::exchange(has_message_, false); }

    /// Closes the dialog. Pending operations fail.
    void close() noexcept { end("closed"); }

    /// Returns why it has ended. Empty while it is open.
    [[nodiscard]] const std::string& end_reason() const noexcept { return end_reason_; }

private:
    boost::asio::awaitable<std::string> open_at(const std::string& numeric_host);
    boost::asio::awaitable<std::string> connect(const std::string& numeric_host);
    [[nodiscard]] bool ended() const noexcept { return !end_reason_.empty(); }
    void end(std::string reason) noexcept;
    void limit(core::duration time);
    void read();
    void on_read(const boost::system::error_code& failure, std::size_t size);
    void on_message(const resp::value& root, std::string_view bytes);
    [[nodiscard]] std::string too_late() const;

    boost::asio::any_io_executor executor_;
    address to_;
    connection_settings settings_;
    resolver resolver_;
    std::optional<stream<boost::asio::any_io_executor>> stream_;
    platform::unshared_socket socket_;
    boost::asio::steady_timer limit_;   // Limits operations that `signal_` cannot wake.
    boost::asio::steady_timer signal_;  // Cancelled at each event.
    read_buffer input_;
    resp::reader reader_;
    std::string output_;
    std::optional<std::string> reply_;
    bool woken_ = false;
    bool has_message_ = false;
    std::string end_reason_;
};

}  // namespace colock::instance::redis

#endif
