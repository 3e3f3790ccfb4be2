// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_VOTERS_HPP
#define COLOCK_INSTANCE_REDIS_VOTERS_HPP

#include "instance/redis/address.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// Identifies a voting instance. Its URI contains only places. A connection adds the server's run_id.
struct voter {
    /// Its places, each in its normal form: see `place_of`.
    std::vector<std::string> places{};
    std::string run_id{};  ///< Empty if it is unknown.
};

/// Returns whether two instances are one server, which would then have two votes. If both run_ids are known,
/// they decide. Otherwise a common place decides. This checks the configuration and the connected instances.
///
/// URIs alone do not show that two names, or a name and an address, mean one server. The same applies to a
/// UNIX socket and a port. The configuration therefore accepts both `localhost` and `127.0.0.1`. When both
/// are connected, the run_id shows it.
bool same_voter(const voter& a, const voter& b) noexcept;

/// Returns the place of a server in its normal form. Leaves out database, user, password, TLS and timeouts,
/// because they do not identify a server. Ignores case and the dot at the end of a host name. IPv4 addresses
/// have four decimal numbers, even if they are mapped to IPv6. Socket paths have single slashes and no `.`.
std::string place_of(const address& server);
std::string place_of(std::string_view host, std::string_view port);

/// The servers to which the instances of a client are connected. No server votes for two of them.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class voters {
public:
    /// Records that instance `index` is connected to a server at this address, until it leaves. If another
    /// instance is connected to this server, records nothing and returns the reason to reject the connection.
    /// Otherwise returns an empty string.
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
