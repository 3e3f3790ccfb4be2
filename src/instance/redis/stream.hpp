// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_STREAM_HPP
#define COLOCK_INSTANCE_REDIS_STREAM_HPP

#include "instance/redis/address.hpp"
#include "instance/redis/tls.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>

#include <unistd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace colock::instance::redis {

/// Returns the endpoint of an address, with the numeric address of its host.
boost::asio::generic::stream_protocol::endpoint endpoint_of(const address& to,
                                                            const std::string& numeric_host,
                                                            boost::system::error_code& failure);

/// Opens a socket with close-on-exec. Otherwise a program that this process starts would inherit it and keep
/// the connection open.
int open_socket(const boost::asio::generic::stream_protocol& protocol,
                boost::system::error_code& failure) noexcept;

/// A byte stream to a server: TCP, TLS over TCP, or a UNIX socket.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
template <typename Executor>
class stream {
public:
    using error_code = boost::system::error_code;

    stream(const Executor& executor, const address& to) : socket_(executor), encrypts_(to.tls) {}

    boost::asio::awaitable<error_code> connect(
        boost::asio::generic::stream_protocol::endpoint endpoint) {
        namespace asio = boost::asio;
        error_code failure = open(endpoint.protocol());
        if (!failure) {
            std::tie(failure) =
                co_await socket_.async_connect(endpoint, asio::as_tuple(asio::use_awaitable));
        }
        if (!failure) {
            socket_.non_blocking(true, failure);
        }
        if (!failure && endpoint.protocol().family() != AF_UNIX) {
            error_code ignored;  // Optional. Without it the connection is only slower.
            socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
        }
        co_return failure;
    }

    [[nodiscard]] bool encrypts() const noexcept { return encrypts_; }

    /// Does the TLS handshake. Requires a connection and `encrypts`. Reads files only now. Throws
    /// `address_error`.
    boost::asio::awaitable<error_code> shake_hands(const address& to, tls_contexts& contexts) {
        namespace asio = boost::asio;
        tls_context_ = contexts.of(to);
        tls_.emplace(socket_, *tls_context_);
        error_code failure = name_host(tls_->native_handle(), to);
        if (!failure) {
            std::tie(failure) = co_await tls_->async_handshake(asio::ssl::stream_base::client,
                                                               asio::as_tuple(asio::use_awaitable));
        }
        co_return failure;
    }

    /// Writes the bytes that the socket accepts immediately. Returns their number, which is 0 with TLS or
    /// after an error.
    std::size_t write_now(std::string_view bytes) {
        if (encrypts()) {
            return 0;
        }
        error_code ignored;  // The next write reports it again.
        return socket_.write_some(boost::asio::buffer(bytes), ignored);
    }

    /// Writes all bytes. They must stay valid until the handler runs.
    template <typename Handler>
    void async_write(std::string_view bytes, Handler&& handler) {
        if (encrypts()) {
            boost::asio::async_write(*tls_, boost::asio::buffer(bytes),
                                     std::forward<Handler>(handler));
        } else {
            boost::asio::async_write(socket_, boost::asio::buffer(bytes),
                                     std::forward<Handler>(handler));
        }
    }

    template <typename Handler>
    void async_read_some(boost::asio::mutable_buffer to, Handler&& handler) {
        if (encrypts()) {
            tls_->async_read_some(to, std::forward<Handler>(handler));
        } else {
            socket_.async_read_some(to, std::forward<Handler>(handler));
        }
    }

    [[nodiscard]] bool has_unread() const noexcept {
        error_code ignored;  // The next read reports it.
        return socket_.available(ignored) != 0;
    }

    /// Returns why it could not be connected, or has ended, for display.
    std::string explain(const error_code& failure, const address& to) {
        if (tls_) {
            return explain_tls_failure(tls_->native_handle(), failure, to);
        }
        return failure == boost::asio::error::eof ? "the server has closed the connection"
                                                  : failure.message();
    }

    /// Closes the socket. Pending operations fail with `operation_aborted` or another error.
    void close() noexcept {
        error_code ignored;
        socket_.close(ignored);
    }

    int native_handle() { return socket_.native_handle(); }

private:
    using socket =
        boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, Executor>;

    /// Opens the socket with close-on-exec, which Asio does not set.
    error_code open(const boost::asio::generic::stream_protocol& protocol) {
        error_code failure;
        const int handle = open_socket(protocol, failure);
        if (!failure) {
            socket_.assign(protocol, handle, failure);
            if (failure) {
                ::close(handle);
            }
        }
        return failure;
    }

    socket socket_;
    bool encrypts_;
    std::shared_ptr<boost::asio::ssl::context> tls_context_;  // From the handshake on.
    std::optional<boost::asio::ssl::stream<socket&>> tls_;
};

}  // namespace colock::instance::redis

#endif
