#ifndef COLOCK_INSTANCE_REDIS_ADDRESS_HPP
#define COLOCK_INSTANCE_REDIS_ADDRESS_HPP

#include <stdexcept>
#include <string>
#include <utility>

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

    bool tls = false;
    bool tls_verify = true;
    std::string tls_ca_file;
    std::string tls_cert_file;
    std::string tls_key_file;

    std::string display;  ///< the address for people, without credentials
};

/// What an address names cannot be used: a file, or an environment variable. The text says which, and why.
class address_error : public std::runtime_error {
public:
    address_error(const std::string& what, std::string allowed)
        : std::runtime_error(what), allowed_(std::move(allowed)) {}
    /// What there should be instead.
    [[nodiscard]] const std::string& allowed() const noexcept { return allowed_; }

private:
    std::string allowed_;
};

/// The password of an address, wherever it is. Throws `address_error`.
std::string read_password(const address& of);

}  // namespace colock::instance::redis

#endif
