// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_VOTERS_HPP
#define COLOCK_INSTANCE_REDIS_VOTERS_HPP

#include "instance/redis/address.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// Identifies an instance that votes. Its URI gives places only. A connection adds the server's run_id.
struct voter {
    /// Where it can be found, each in one normal form: see `place_of`.
    std::vector<std::string> places{};
    std::string run_id{};  ///< empty if it is not known
};

/// Returns whether two instances would be one server with two votes. If both run_ids are known, they decide. Else any place that
/// both have decides. The configuration and the connected instances are both checked by this.
///
/// URIs alone do not show that two names, or a name and an address, mean one server. Nor do they show that a UNIX socket and a
/// port do. The configuration therefore accepts both `localhost` and `127.0.0.1`. Once both are connected, the run_id shows it.
bool same_voter(const voter& a, const voter& b) noexcept;

/// Returns where a server is, in one normal form. Database, user, password, TLS and timeouts are left out, since none of them makes
/// another server. Case and the dot at the end of a host name are left out too. IPv4 addresses have four decimal numbers, also
/// those mapped to IPv6. Paths of sockets have single slashes and no `.`.
std::string place_of(const address& server);
std::string place_of(std::string_view host, std::string_view port);

/// The servers to which the instances of a client are connected. No server votes for two of them.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class voters {
public:
    /// Notes that instance `index` is connected to a server at this address, until it leaves. If another instance is connected
    /// to this server, notes nothing and returns the reason against this connection. Else returns an empty string.
    std::string join(std::size_t index, const std::string& run_id, const address& to);
    void leave(std::size_t index, const address& to) noexcept;

private:
    struct connected {
        std::size_t index;
        voter who;
        std::string address;
    };
    std::vector<connected> all_;
};

}  // namespace colock::instance::redis

#endif
