// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_TCP_PROXY_HPP
#define COLOCK_TEST_SUPPORT_TCP_PROXY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::test {

/// A faulty network in front of one server. It relays TCP connections to the server, and applies the ordered
/// faults to them. It listens on 127.0.0.1 and has a thread of its own.
///
/// Thread-safety: any thread may call any member at any time. An order is in force when the member returns.
/// Throws the exceptions of Asio.
class tcp_proxy {
public:
    /// The direction of the bytes that a member affects.
    enum class way { to_server, to_client, both };

    explicit tcp_proxy(std::uint16_t server_port);
    ~tcp_proxy();
    tcp_proxy(tcp_proxy&& other) noexcept;
    tcp_proxy& operator=(tcp_proxy&& other) noexcept;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Returns `redis://127.0.0.1:port`.
    [[nodiscard]] std::string uri() const;

    /// Delays later bytes by this time.
    void delay(std::chrono::milliseconds by, way which = way::both);

    /// Holds all arriving bytes until `resume`, and also the end of a connection.
    void hold(way which = way::both);

    /// Holds the bytes to the server, beginning with the first request that contains `text`. A request is the
    /// bytes of one read. Use a short text, such as the name of a command.
    void hold_from_request(std::string text);

    /// Drops all arriving bytes, and also the end of a connection. Both sides still see an open connection.
    /// New connections are accepted and stay silent.
    void drop(way which = way::both);

    /// Relays all bytes again, starting with the held bytes. Connections that have lost bytes are reset.
    void resume();

    /// Resets all connections.
    void cut();

    /// Resets the connection of the next request that contains `text`, before the request reaches the server.
    void cut_before_request(std::string text);

    /// Relays the next request that contains `text`, and resets its connection when the server replies. The
    /// reply is lost. No other request may be unanswered on that connection.
    void cut_before_reply(std::string text);

    /// Stops listening. Existing connections stay open.
    void refuse();

    /// Listens again, on the same port.
    void accept();

    /// Returns the number of connections.
    [[nodiscard]] std::size_t connections() const;

    /// Returns the number of bytes that are held or delayed.
    [[nodiscard]] std::size_t waiting(way which = way::both) const;

    /// Returns the number of connections that `cut_before_request` or `cut_before_reply` has reset.
    [[nodiscard]] std::size_t cuts() const;

private:
    class relay;
    std::unique_ptr<relay> relay_;
};

}  // namespace colock::test

#endif
