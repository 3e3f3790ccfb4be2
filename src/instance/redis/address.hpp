// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_ADDRESS_HPP
#define COLOCK_INSTANCE_REDIS_ADDRESS_HPP

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis {

/// The location of a server and the credentials.
struct address {
    std::string host;
    std::string port = "6379";
    std::string unix_path;  ///< Replaces host and port.
    std::string user;
    std::string password;
    std::string password_file;  ///< Replaces the password: a file whose first line is the password.
    /// Replaces the password: an environment variable that contains it.
    std::string password_env;
    int database = 0;
    unsigned replicas_acked = 0;  ///< A grant counts only if this many replicas acknowledge it.

    bool tls = false;
    bool tls_verify = true;
    std::string tls_ca_file;
    std::string tls_cert_file;
    std::string tls_key_file;
    /// The default CA certificates, for an address without `tls_ca_file`: see `read_environment`.
    std::string tls_default_file;
    std::string tls_default_folder;
    std::string tls_host;  ///< The host name that the certificate must match. Empty = `host`.

    std::string display;  ///< The address for display, without credentials.

    /// Returns the address of a server at another location, with the same settings.
    [[nodiscard]] address at(const std::string& other_host, const std::string& other_port) const;
};

/// A master that Sentinels monitor.
struct sentinel_address {
    std::vector<address> sentinels;
    std::string master_name;
    address master;  ///< All settings except host and port.
    std::string display;
};

/// A Redis Cluster.
struct cluster_address {
    std::vector<address> seeds;  ///< Some of its nodes, all with the same credentials.
    std::string display;
};

/// Returns an endpoint as `host:port`, with an IPv6 address in brackets. Used for display and as a key.
std::string endpoint_text(const std::string& host, const std::string& port);

/// A file or an environment variable that an address names is unusable. The text names it, the reason and the
/// remedy.
class address_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Returns the error for a file that could not be opened or read, from `errno`. `which` names the parameter
/// and the path.
address_error unreadable(const std::string& which);

/// Returns the password of an address, from the URI or the file. Throws `address_error`.
std::string read_password(const address& of);

/// Returns a server's text for display, with the password removed. Some servers repeat the password.
std::string without_password(std::string_view text, const std::string& password);

}  // namespace colock::instance::redis

#endif
