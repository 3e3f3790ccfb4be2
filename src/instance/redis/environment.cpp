// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/environment.hpp"

#include <openssl/x509.h>

#include <cstdlib>
#include <string>

namespace colock::instance::redis {
namespace {

std::string variable_or(const char* name, const char* otherwise) {
    const char* const value = ::secure_getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? otherwise : value;
}

}  // namespace

void read_environment(address& to) {
    if (!to.password_env.empty()) {
        const char* const value =
            std::getenv(to.password_env.c_str());  // NOLINT(concurrency-mt-unsafe)
        if (value == nullptr || *value == '\0') {
            throw address_error("password_env " + to.password_env +
                                " is not set. Set this environment variable to the password");
        }
        to.password = value;
        to.password_env.clear();
    }
    if (to.tls && to.tls_ca_file.empty()) {  // The same lookup as SSL_CTX_set_default_verify_paths.
        to.tls_default_file =
            variable_or(::X509_get_default_cert_file_env(), ::X509_get_default_cert_file());
        to.tls_default_folder =
            variable_or(::X509_get_default_cert_dir_env(), ::X509_get_default_cert_dir());
    }
}

}  // namespace colock::instance::redis
