#ifndef COLOCK_SRC_INSTANCE_URI_HPP
#define COLOCK_SRC_INSTANCE_URI_HPP

#include "instance/redis/address.hpp"

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

/// What two URIs of the same instance have in common: where it is, without how to log in.
std::string identity_of(const instance_address& address);

}  // namespace colock

#endif
