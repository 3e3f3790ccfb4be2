// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <utility>

namespace colock::test {

reserved_port::reserved_port() {
    static std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<unsigned> ports(15000, 31999);
    for (int tries = 0; tries < 1000; ++tries) {
        number_ = static_cast<std::uint16_t>(ports(random));
        socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(number_);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        // The first bind is without SO_REUSEADDR. It fails if any socket is bound to the port, listening or
        // not.
        const int on = 1;
        if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
            ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) {
            return;
        }
        ::close(socket_);
    }
    throw std::runtime_error("no free loopback port");
}

reserved_port::~reserved_port() {
    if (socket_ >= 0) {
        ::close(socket_);
    }
}

reserved_port::reserved_port(reserved_port&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), number_(other.number_) {}

reserved_port& reserved_port::operator=(reserved_port&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(number_, other.number_);
    return *this;
}

}  // namespace colock::test
