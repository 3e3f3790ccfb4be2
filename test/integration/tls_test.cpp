// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// TLS: configurations that work, and the errors of other configurations.

#include "instance/redis/tls.hpp"
#include "instance_rig.hpp"
#include "integration/locks.hpp"
#include "support/contains.hpp"
#include "support/fake_sentinel.hpp"
#include "support/meter.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// Replaces the system's function. It resolves names with a final dot to this machine, because few systems
/// resolve `localhost.`.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    using function = int(const char*, const char*, const addrinfo*, addrinfo**);
    static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    const bool has_final_dot = name != nullptr && std::string_view(name).ends_with('.');
    return real(has_final_dot ? "127.0.0.1" : name, service, hints, result);
}

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using std::chrono::steady_clock;
using strings = std::vector<std::string>;

namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(tls)

namespace {

/// Two authorities, and certificates for a server and a client, in a temporary folder.
class certificates {
public:
    certificates() {
        make_authority("ca");
        make_authority("other_ca");
        make_certificate("server", "subjectAltName=IP:127.0.0.1,DNS:localhost");
        make_certificate("elsewhere", "subjectAltName=DNS:elsewhere.example");
        make_certificate("client", "extendedKeyUsage=clientAuth");
        // Expires as soon as it is made.
        make_certificate("expired", "subjectAltName=IP:127.0.0.1", 0);
        make_authority("self_signed", "-addext subjectAltName=IP:127.0.0.1");
        run("openssl pkey -in client.key -aes128 -passout pass:x -out locked.key");
    }

    [[nodiscard]] std::string path(const std::string& name) const {
        return (folder_.path() / name).string();
    }

private:
    void make_authority(const std::string& name, const std::string& options = {}) {
        run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
            "/CN=" +
            name + " " + options + " -keyout " + name + ".key -out " + name + ".pem");
    }

    void make_certificate(const std::string& name, const std::string& extension, int days = 2) {
        std::ofstream(path(name + ".ext")) << extension << "\n";
        run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name +
            " -keyout " + name + ".key -out " + name + ".csr");
        run("openssl x509 -req -days " + std::to_string(days) + " -in " + name +
            ".csr -CA ca.pem -CAkey ca.key -CAcreateserial" + " -extfile " + name + ".ext -out " +
            name + ".pem");
    }

    void run(const std::string& command) {
        const std::string line =
            "cd '" + folder_.path().string() + "' && " + command + " > log 2>&1 < /dev/null";
        if (std::system(line.c_str()) != 0) {
            throw std::runtime_error("failed: " + line);
        }
    }

    temporary_folder folder_;
};

const certificates& all_certificates() {
    static const certificates made;
    return made;
}

/// A server with TLS on a second port.
class tls_server {
public:
    explicit tls_server(const std::string& certificate, const std::string& clients = "no") {
        const auto& files = all_certificates();
        server_.command({"CONFIG", "SET", "tls-cert-file", files.path(certificate + ".pem"),
                         "tls-key-file", files.path(certificate + ".key"), "tls-ca-cert-file",
                         files.path("ca.pem"), "tls-auth-clients", clients});
        // Chooses a port below the kernel's ephemeral range, as for the plain port. A port may be in use.
        for (port_ = 14000;; ++port_) {
            try {
                server_.command({"CONFIG", "SET", "tls-port", std::to_string(port_)});
                return;
            } catch (const redis_error&) {
                if (port_ == 14999) {
                    throw;
                }
            }
        }
    }

    [[nodiscard]] std::string uri(const std::string& parameters = {},
                                  const std::string& host = "127.0.0.1") const {
        return "rediss://" + host + ":" + std::to_string(port_) +
               (parameters.empty() ? "" : "?" + parameters);
    }
    redis_server& plain() { return server_; }
    [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }

private:
    redis_server server_;
    int port_ = 0;
};

std::string file(const std::string& parameter, const std::string& name) {
    return parameter + "=" + all_certificates().path(name);
}

void check_works(tls_server& server, const std::string& uri) {
    server.plain().flush();
    instance_rig rig(uri);
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(server.plain().has("k"));
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty(), rig.status().reason);
}

void check_does_not(const std::string& uri, const strings& one_of_reasons) {
    instance_rig rig(uri);
    const meter costs(rig.executor(), loop_may_rest);
    const std::string reason = rig.run_until_down();
    BOOST_TEST(std::any_of(one_of_reasons.begin(), one_of_reasons.end(),
                           [&](const std::string& part) { return contains(reason, part); }),
               reason);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

}  // namespace

BOOST_AUTO_TEST_CASE(certificates_are_verified_unless_disabled) {
    tls_server server("server");
    check_works(server, server.uri(file("ca_file", "ca.pem")));
    check_works(server, server.uri(file("ca_file", "ca.pem"), "localhost"));
    check_works(server, server.uri("verify=none"));
    check_works(server, server.uri(file("ca_file", "other_ca.pem") + "&verify=none"));
    const std::string untrusted =
        "the certificate of 127.0.0.1 is not signed by a trusted authority";
    check_does_not(server.uri(file("ca_file", "other_ca.pem")),
                   {untrusted + " of ca_file " + all_certificates().path("other_ca.pem")});
    // The authority is unknown to this machine.
    check_does_not(server.uri(), {untrusted + ": name the authority's certificate in ca_file"});
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_rejected) {
    tls_server server("expired");
    check_does_not(server.uri(file("ca_file", "ca.pem")),
                   {"the certificate of 127.0.0.1 has expired"});
    check_works(server, server.uri(file("ca_file", "ca.pem") + "&verify=none"));
}

BOOST_AUTO_TEST_CASE(a_self_signed_certificate_is_rejected_unless_trusted) {
    tls_server server("self_signed");
    check_does_not(server.uri(), {"the certificate of 127.0.0.1 is self-signed, and not trusted: "
                                  "name it in ca_file"});
    check_works(server, server.uri(file("ca_file", "self_signed.pem")));
}

BOOST_AUTO_TEST_CASE(a_certificate_must_match_the_host_or_tls_host) {
    tls_server server("elsewhere");
    for (const std::string host : {"127.0.0.1", "localhost"}) {
        check_does_not(server.uri(file("ca_file", "ca.pem"), host),
                       {"the certificate of the server is not for " + host +
                        ": use a host name that is in it"});
    }
    check_works(server, server.uri(file("ca_file", "ca.pem") + "&verify=none"));
    check_works(server, server.uri(file("ca_file", "ca.pem") + "&tls_host=elsewhere.example"));
    check_does_not(server.uri(file("ca_file", "ca.pem") + "&tls_host=nowhere.example"),
                   {"the certificate of the server is not for nowhere.example"});
}

// Sentinels report an IP address, which the certificate does not contain.
BOOST_AUTO_TEST_CASE(tls_host_verifies_a_master_that_is_named_by_address, *label("fault-68")) {
    tls_server server("elsewhere");
    fake_sentinel sentinel;
    sentinel.name(server.port());
    const std::string uri = "rediss+sentinel://" + sentinel.host_and_port() +
                            "/mymaster?sentinel_tls=no&" + file("ca_file", "ca.pem");
    check_works(server, uri + "&tls_host=elsewhere.example");
    instance_rig rig(uri);
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] {
        return contains(rig.status().reason,
                        "the certificate of the server is not for 127.0.0.1: use a host name that "
                        "is in it, or name one with tls_host");
    });
}

// The errors for a Sentinel without TLS and for a silent one differ.
BOOST_AUTO_TEST_CASE(a_sentinel_without_tls_is_reported, *label("fault-68")) {
    const fake_sentinel sentinel;
    auto settings = quick_settings();
    settings.connection.connect_timeout = 300ms;
    instance_rig rig("rediss+sentinel://" + sentinel.host_and_port() + "/mymaster", settings);
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return !rig.status().nodes.front().reason.empty(); });
    BOOST_TEST(contains(rig.status().reason, sentinel.host_and_port()), rig.status().reason);
}

namespace {

/// Returns the host name that the client sends in a TLS handshake.
std::string host_asked_for(const std::string& host) {
    asio::io_context context;
    asio::ssl::context tls(asio::ssl::context::tls_server);
    tls.use_certificate_chain_file(all_certificates().path("server.pem"));
    tls.use_private_key_file(all_certificates().path("server.key"), asio::ssl::context::pem);
    const reserved_port port;
    asio::ip::tcp::acceptor acceptor(context);
    acceptor.open(asio::ip::tcp::v4());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind({asio::ip::address_v4::loopback(), port.number()});
    acceptor.listen();
    std::string result;
    std::atomic<bool> done{false};
    const std::jthread server([&] {
        {
            boost::system::error_code failure;
            asio::ip::tcp::socket socket(context);
            acceptor.accept(socket, failure);
            asio::ssl::stream<asio::ip::tcp::socket> stream(std::move(socket), tls);
            stream.handshake(asio::ssl::stream_base::server, failure);
            const char* const name =
                ::SSL_get_servername(stream.native_handle(), TLSEXT_NAMETYPE_host_name);
            result = failure ? failure.message() : name == nullptr ? "none" : name;
        }
        done = true;  // By then the server has no socket that the meter could count.
    });
    {
        instance_rig rig("rediss://" + host + ":" + std::to_string(port.number()) + "?verify=none");
        const meter costs(rig.executor(), loop_may_rest);
        const auto end = steady_clock::now() + 10s;
        rig.run_until([&] { return done || steady_clock::now() > end; }, BOOST_CURRENT_LOCATION,
                      20s);
    }
    ::shutdown(acceptor.native_handle(), SHUT_RDWR);  // Ends the accept if no client has connected.
    return done ? result : "nobody has come";
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_host_is_named_in_the_handshake) {
    BOOST_TEST(host_asked_for("localhost") == "localhost");
    BOOST_TEST(host_asked_for("127.0.0.1") == "none");
}

// RFC 6066, section 3: the host name is sent "without a trailing dot". Certificates have none either.
BOOST_AUTO_TEST_CASE(a_trailing_dot_is_not_part_of_the_tls_host_name) {
    BOOST_TEST(host_asked_for("localhost.") == "localhost");
    tls_server server("server");
    check_works(server, server.uri(file("ca_file", "ca.pem"), "localhost."));
    tls_server elsewhere("elsewhere");
    const std::string ca = file("ca_file", "ca.pem");
    check_works(elsewhere, elsewhere.uri(ca + "&tls_host=elsewhere.example."));
    check_does_not(elsewhere.uri(ca, "localhost."),
                   {"the certificate of the server is not for localhost: use a host name"});
    for (const std::string nothing_else : {".", ".."}) {
        check_does_not(elsewhere.uri(ca + "&tls_host=" + nothing_else),
                       {"the certificate of the server is not for .:"});
    }
}

BOOST_AUTO_TEST_CASE(a_sentinel_may_name_a_host_with_a_trailing_dot, *label("fault-68")) {
    tls_server server("server");
    fake_sentinel sentinel;
    sentinel.name_host("localhost.");
    sentinel.name(server.port());
    check_works(server, "rediss+sentinel://" + sentinel.host_and_port() +
                            "/mymaster?sentinel_tls=no&" + file("ca_file", "ca.pem"));
}

namespace {

/// Performs a handshake inside this process with the certificate `server.pem`. The address is as in a URI or
/// a cluster map. Returns the host name that the client sends, or the reason for the failure.
std::string handshake_with(const std::string& host) {
    using colock::instance::redis::address;
    asio::ssl::context accepting(asio::ssl::context::tls_server);
    accepting.use_certificate_chain_file(all_certificates().path("server.pem"));
    accepting.use_private_key_file(all_certificates().path("server.key"), asio::ssl::context::pem);
    address common;
    common.tls = true;
    common.tls_ca_file = all_certificates().path("ca.pem");
    const address to = common.at(host, "7001");
    colock::instance::redis::tls_contexts contexts;
    const auto connecting = contexts.of(to);
    const auto make_end = [](asio::ssl::context& of) {
        return std::unique_ptr<SSL, void (*)(SSL*)>(::SSL_new(of.native_handle()), &::SSL_free);
    };
    const auto client = make_end(*connecting);
    const auto server = make_end(accepting);
    BIO* client_side = nullptr;
    BIO* server_side = nullptr;
    ::BIO_new_bio_pair(&client_side, 0, &server_side, 0);
    ::SSL_set_bio(client.get(), client_side, client_side);
    ::SSL_set_bio(server.get(), server_side, server_side);
    ::SSL_set_connect_state(client.get());
    ::SSL_set_accept_state(server.get());
    ::ERR_clear_error();
    if (const auto failure = colock::instance::redis::name_host(client.get(), to)) {
        return "refused";
    }
    for (int i = 0; i != 10; ++i) {
        ::SSL_do_handshake(client.get());
        ::SSL_do_handshake(server.get());
    }
    ::ERR_clear_error();
    if (::SSL_is_init_finished(client.get()) == 0) {
        return colock::instance::redis::explain_tls_failure(client.get(), {}, to);
    }
    const char* const name = ::SSL_get_servername(server.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? "none" : name;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_form_of_a_host_is_checked_against_the_certificate) {
    BOOST_TEST(handshake_with("localhost") == "localhost");
    BOOST_TEST(handshake_with("localhost.") == "localhost");
    BOOST_TEST(handshake_with("LOCALHOST.") == "LOCALHOST");
    BOOST_TEST(handshake_with("127.0.0.1") == "none");
    const std::string not_for = "the certificate of the server is not for ";
    for (const std::string other :
         {"127.0.0.2", "elsewhere.example", "localhost..", ".", "::1", "fe80::1"}) {
        const std::string shown = other == "localhost.." ? "localhost." : other;
        BOOST_TEST(handshake_with(other).starts_with(not_for + shown + ":"), handshake_with(other));
    }
    // A zone is only for routing, and no certificate contains one.
    BOOST_TEST(handshake_with("fe80::1%lo").starts_with(not_for + "fe80::1:"),
               handshake_with("fe80::1%lo"));
    // OpenSSL checks nothing for an empty name.
    BOOST_TEST(handshake_with(std::string(1, '\0') + "x") == "refused");
    BOOST_TEST(handshake_with(std::string(300, 'x')) == "refused");
}

BOOST_AUTO_TEST_CASE(a_server_may_require_a_client_certificate) {
    tls_server server("server", "yes");
    const std::string ca = file("ca_file", "ca.pem");
    check_works(server, server.uri(ca + "&" + file("cert_file", "client.pem") + "&" +
                                   file("key_file", "client.key")));
    // With TLS 1.3 the refusal comes after the handshake, as an alert or as the end of the connection.
    check_does_not(server.uri(ca), {"the server wants a certificate of its client: name one in "
                                    "cert_file and key_file"});
}

BOOST_AUTO_TEST_CASE(a_mismatch_of_tls_and_plain_ports_is_reported) {
    tls_server server("server");
    auto settings = quick_settings();
    settings.connection.connect_timeout = 300ms;
    instance_rig tls_to_plain(
        "rediss://127.0.0.1:" + std::to_string(server.plain().port()) + "?verify=none", settings);
    const std::string not_tls = tls_to_plain.run_until_down();
    BOOST_TEST(contains(not_tls, "the URI of a server without TLS begins with redis://"), not_tls);
    const std::string uri = server.uri();
    instance_rig plain_to_tls("redis://" + uri.substr(9), settings);
    const std::string is_tls = plain_to_tls.run_until_down();
    BOOST_TEST(contains(is_tls, "the URI of a server with TLS begins with rediss://"), is_tls);
}

BOOST_AUTO_TEST_CASE(a_tls_connection_is_reestablished_after_client_kill) {
    tls_server server("server");
    instance_rig rig(server.uri(file("ca_file", "ca.pem")));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    const auto changes = rig.state_changes();
    server.plain().command({"CLIENT", "KILL", "TYPE", "normal"});
    rig.run_until([&] { return rig.state_changes() > changes; });
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

namespace {

/// A copy of these files, concatenated, that a test may change.
class changing_file {
public:
    explicit changing_file(const strings& names) { write(names); }

    void write(const strings& names) const {
        const std::string next = path() + ".next";
        {
            std::ofstream to(next);
            for (const std::string& one : names) {
                to << std::ifstream(all_certificates().path(one)).rdbuf();
            }
        }
        std::filesystem::rename(next, path());
    }

    void remove() const { std::filesystem::remove(path()); }
    [[nodiscard]] std::string path() const { return (folder_.path() / "file.pem").string(); }

private:
    temporary_folder folder_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(files_are_parsed_again_if_they_have_changed, *label("fault-102")) {
    using colock::instance::redis::address;
    const changing_file ca({"ca.pem"});
    address to;
    to.tls = true;
    to.tls_ca_file = ca.path();
    colock::instance::redis::tls_contexts contexts;
    const auto first = contexts.of(to);
    address of_another_server = to;
    of_another_server.host = "another";
    BOOST_TEST(contexts.of(of_another_server) == first);
    address unverified = to;
    unverified.tls_verify = false;
    BOOST_TEST(contexts.of(unverified) != first);
    BOOST_TEST(contexts.of(to) == first);
    ca.write({"other_ca.pem"});
    const auto second = contexts.of(to);
    BOOST_TEST(second != first);
    ca.remove();
    BOOST_CHECK_THROW(contexts.of(to), colock::instance::redis::address_error);
    BOOST_CHECK_THROW(contexts.of(to), colock::instance::redis::address_error);
    ca.write({"other_ca.pem"});
    BOOST_TEST(contexts.of(to) != second);
    address usual;  // The authorities that this machine trusts.
    usual.tls = true;
    BOOST_TEST(contexts.of(usual) == contexts.of(usual));
}

BOOST_AUTO_TEST_CASE(a_replaced_file_is_used_by_the_next_connection, *label("fault-102")) {
    tls_server server("server");
    const changing_file ca({"other_ca.pem"});
    instance_rig rig(server.uri("ca_file=" + ca.path()));
    const meter costs(rig.executor());
    BOOST_TEST(contains(rig.run_until_down(), "is not signed by a trusted authority"));
    ca.write({"ca.pem"});
    rig.run_until_ready();
    const auto changes = rig.state_changes();
    ca.write({"other_ca.pem"});
    server.plain().command({"CLIENT", "KILL", "TYPE", "normal"});
    rig.run_until([&] { return rig.state_changes() > changes && !rig.subject().ready(); });
    rig.run_until([&] { return contains(rig.status().reason, "not signed by a trusted"); });
}

/// A defect made each attempt to connect parse the file before it failed.
BOOST_AUTO_TEST_CASE(no_file_is_read_before_the_server_accepts, *label("fault-102")) {
    const reserved_port nobody;
    const changing_file ca({"ca.pem"});
    const changing_file password({"ca.pem"});
    instance_rig rig("rediss://127.0.0.1:" + std::to_string(nobody.number()) +
                     "?ca_file=" + ca.path() + "&password_file=" + password.path());
    const meter costs(rig.executor(), loop_may_rest);
    ca.remove();
    password.remove();
    BOOST_TEST(rig.run_until_down() == "Connection refused");
}

/// A defect made the failing servers block the event loop.
BOOST_AUTO_TEST_CASE(failing_servers_do_not_delay_the_others, *label("fault-102")) {
    const changing_file large(strings(300, "ca.pem"));
    const reserved_port nobody;
    tls_server untrusted("self_signed");
    const redis_server server;
    run_test([](std::string ca, std::uint16_t refusing, std::uint16_t accepting,
                std::string uri) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const meter costs(executor);
        colock::config bad;
        bad.reconnect_initial = bad.reconnect_maximum = 5ms;
        bad.instances.push_back("rediss://127.0.0.1:" + std::to_string(accepting) +
                                "?ca_file=" + ca);
        for (int i = 1; i != 20; ++i) {
            bad.instances.push_back("rediss://127.0.0." + std::to_string(i) + ":" +
                                    std::to_string(refusing) + "?ca_file=" + ca);
        }
        colock::client beside(executor, bad);
        colock::config good;
        good.restart_quarantine = 0ms;
        good.instances = {uri};
        colock::client locks(executor, good);
        colock::mutex mutex(locks, "k");
        for (int i = 0; i != 200; ++i) {
            colock::lease held = co_await mutex.acquire();
            BOOST_TEST((co_await held.release() == colock::release_result::released));
        }
        co_await locks.close();
        co_await beside.close();
    }(large.path(), nobody.number(), untrusted.port(), server.uri()));
}

namespace {

/// Returns the error of a client with this configuration.
std::string error_of(const std::string& uri) {
    asio::io_context context;
    try {
        const colock::client client(context, colock::config::from_uris({uri}));
    } catch (const colock::config_error& e) {
        BOOST_TEST(e.field() == "instances[0]");
        return e.what();
    }
    return "no error";
}

}  // namespace

BOOST_AUTO_TEST_CASE(unusable_files_are_configuration_errors) {
    const auto path = [](const std::string& name) { return all_certificates().path(name); };
    const std::string client = file("cert_file", "client.pem");
    const std::vector<std::pair<std::string, std::string>> bad{
        {file("ca_file", "none.pem"),
         "ca_file " + path("none.pem") + " cannot be read (No such file or directory)"},
        {file("ca_file", "client.key"), "ca_file " + path("client.key") + " cannot be used"},
        {client, "cert_file " + path("client.pem") + " is given without key_file"},
        {file("key_file", "client.key"),
         "key_file " + path("client.key") + " is given without cert_file"},
        {file("cert_file", "none.pem") + "&" + file("key_file", "client.key"),
         "cert_file " + path("none.pem") + " cannot be read"},
        {file("cert_file", "client.key") + "&" + file("key_file", "client.key"),
         "cert_file " + path("client.key") + " cannot be used"},
        {client + "&" + file("key_file", "none.key"),
         "key_file " + path("none.key") + " cannot be read"},
        {client + "&" + file("key_file", "client.pem"),
         "key_file " + path("client.pem") + " cannot be used"},
        {client + "&" + file("key_file", "server.key"),
         "key_file " + path("server.key") + " is not the key of the certificate in cert_file"},
        {client + "&" + file("key_file", "locked.key"),  // There is no passphrase.
         "key_file " + path("locked.key") + " cannot be used"},
    };
    for (const auto& [parameters, reason] : bad) {
        const std::string text = error_of("rediss://127.0.0.1:1?" + parameters);
        BOOST_TEST(contains(text, reason), parameters + ": " + text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
