// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_SRC_INSTANCE_URI_HPP
#define COLOCK_SRC_INSTANCE_URI_HPP

#include "instance/redis/address.hpp"
#include "instance/redis/voters.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace colock {

/// `memory://name`
struct memory_address {
    std::string name;
};

/// What an instance's URI stands for.
using instance_address =
    std::variant<memory_address, instance::redis::address, instance::redis::sentinel_address,
                 instance::redis::cluster_address>;

/// Parses an instance's URI: see `config::instances`. Throws `config_error` for `field`; its text
/// never shows the password.
instance_address parse_instance_uri(const std::string& field, std::string_view uri);

/// Returns what the URI alone tells of the instance that votes, for `same_voter`. A master is found through any of its Sentinels,
/// and a cluster through any of its nodes. So two lists that have a host in common mean one instance.
instance::redis::voter voter_of(const instance_address& address);

/// Returns the URI for people, without user and password.
std::string display_of(const instance_address& address);

}  // namespace colock

#endif
