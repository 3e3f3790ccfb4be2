#ifndef COLOCK_INSTANCE_REDIS_TLS_HPP
#define COLOCK_INSTANCE_REDIS_TLS_HPP

#include "instance/redis/address.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>

#include <openssl/ssl.h>

#include <string>

namespace colock::instance::redis {

/// The TLS settings of an address that has TLS. Throws `address_error`.
boost::asio::ssl::context make_tls_context(const address& to);

/// Has the handshake name the host that we want (SNI), where several share an address, and check that the certificate
/// is for this host.
boost::system::error_code name_host(SSL* tls, const address& to);

/// Why a TLS connection was not made, or has ended, for people; with a cure where there is one.
std::string explain_tls_failure(const SSL* tls, const boost::system::error_code& failure,
                                const address& to);

}  // namespace colock::instance::redis

#endif
