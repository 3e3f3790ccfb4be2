// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/stream.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

namespace colock::instance::redis {
namespace asio = boost::asio;
using boost::system::error_code;

asio::generic::stream_protocol::endpoint endpoint_of(const address& to,
                                                     const std::string& numeric_host,
                                                     error_code& failure) {
    if (!to.unix_path.empty()) {
        return asio::local::stream_protocol::endpoint(to.unix_path);
    }
    const asio::ip::address host = asio::ip::make_address(numeric_host, failure);
    std::uint16_t port = 0;
    const char* const end = to.port.data() + to.port.size();
    if (const auto parsed = std::from_chars(to.port.data(), end, port);
        parsed.ec != std::errc() || parsed.ptr != end) {
        failure = asio::error::invalid_argument;
    }
    return asio::ip::tcp::endpoint(host, port);
}

int open_socket(const asio::generic::stream_protocol& protocol, error_code& failure) noexcept {
    const int handle =
        ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol());
    failure = handle < 0 ? error_code(errno, boost::system::system_category()) : error_code();
    return handle;
}

}  // namespace colock::instance::redis
