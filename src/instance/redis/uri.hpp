// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_URI_HPP
#define COLOCK_INSTANCE_REDIS_URI_HPP

#include "instance/redis/address.hpp"
#include "instance/redis/voters.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace colock::instance::redis {

/// The instance `memory://name`.
struct memory_address {
    std::string name;
};

/// The kinds of instances that a URI can name.
using any_address = std::variant<memory_address, address, sentinel_address, cluster_address>;

/// The error in a URI. The text never contains the password.
class uri_error : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// Parses an instance's URI: see `config::instances`. Throws `uri_error`.
any_address parse_uri(std::string_view uri);

/// Returns the places of the voting instance that its URI contains, for `same_voter`. A master is reachable
/// through any of its Sentinels, and a cluster through any of its nodes. Two lists with a common host
/// therefore mean one instance.
voter voter_of(const any_address& address);

/// Returns the URI for display, without user and password.
std::string display_of(const any_address& address);

}  // namespace colock::instance::redis

#endif
