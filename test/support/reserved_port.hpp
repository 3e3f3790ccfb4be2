// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_RESERVED_PORT_HPP
#define COLOCK_TEST_SUPPORT_RESERVED_PORT_HPP

#include <cstdint>

namespace colock::test {

/// A loopback port for one server of a test. No other test on this machine gets it while the object lives,
/// even while the server is down. The object keeps a socket bound to the port, without listening. A server
/// that sets SO_REUSEADDR can still use the port.
///
/// The port is below the kernel range for outgoing connections, which starts at 32768. A client that
/// reconnects to a port in that range may end up connected to itself.
class reserved_port {
public:
    /// Throws `std::runtime_error` if no port is free.
    reserved_port();
    ~reserved_port();
    reserved_port(reserved_port&& other) noexcept;
    reserved_port& operator=(reserved_port&& other) noexcept;

    [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

private:
    int socket_ = -1;
    std::uint16_t number_ = 0;
};

}  // namespace colock::test

#endif
