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

/// `memory://name`
struct memory_address {
    std::string name;
};

/// What an instance's URI stands for.
using any_address = std::variant<memory_address, address, sentinel_address, cluster_address>;

/// What is wrong with a URI. The text never shows the password.
class uri_error : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

/// Parses an instance's URI: see `config::instances`. Throws `uri_error`.
any_address parse_uri(std::string_view uri);

/// Returns what the URI alone tells of the instance that votes, for `same_voter`. A master is found through any of its Sentinels,
/// and a cluster through any of its nodes. So two lists that have a host in common mean one instance.
voter voter_of(const any_address& address);

/// Returns the URI for people, without user and password.
std::string display_of(const any_address& address);

}  // namespace colock::instance::redis

#endif
