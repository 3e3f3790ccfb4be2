// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/address.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

namespace colock::instance::redis {
namespace {

/// `fopen` opens with O_CLOEXEC. A `std::ifstream` would be inherited by a program that another thread
/// starts.
std::string read_password_file(const std::string& name) {
    const std::string which = "password_file " + name;
    errno = 0;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "re"),
                                                               &std::fclose);
    std::string result;
    for (int c = 0; file && (c = std::getc(file.get())) != EOF && c != '\n';) {
        result += static_cast<char>(c);
    }
    if (!file || std::ferror(file.get()) != 0) {
        throw unreadable(which);
    }
    if (result.ends_with('\r')) {
        result.pop_back();
    }
    if (result.empty()) {
        throw address_error("the first line of " + which + " is empty. Write the password into it");
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

address_error unreadable(const std::string& which) {
    return address_error(which + " cannot be read (" + std::generic_category().message(errno) +
                         "). Check its path and its permissions");
}

std::string read_password(const address& of) {
    return of.password_file.empty() ? of.password : read_password_file(of.password_file);
}

std::string without_password(std::string_view text, const std::string& password) {
    // Redis repeats the arguments of an unknown command, cut off after 128 bytes.
    std::string result(text.substr(0, text.find(", with args beginning with")));
    if (password.empty()) {
        return result;
    }
    constexpr std::string_view blank = "***";
    for (std::size_t at = 0; (at = result.find(password, at)) != std::string::npos;) {
        result.replace(at, password.size(), blank);
        at += blank.size();
    }
    // The text may end within the password. Removes a beginning of the password at the end.
    std::string_view beginning = password;
    while (!result.ends_with(beginning)) {
        beginning.remove_suffix(1);
    }
    if (!beginning.empty()) {
        result.replace(result.size() - beginning.size(), beginning.size(), blank);
    }
    return result;
}

}  // namespace colock::instance::redis
