// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_CLOSE_ON_EXEC_HPP
#define COLOCK_TEST_SUPPORT_CLOSE_ON_EXEC_HPP

#include <fcntl.h>

namespace colock::test {

/// Sets the close-on-exec flag of an Asio socket of a test. A `meter` then reports only sockets of the
/// library that lack it.
template <typename Socket>
void close_on_exec(Socket& socket) {
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

}  // namespace colock::test

#endif
