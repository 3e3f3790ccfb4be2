// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/tls1.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

namespace colock::instance::redis {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Throws if a file could not be used.
void expect_usable(const std::string& parameter, const std::string& file,
                   const error_code& failure) {
    if (!failure) {
        return;
    }
    const std::string which = parameter + " " + file;
    errno = 0;
    if (!std::ifstream(file)) {
        throw unreadable(which);
    }
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(failure.value()));
    if (parameter == "key_file" && reason == X509_R_KEY_VALUES_MISMATCH) {
        throw address_error(which + " is not the key of the certificate in cert_file");
    }
    throw address_error(which + " cannot be used (" + failure.message() +
                        "). Use a PEM file without a passphrase");
}

bool is_numeric(const std::string& host) {
    error_code failure;
    asio::ip::make_address(host, failure);
    return !failure;
}

/// Returns the host that the certificate must contain. Only the lookup needs the dot at the end of a name.
/// Only the kernel needs the zone of an IPv6 address. Neither belongs in a certificate or in SNI (RFC 6066,
/// section 3).
std::string expected_host(const address& to) {
    std::string host = to.tls_host.empty() ? to.host : to.tls_host;
    if (host.size() > 1 && host.ends_with('.')) {
        host.pop_back();
    }
    if (is_numeric(host)) {
        host.resize(std::min(host.find('%'), host.size()));
    }
    return host;
}

/// Returns why the server's certificate was not accepted. Empty if it was.
std::string explain_verdict(long verdict, const address& to) {
    const std::string whose = "the certificate of " + expected_host(to);
    const std::string cure = to.tls_ca_file.empty()
                                 ? ": name the authority's certificate in ca_file"
                                 : " of ca_file " + to.tls_ca_file;
    switch (verdict) {
        case X509_V_OK:
            return {};
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return whose + " has expired";
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return whose + " is not valid yet (or the clock of this machine is wrong)";
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            return whose + " is self-signed, and not trusted: name it in ca_file";
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return whose + " is not signed by a trusted authority" + cure;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return "the certificate of the server is not for " + expected_host(to) +
                   ": use a host name that is in it, or name one with tls_host";
        default:
            return whose + " was not accepted: " + ::X509_verify_cert_error_string(verdict);
    }
}

/// Returns a text that changes when the file is written or replaced, even within one tick of the file
/// system's clock.
std::string state_of_file(const std::string& name) {
    struct stat of {};
    if (::stat(name.c_str(), &of) != 0) {
        return "none;";
    }
    const auto text = [](auto number) { return std::to_string(number) + ";"; };
    return text(of.st_dev) + text(of.st_ino) + text(of.st_size) + text(of.st_mtim.tv_sec) +
           text(of.st_mtim.tv_nsec) + text(of.st_ctim.tv_sec) + text(of.st_ctim.tv_nsec);
}

std::string state_of_files(const address& to) {
    std::string result;
    if (to.tls_ca_file.empty()) {
        for (const std::string& one : {to.tls_default_file, to.tls_default_folder}) {
            result += one + ";" + state_of_file(one);
        }
    }
    for (const std::string& one : {to.tls_ca_file, to.tls_cert_file, to.tls_key_file}) {
        result += one.empty() ? "" : state_of_file(one);
    }
    return result;
}

asio::ssl::context make_tls_context(const address& to) {
    asio::ssl::context tls(asio::ssl::context::tls_client);
    // A key with a passphrase is not supported. OpenSSL must not ask for it on the terminal.
    tls.set_password_callback([](auto&&...) { return std::string(); });
    error_code failure;
    if (to.tls_ca_file.empty()) {
        // Either may be missing.
        tls.load_verify_file(to.tls_default_file, failure);
        tls.add_verify_path(to.tls_default_folder, failure);
    } else {
        tls.load_verify_file(to.tls_ca_file, failure);
        expect_usable("ca_file", to.tls_ca_file, failure);
    }
    if (to.tls_cert_file.empty() != to.tls_key_file.empty()) {
        throw address_error(to.tls_key_file.empty()
                                ? "cert_file " + to.tls_cert_file + " is given without key_file"
                                : "key_file " + to.tls_key_file + " is given without cert_file");
    }
    if (!to.tls_cert_file.empty()) {
        tls.use_certificate_chain_file(to.tls_cert_file, failure);
        expect_usable("cert_file", to.tls_cert_file, failure);
        tls.use_private_key_file(to.tls_key_file, asio::ssl::context::pem, failure);
        expect_usable("key_file", to.tls_key_file, failure);
    }
    tls.set_verify_mode(to.tls_verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
    return tls;
}

}  // namespace

std::shared_ptr<asio::ssl::context> tls_contexts::of(const address& to) {
    entry& known = made_[{to.tls_ca_file, to.tls_cert_file, to.tls_key_file, to.tls_verify}];
    // Taken before the files are read, because they may change during the read.
    std::string now = state_of_files(to);
    if (!known.context || known.state_of_files != now) {
        known.context.reset();
        known.context = std::make_shared<asio::ssl::context>(make_tls_context(to));
        known.state_of_files = std::move(now);
    }
    return known.context;
}

error_code name_host(SSL* tls, const address& to) {
    std::string name = expected_host(to);
    const bool numeric = is_numeric(name);
    bool done = true;
    if (!numeric) {  // SNI permits only names (RFC 6066).
        done = ::SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                          name.data()) == 1;
    }
    if (to.tls_verify) {
        X509_VERIFY_PARAM* const expected = ::SSL_get0_param(tls);
        done = done &&
               (numeric ? ::X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str())
                        : ::X509_VERIFY_PARAM_set1_host(expected, name.data(), name.size())) == 1;
    }
    if (done) {
        return {};
    }
    const auto reason = static_cast<int>(::ERR_get_error());
    // OpenSSL does not always set an error. Without a host to check, no certificate may be accepted.
    return reason == 0 ? error_code(asio::error::invalid_argument)
                       : error_code(reason, asio::error::get_ssl_category());
}

std::string explain_tls_failure(const SSL* tls, const error_code& failure, const address& to) {
    if (to.tls_verify) {
        if (std::string verdict = explain_verdict(::SSL_get_verify_result(tls), to);
            !verdict.empty()) {
            return verdict;
        }
    }
    if (failure == asio::error::eof || failure == asio::ssl::error::stream_truncated) {
        return "the server has closed the connection";
    }
    if (failure.category() != asio::error::get_ssl_category()) {
        return failure.message();
    }
    switch (ERR_GET_REASON(static_cast<unsigned long>(failure.value()))) {
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_UNEXPECTED_MESSAGE:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
            return to.host + " does not answer with TLS: the URI of a server without TLS begins "
                             "with redis://";
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            return "the server wants a certificate of its client: name one in cert_file and "
                   "key_file";
        default:
            return "TLS: " + failure.message();
    }
}

}  // namespace colock::instance::redis
