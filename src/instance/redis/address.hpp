// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ADDRESS_HPP
#define COLOCK_INSTANCE_REDIS_ADDRESS_HPP

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis {

/// Where a server is and how to log in.
struct address {
    std::string host;
    std::string port = "6379";
    std::string unix_path;  ///< instead of host and port
    std::string user;
    std::string password;
    std::string password_file;  ///< instead of the password: a file whose first line it is
    std::string password_env;   ///< instead of the password: an environment variable that has it
    int database = 0;
    unsigned replicas_acked = 0;  ///< a grant counts only if so many replicas acknowledge it

    bool tls = false;
    bool tls_verify = true;
    std::string tls_ca_file;
    std::string tls_cert_file;
    std::string tls_key_file;
    /// Where the certificates of the usual authorities are, for an address without `tls_ca_file`: see `read_environment`.
    std::string tls_default_file;
    std::string tls_default_folder;
    std::string tls_host;  ///< whose certificate it must be; empty = that of `host`

    std::string display;  ///< the address for people, without credentials

    /// The server at another place, with all else the same.
    [[nodiscard]] address at(const std::string& other_host, const std::string& other_port) const;
};

/// A master that Sentinels watch.
struct sentinel_address {
    std::vector<address> sentinels;
    std::string master_name;
    address master;  ///< all but its place
    std::string display;
};

/// A Redis Cluster.
struct cluster_address {
    std::vector<address> seeds;  ///< some of its nodes, all with the same way to log in
    std::string display;
};

/// An endpoint for people, and as a key: `host:port`, with an IPv6 address in brackets.
std::string endpoint_text(const std::string& host, const std::string& port);

/// What an address names cannot be used: a file, or an environment variable. The text says which, why, and what to do.
class address_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// That a file could not be opened or read just now, by `errno`. `which` names its parameter and its path.
address_error unreadable(const std::string& which);

/// The password of an address, in the URI or in a file. Throws `address_error`.
std::string read_password(const address& of);

/// What a server has sent, for people, without our password, which some servers repeat.
std::string without_password(std::string_view text, const std::string& password);

}  // namespace colock::instance::redis

#endif
