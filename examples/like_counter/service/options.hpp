// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_OPTIONS_HPP
#define LIKE_COUNTER_OPTIONS_HPP

#include "http_message.hpp"

#include <colock/config.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace like_counter {

/// What the command line says.
struct options {
    boost::asio::ip::tcp::endpoint listen;
    std::vector<std::string> host_names;  ///< by which browsers may reach it, besides its addresses
    std::optional<colock::config> locks;  ///< none with --no-lock
    colock::lock_options lock;
    std::optional<std::uint32_t> stripes;      ///< with --stripes: how many locks there are
    bool is_versioned = false;                 ///< the likes are kept without locks
    std::string data;                          ///< "memory", or a URI of Redis
    std::chrono::milliseconds patience{5000};  ///< of a request for the lock
    std::chrono::milliseconds dawdle{};        ///< before each write
    bool allows_experiments = false;           ///< whether requests may change `dawdle` and locking
    std::chrono::milliseconds stop_patience{5000};  ///< for requests in flight, when stopping
    http_limits http;

    /// How long a command to the data server may take: a critical section has three of them at
    /// most, and must end well before its lock can.
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept {
        return lock.ttl / 6;
    }
};

/// Reads the command line. Prints help or what is wrong, and exits, where there is nothing to run.
options read_options(int argc, char** argv);

}  // namespace like_counter

#endif
