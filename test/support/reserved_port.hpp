// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_RESERVED_PORT_HPP
#define COLOCK_TEST_SUPPORT_RESERVED_PORT_HPP

#include <cstdint>

namespace colock::test {

/// A loopback port for one server of ours. No other test on this machine gets it while the object
/// lives, even when the server is down for a moment: it stays bound here, without listening, which
/// is no obstacle to a server that sets SO_REUSEADDR.
///
/// Not from the kernel's range for outgoing connections (from 32768 on): a client that tries to
/// reconnect to a port there may end up connected to itself.
class reserved_port {
public:
    /// Throws `std::runtime_error` if there is none.
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
