#ifndef COLOCK_INSTANCE_REDIS_ADDRESS_HPP
#define COLOCK_INSTANCE_REDIS_ADDRESS_HPP

#include <string>

namespace colock::instance::redis {

/// Where a server is and how to log in.
struct address {
    std::string host;
    std::string port = "6379";
    std::string unix_path;  ///< instead of host and port
    std::string user;
    std::string password;
    int database = 0;

    bool tls = false;
    bool tls_verify = true;
    std::string tls_ca_file;
    std::string tls_cert_file;
    std::string tls_key_file;

    std::string display;  ///< the address for people, without credentials
};

}  // namespace colock::instance::redis

#endif
