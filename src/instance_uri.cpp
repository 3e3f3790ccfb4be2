#include "instance_uri.hpp"

#include <colock/error.hpp>

#include <boost/url/grammar/ci_string.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <sys/un.h>

#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

namespace colock {
namespace {

namespace urls = boost::urls;
using instance::redis::address;

constexpr std::string_view expected =
    "redis://[user[:password]@]host[:port][/database], rediss://..., "
    "unix:///path[?db=&user=&password=] or memory://name";

/// Behind what is wrong with a URI, which may be the rest of a password.
constexpr std::string_view escape_hint =
    " (is there a password in it? Special characters are written %40 for @, %3A for :, %2F for /, "
    "%3F for ?, %23 for #, %25 for %)";

/// As users know it.
constexpr std::string_view redis_parameters = "password_file or password_env";
constexpr std::string_view rediss_parameters =
    "ca_file, cert_file, key_file, password_file, password_env, verify=peer or verify=none";
constexpr std::string_view unix_parameters = "db, user, password, password_file or password_env";

/// What a socket's address has room for, without the zero at its end.
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

/// Schemes and host names do not tell upper from lower case.
std::string lower_case(std::string_view text) {
    std::string result;
    for (const char c : text) {
        result += urls::grammar::to_lower(c);
    }
    return result;
}

/// A parser of one URI, which knows what to say when something is wrong with it.
class uri_parser {
public:
    uri_parser(std::string field, urls::url_view url) : field_(std::move(field)), url_(url) {}

    instance_address parse() {
        const std::string scheme = lower_case(url_.scheme());
        if (url_.has_fragment()) {
            fail("its fragment" + hint(), "no fragment");
        }
        if (scheme == "memory") {
            return parse_memory();
        }
        if (scheme == "unix") {
            return parse_unix();
        }
        if (scheme == "redis" || scheme == "valkey") {
            return parse_redis(scheme, false);
        }
        if (scheme == "rediss" || scheme == "valkeys") {
            return parse_redis(scheme, true);
        }
        fail("the scheme '" + scheme + "'", "redis, rediss, valkey, valkeys, unix or memory");
    }

private:
    [[noreturn]] void fail(const std::string& what, std::string_view allowed) const {
        throw config_error(field_, what, std::string(allowed));
    }

    /// `what` with the text that is wrong, for an error; without it if it may be the rest of a
    /// password with a character that should have been percent-encoded.
    [[nodiscard]] std::string show(std::string_view what, std::string_view text) const {
        const std::string how_to_escape = hint();
        return how_to_escape.empty() ? std::string(what) + " '" + std::string(text) + "'"
                                     : std::string(what) + how_to_escape;
    }

    /// How to escape a password, if what is wrong may be the rest of one.
    [[nodiscard]] std::string hint() const {
        const bool cut_password = url_.encoded_resource().find('@') != std::string_view::npos ||
                                  url_.encoded_fragment().find('@') != std::string_view::npos;
        return std::string(cut_password ? escape_hint : std::string_view());
    }

    /// A plus is one, and no space as in what a form sends.
    [[nodiscard]] urls::params_view parameters() const {
        return url_.params(urls::encoding_opts(/*space_as_plus=*/false));
    }

    /// In its one normal form.
    [[nodiscard]] std::string ipv6_host() const {
        const std::string zone = url_.zone_id();
        return url_.host_ipv6_address().to_string() + (zone.empty() ? "" : "%" + zone);
    }

    memory_address parse_memory() const {
        if (url_.host().empty() || url_.has_userinfo() || url_.has_port() || !url_.path().empty() ||
            url_.has_query()) {
            fail("what comes with its name", "memory://name, a name and nothing else");
        }
        return {url_.host()};
    }

    address parse_unix() const {
        address result;
        result.unix_path = url_.path();
        if (!result.unix_path.starts_with('/') || result.unix_path.size() < 2 ||
            result.unix_path.find('\0') != std::string::npos || !url_.encoded_authority().empty()) {
            fail("its path", "unix:///absolute/path/of/socket");
        }
        if (result.unix_path.size() > longest_socket_path) {
            fail("its path, which is too long,",
                 "at most " + std::to_string(longest_socket_path) + " bytes");
        }
        for (const auto& parameter : parameters()) {
            if (parameter.key == "db") {
                result.database = parse_database(parameter.value);
            } else if (parameter.key == "user") {
                result.user = parameter.value;
            } else if (parameter.key == "password") {
                result.password = parameter.value;
            } else if (!parse_password_parameter(parameter, result)) {
                fail(show("the parameter", parameter.key), unix_parameters);
            }
        }
        check_password(result);
        result.display = "unix://" + result.unix_path + database_suffix(result, "?db=");
        return result;
    }

    address parse_redis(const std::string& scheme, bool tls) const {
        address result;
        result.tls = tls;
        const bool is_ipv6 = url_.host_type() == urls::host_type::ipv6;
        result.host = is_ipv6 ? ipv6_host() : url_.host_address();
        if (result.host.empty()) {
            fail("its host, which is empty,", "a host name or address");
        }
        if (result.host.find('\0') != std::string::npos) {
            fail("its host, with a zero byte,", "a host name or address");
        }
        parse_port(result);
        if (url_.has_userinfo()) {
            result.user = url_.user();
            result.password = url_.password();
        }
        const std::string path = url_.path();
        if (path.size() > 1) {
            result.database = parse_database(std::string_view(path).substr(1));
        }
        parse_redis_parameters(result);
        check_password(result);
        result.display = scheme + "://" + (is_ipv6 ? "[" + result.host + "]" : url_.host()) + ":" +
                         result.port + database_suffix(result, "/");
        return result;
    }

    void parse_port(address& result) const {
        if (!url_.has_port()) {
            return;
        }
        if (url_.port_number() == 0) {
            fail(show("the port", url_.port()), "a port from 1 to 65535");
        }
        result.port = std::to_string(url_.port_number());
    }

    void parse_redis_parameters(address& result) const {
        for (const auto& parameter : parameters()) {
            if (parse_password_parameter(parameter, result)) {
                continue;
            }
            if (!result.tls) {
                fail(show("the parameter", parameter.key),
                     std::string(redis_parameters) + " (TLS files go with rediss://)");
            } else if (parameter.key == "ca_file") {
                result.tls_ca_file = parameter.value;
            } else if (parameter.key == "cert_file") {
                result.tls_cert_file = parameter.value;
            } else if (parameter.key == "key_file") {
                result.tls_key_file = parameter.value;
            } else if (parameter.key == "verify" &&
                       (parameter.value == "peer" || parameter.value == "none")) {
                result.tls_verify = parameter.value == "peer";
            } else {
                fail(show("the parameter", parameter.key), rediss_parameters);
            }
        }
    }

    /// Whether it is one.
    bool parse_password_parameter(const urls::param& parameter, address& result) const {
        if (parameter.key != "password_file" && parameter.key != "password_env") {
            return false;
        }
        if (parameter.value.empty()) {
            fail("an empty " + parameter.key, "the name of a file, or of an environment variable");
        }
        (parameter.key == "password_file" ? result.password_file : result.password_env) =
            parameter.value;
        return true;
    }

    void check_password(const address& a) const {
        const int given = (a.password.empty() ? 0 : 1) + (a.password_file.empty() ? 0 : 1) +
                          (a.password_env.empty() ? 0 : 1);
        if (given > 1) {
            fail("more than one password",
                 "one of a password in the URI, password_file and password_env");
        }
    }

    [[nodiscard]] int parse_database(std::string_view text) const {
        int number = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
        if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number < 0) {
            fail(show("the database", text), "a number from 0");
        }
        return number;
    }

    static std::string database_suffix(const address& a, std::string_view separator) {
        return a.database == 0 ? std::string()
                               : std::string(separator) + std::to_string(a.database);
    }

    std::string field_;
    urls::url_view url_;
};

}  // namespace

instance_address parse_instance_uri(const std::string& field, std::string_view uri) {
    const auto parsed = urls::parse_uri(uri);
    if (!parsed) {
        // It may hold a password: do not repeat it.
        const bool may_hold_password = uri.find('@') != std::string_view::npos;
        throw config_error(
            field,
            uri.empty() ? "an empty string"
                        : "a malformed URI" +
                              std::string(may_hold_password ? escape_hint : std::string_view()),
            std::string(expected));
    }
    return uri_parser(field, *parsed).parse();
}

std::string identity_of(const instance_address& address) {
    if (const auto* memory = std::get_if<memory_address>(&address)) {
        return "memory://" + memory->name;
    }
    // Without the database: two databases of one server stand and fall together.
    const auto& server = std::get<instance::redis::address>(address);
    if (!server.unix_path.empty()) {
        return server.unix_path;
    }
    return lower_case(server.host) + ":" + server.port;
}

}  // namespace colock
