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

/// The TLS settings of a client, read from files. Parsing the certificates of all usual authorities takes tens of
/// milliseconds. So each set of files is read once, and again after one of them has changed.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class tls_contexts {
public:
    /// The TLS settings of an address that has TLS. It looks at the files, but does not open them if they are as before.
    /// Throws `address_error`.
    std::shared_ptr<boost::asio::ssl::context> of(const address& to);

private:
    /// The parameters of an address that make a difference.
    using parameters = std::tuple<std::string, std::string, std::string, bool>;
    struct entry {
        std::string state_of_files;
        std::shared_ptr<boost::asio::ssl::context> context;
    };

    std::map<parameters, entry> made_;
};

/// Has the handshake name the host that we want (SNI), where several share an address, and check that the certificate
/// is for this host.
boost::system::error_code name_host(SSL* tls, const address& to);

/// Why a TLS connection was not made, or has ended, for people; with a cure where there is one.
std::string explain_tls_failure(const SSL* tls, const boost::system::error_code& failure,
                                const address& to);

}  // namespace colock::instance::redis

#endif
