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

/// A conversation that carries no locks: with a Sentinel, or with a node that is asked for the map of its cluster.
/// One question at a time. It is opened once, and ends once.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class dialog : public std::enable_shared_from_this<dialog> {
public:
    /// What a server has answered.
    struct answer {
        std::string reply;    ///< its bytes, which may be an error's
        std::string failure;  ///< instead, why there is none

        /// Why there is no reply but an error, or nothing at all; empty if there is one.
        [[nodiscard]] std::string problem() const;
    };

    dialog(const boost::asio::any_io_executor& executor, address to,
           const connection_settings& settings);
    dialog(const dialog&) = delete;
    dialog& operator=(const dialog&) = delete;

    /// Resolves, connects and logs in. Gives the reason if that fails.
    boost::asio::awaitable<std::string> open();

    /// Asks a question, and waits for the answer, for `connect_timeout` at most.
    boost::asio::awaitable<answer> ask(std::vector<std::string_view> question);

    /// Waits until a message is pushed or `wake` is called, for the longest time at the most. It is cut short only after the
    /// shortest time, or if the dialog ends.
    boost::asio::awaitable<void> rest(core::duration shortest, core::duration longest);

    /// Ends the present `rest`, or else the next one.
    void wake() noexcept;

    /// Whether a message was pushed since the last call.
    bool take_message() noexcept { return std::exchange(has_message_, false); }

    /// Ends it. What is under way fails.
    void close() noexcept { end("closed"); }

    /// Why it has ended; empty if it has not.
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
    boost::asio::steady_timer limit_;   // for what cannot be woken
    boost::asio::steady_timer signal_;  // cancelled when something has happened
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
