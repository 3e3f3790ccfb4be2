#ifndef COLOCK_TEST_SUPPORT_FREE_PORT_HPP
#define COLOCK_TEST_SUPPORT_FREE_PORT_HPP

#include <cstdint>

namespace colock::test {

/// A loopback port on which nobody listens. Not from the kernel's range for outgoing connections
/// (from 32768 on): there another process may take the port of a server that is down for a moment,
/// and a client that tries to reconnect to it may even end up connected to itself.
std::uint16_t free_port();

}  // namespace colock::test

#endif
