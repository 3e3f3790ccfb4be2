// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_TCP_PROXY_HPP
#define COLOCK_TEST_SUPPORT_TCP_PROXY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::test {

/// A bad network in front of one server: passes TCP connections on to it, and does to them what it
/// is told. On 127.0.0.1, with a thread of its own.
///
/// All members may be called by any thread at any time. What they order is in force when they
/// return. Throws what Asio throws.
class tcp_proxy {
public:
    /// Which bytes a member is about.
    enum class way { to_server, to_client, both };

    explicit tcp_proxy(std::uint16_t server_port);
    ~tcp_proxy();
    tcp_proxy(tcp_proxy&& other) noexcept;
    tcp_proxy& operator=(tcp_proxy&& other) noexcept;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// `redis://127.0.0.1:port`.
    [[nodiscard]] std::string uri() const;

    /// Passes on what comes from now on so much later.
    void delay(std::chrono::milliseconds by, way which = way::both);

    /// Keeps what comes, the end of a connection too, until `resume`.
    void hold(way which = way::both);

    /// The same to the server, beginning with the first request that contains `text`. (A request is
    /// what comes in one piece. Use a text as short as a command's name.)
    void hold_from_request(std::string text);

    /// Swallows what comes, the end of a connection too: both sides go on believing in it.
    /// New connections are made, and silent.
    void drop(way which = way::both);

    /// Passes everything on again, and first what was held. Connections that have lost something
    /// are cut.
    void resume();

    /// Resets all connections.
    void cut();

    /// Resets the connection of the next request that contains `text`, instead of passing it on.
    void cut_before_request(std::string text);

    /// Passes the next request that contains `text` on, and resets its connection when the server
    /// answers, instead of passing the answer on. (No other request may be unanswered on it.)
    void cut_before_reply(std::string text);

    /// Nobody listens any more. Connections stay as they are.
    void refuse();

    /// Listens again, on the same port.
    void accept();

    /// How many connections there are.
    [[nodiscard]] std::size_t connections() const;

    /// How many bytes of them are held or delayed.
    [[nodiscard]] std::size_t waiting(way which = way::both) const;

    /// How many connections were reset as `cut_before_request` or `cut_before_reply` has ordered.
    [[nodiscard]] std::size_t cuts() const;

private:
    class relay;
    std::unique_ptr<relay> relay_;
};

}  // namespace colock::test

#endif
