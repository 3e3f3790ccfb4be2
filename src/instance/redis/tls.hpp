// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_TLS_HPP
#define COLOCK_INSTANCE_REDIS_TLS_HPP

#include "instance/redis/address.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace colock::instance::redis {

/// The TLS contexts of a client, loaded from files. Parsing the default CA certificates takes tens of
/// milliseconds. Each set of files is therefore read once, and again after a change.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
/// Thread-safety: distinct objects safe, shared objects unsafe.
class tls_contexts {
public:
    /// Returns the TLS context of an address with TLS. Checks the files for changes, but reads them only if
    /// they have changed. Throws `address_error`.
    std::shared_ptr<boost::asio::ssl::context> of(const address& to);

private:
    /// The parameters of an address that affect the context.
    using parameters = std::tuple<std::string, std::string, std::string, bool>;
    struct entry {
        std::string state_of_files;
        std::shared_ptr<boost::asio::ssl::context> context;
    };

    std::map<parameters, entry> made_;
};

/// Sets the host name for SNI and for the check of the certificate.
boost::system::error_code name_host(SSL* tls, const address& to);

/// Returns why a TLS handshake failed or a TLS connection ended, for display. Includes the remedy if one is
/// known.
std::string explain_tls_failure(const SSL* tls, const boost::system::error_code& failure,
                                const address& to);

}  // namespace colock::instance::redis

#endif
