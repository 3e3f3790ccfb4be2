#include "instance/redis/address.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace colock::instance::redis {
namespace {

const std::string allowed = "a password that can be read";

std::string read_password_file(const std::string& name) {
    const std::string which = "password_file " + name;
    errno = 0;
    std::ifstream file(name);
    std::string result;
    if (!file || (!std::getline(file, result) && file.bad())) {
        throw address_error(
            which + ", which cannot be read (" + std::generic_category().message(errno) + ")",
            allowed);
    }
    if (result.ends_with('\r')) {
        result.pop_back();
    }
    if (result.empty()) {
        throw address_error(which + ", whose first line is empty", allowed);
    }
    return result;
}

}  // namespace

std::string endpoint_text(const std::string& host, const std::string& port) {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
}

address address::at(const std::string& other_host, const std::string& other_port) const {
    address result = *this;
    result.host = other_host;
    result.port = other_port;
    result.display = (tls ? "rediss://" : "redis://") + endpoint_text(other_host, other_port) +
                     (database == 0 ? std::string() : "/" + std::to_string(database));
    return result;
}

std::string read_password(const address& of) {
    if (!of.password_file.empty()) {
        return read_password_file(of.password_file);
    }
    if (of.password_env.empty()) {
        return of.password;
    }
    const char* const value =
        std::getenv(of.password_env.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0') {
        throw address_error("password_env " + of.password_env + ", which is not set", allowed);
    }
    return value;
}

}  // namespace colock::instance::redis
