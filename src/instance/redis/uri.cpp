// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/uri.hpp"

#include <boost/url/grammar/ci_string.hpp>
#include <boost/url/ipv6_address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::instance::redis {
namespace {

namespace urls = boost::urls;

constexpr std::string_view uri_forms =
    "redis://[user[:password]@]host[:port][/database], rediss://..., "
    "redis+sentinel://[user:password@]host[:port],.../master-name[/database], "
    "redis+cluster://[user:password@]host[:port],..., "
    "unix:///path[?db=&user=&password=] and memory://name";

/// Appended to a problem that may be caused by an unescaped password.
constexpr std::string_view escape_hint =
    " (is there a password in it? Special characters are written %40 for @, %3A for :, %2F for /, "
    "%3F for ?, %23 for #, %25 for %, %26 for &)";

/// The parameters in error texts.
constexpr std::string_view server_parameters = "password_file, password_env, replicas_acked";
constexpr std::string_view tls_parameters = "ca_file, cert_file, key_file, tls_host, verify";
constexpr std::string_view tls_names[] = {"ca_file", "cert_file", "key_file", "tls_host", "verify"};
constexpr std::string_view sentinel_parameters =
    "sentinel_user, sentinel_password, sentinel_password_file, sentinel_password_env";
constexpr std::string_view unix_parameters = "db, user, password";

/// How the client reaches an instance, from its URI's scheme.
struct scheme {
    std::string_view name;
    enum class kind_type { server, sentinel, cluster, unix_socket, memory } kind;
    bool tls;
};
constexpr scheme schemes[] = {
    {"redis", scheme::kind_type::server, false},
    {"rediss", scheme::kind_type::server, true},
    {"valkey", scheme::kind_type::server, false},
    {"valkeys", scheme::kind_type::server, true},
    {"redis+sentinel", scheme::kind_type::sentinel, false},
    {"rediss+sentinel", scheme::kind_type::sentinel, true},
    {"valkey+sentinel", scheme::kind_type::sentinel, false},
    {"valkeys+sentinel", scheme::kind_type::sentinel, true},
    {"redis+cluster", scheme::kind_type::cluster, false},
    {"rediss+cluster", scheme::kind_type::cluster, true},
    {"valkey+cluster", scheme::kind_type::cluster, false},
    {"valkeys+cluster", scheme::kind_type::cluster, true},
    {"unix", scheme::kind_type::unix_socket, false},
    {"memory", scheme::kind_type::memory, false},
};

/// The longest path that fits in a socket address, without the terminating zero.
constexpr std::size_t longest_socket_path = sizeof(sockaddr_un::sun_path) - 1;

/// Returns the text in lower case. Schemes and host names are case-insensitive.
std::string lower_case(std::string_view text) {
    std::string result;
    for (const char c : text) {
        result += urls::grammar::to_lower(c);
    }
    return result;
}

bool is_digit(char c) {
    return '0' <= c && c <= '9';
}

std::string list_of_schemes() {
    std::string result;
    for (const scheme& one : schemes) {
        const bool is_last = &one == std::end(schemes) - 1;
        result += (result.empty() ? "" : is_last ? " and " : ", ") + std::string(one.name);
    }
    return result;
}

/// Splits a URI with several hosts, separated by commas, into a URI with the first host and the list of the
/// others.
struct split_uri {
    explicit split_uri(std::string_view uri) : with_first(uri) {
        const std::size_t scheme_end = uri.find("://");
        if (scheme_end == std::string_view::npos ||
            uri.substr(0, scheme_end).find('+') == std::string_view::npos) {
            return;
        }
        const std::size_t begin = scheme_end + 3;
        const std::size_t end = std::min(uri.find_first_of("/?#", begin), uri.size());
        const std::size_t user_end = uri.substr(0, end).rfind('@');
        const std::size_t hosts_begin =
            user_end == std::string_view::npos || user_end < begin ? begin : user_end + 1;
        std::size_t comma = uri.substr(0, end).find(',', hosts_begin);
        if (comma == std::string_view::npos) {
            return;
        }
        with_first = std::string(uri.substr(0, comma)).append(uri.substr(end));
        while (comma < end) {
            const std::size_t next = std::min(uri.substr(0, end).find(',', comma + 1), end);
            others.emplace_back(uri.substr(comma + 1, next - comma - 1));
            comma = next;
        }
    }

    std::string with_first;
    std::vector<std::string> others;
};

/// A parser of one URI. It builds the error texts.
class uri_parser {
public:
    uri_parser(urls::url_view url, std::vector<std::string> other_hosts)
        : url_(url), other_hosts_(std::move(other_hosts)) {}

    any_address parse() {
        const std::string name = lower_case(url_.scheme());
        if (url_.has_fragment()) {
            fail("the fragment" + hint() + " is not supported. Remove it");
        }
        const auto* const known = std::ranges::find(schemes, name, &scheme::name);
        if (known == std::end(schemes)) {
            fail(show("the scheme", name) + " is unknown. The schemes are " + list_of_schemes());
        }
        check_parameters();
        switch (known->kind) {
            case scheme::kind_type::memory:
                return parse_memory();
            case scheme::kind_type::unix_socket:
                return parse_unix();
            case scheme::kind_type::sentinel:
                return parse_sentinel(*known);
            case scheme::kind_type::cluster:
                return parse_cluster(*known);
            case scheme::kind_type::server:
                break;
        }
        return parse_redis(*known);
    }

private:
    [[noreturn]] void fail(const std::string& problem) const { throw uri_error(problem); }

    /// Returns `what` with the wrong text, for an error. Leaves the text out if it may be part of an
    /// unescaped password.
    [[nodiscard]] std::string show(std::string_view what, std::string_view text) const {
        const std::string how_to_escape = hint();
        return how_to_escape.empty() ? std::string(what) + " '" + std::string(text) + "'"
                                     : std::string(what) + how_to_escape;
    }

    /// Returns how to escape a password, if the wrong text may be part of one.
    [[nodiscard]] std::string hint() const {
        const std::string_view query = url_.encoded_query();
        const auto parameter = query.find("password=");
        const bool cut_password = url_.encoded_resource().find('@') != std::string_view::npos ||
                                  url_.encoded_fragment().find('@') != std::string_view::npos ||
                                  (parameter != std::string_view::npos &&
                                   query.find('&', parameter) != std::string_view::npos);
        return std::string(cut_password ? escape_hint : std::string_view());
    }

    /// Returns the query parameters. A plus is not decoded as a space.
    [[nodiscard]] urls::params_view parameters() const {
        return url_.params(urls::encoding_opts(/*space_as_plus=*/false));
    }

    /// Rejects duplicate parameters, because the last one would win silently.
    void check_parameters() const {
        std::set<std::string> seen;
        for (const auto& parameter : parameters()) {
            if (!seen.insert(parameter.key).second) {
                fail(show("the parameter", parameter.key) +
                     " is given twice. Remove one of the two");
            }
        }
    }

    /// Returns the host in its normal form.
    static std::string ipv6_host(urls::url_view of) {
        const std::string zone = of.zone_id();
        return of.host_ipv6_address().to_string() + (zone.empty() ? "" : "%" + zone);
    }

    memory_address parse_memory() const {
        if (url_.host().empty()) {
            fail("invalid memory:// URI: the name is missing (expected memory://name)");
        }
        if (url_.has_userinfo() || url_.has_port() || !url_.path().empty() || url_.has_query()) {
            fail("invalid memory:// URI: user, port, path and query are not supported (expected "
                 "memory://name)");
        }
        return {url_.host()};
    }

    address parse_unix() const {
        address result;
        result.unix_path = url_.path();
        if (!url_.encoded_authority().empty()) {
            fail("invalid unix:// URI: user, host and port are not supported (expected "
                 "unix:///path/of/socket)");
        }
        if (!result.unix_path.starts_with('/') || result.unix_path.size() < 2) {
            fail("invalid unix:// URI: the path is empty or not absolute (expected "
                 "unix:///path/of/socket)");
        }
        if (result.unix_path.find('\0') != std::string::npos) {
            fail("invalid unix:// URI: the path contains a zero byte. Remove it");
        }
        if (result.unix_path.size() > longest_socket_path) {
            fail("invalid unix:// URI: the path has " + std::to_string(result.unix_path.size()) +
                 " bytes, which is too long for a socket (at most " +
                 std::to_string(longest_socket_path) + ")");
        }
        for (const auto& parameter : parameters()) {
            if (parameter.key == "db") {
                result.database = parse_database(parameter.value);
            } else if (parameter.key == "user") {
                result.user = parameter.value;
            } else if (parameter.key == "password") {
                result.password = parameter.value;
            } else if (!parse_server_parameter(parameter, result)) {
                fail_unknown(parameter, "unix",
                             std::string(unix_parameters) + ", " + std::string(server_parameters));
            }
        }
        check_password(result);
        result.display = "unix://" + result.unix_path + database_suffix(result, "?db=");
        return result;
    }

    address parse_redis(const scheme& as) const {
        address result = parse_login(as);
        std::tie(result.host, result.port) = parse_host(url_, "6379");
        const std::string path = url_.path();
        if (path.size() > 1) {
            result.database = parse_database(std::string_view(path).substr(1));
        }
        for (const auto& parameter : parameters()) {
            if (!parse_server_parameter(parameter, result)) {
                fail_parameter(parameter, as);
            }
        }
        check_password(result);
        result.display = std::string(as.name) + "://" + endpoint_text(result.host, result.port) +
                         database_suffix(result, "/");
        return result;
    }

    sentinel_address parse_sentinel(const scheme& as) const {
        sentinel_address result;
        result.master = parse_login(as);
        parse_master_name(result);
        address sentinel;
        sentinel.tls = as.tls;
        for (const auto& parameter : parameters()) {
            const bool of_server = parse_server_parameter(parameter, result.master);
            if (!of_server && !parse_sentinel_parameter(parameter, as, sentinel)) {
                fail_parameter(parameter, as);
            }
        }
        check_password(result.master);
        check_password(sentinel);
        if (sentinel.tls) {
            sentinel.tls_verify = result.master.tls_verify;
            sentinel.tls_ca_file = result.master.tls_ca_file;
            sentinel.tls_cert_file = result.master.tls_cert_file;
            sentinel.tls_key_file = result.master.tls_key_file;
        }
        result.sentinels = parse_hosts(sentinel, "26379");
        result.display = std::string(as.name) + "://" + list_of(result.sentinels) + "/" +
                         result.master_name + database_suffix(result.master, "/");
        return result;
    }

    cluster_address parse_cluster(const scheme& as) const {
        address seed = parse_login(as);
        if (const std::string path = url_.path(); path.size() > 1 && path != "/0") {
            fail(show("the database", std::string_view(path).substr(1)) +
                 " is not supported, a cluster has only database 0. Remove it");
        }
        for (const auto& parameter : parameters()) {
            if (!parse_server_parameter(parameter, seed)) {
                fail_parameter(parameter, as);
            }
        }
        check_password(seed);
        cluster_address result;
        result.seeds = parse_hosts(seed, "6379");
        result.display = std::string(as.name) + "://" + list_of(result.seeds);
        return result;
    }

    [[nodiscard]] address parse_login(const scheme& as) const {
        address result;
        result.tls = as.tls;
        if (url_.has_userinfo()) {
            result.user = url_.user();
            result.password = url_.password();
        }
        return result;
    }

    /// Returns the host and the port of a URI.
    [[nodiscard]] std::pair<std::string, std::string> parse_host(
        urls::url_view of, std::string_view default_port) const {
        std::string host = of.host_type() == urls::host_type::ipv6 ? ipv6_host(of)
                                                                   : std::string(of.host_address());
        if (host.empty()) {
            fail("the host is empty. Write a host name or an address");
        }
        if (host.find('\0') != std::string::npos) {
            fail("the host contains a zero byte. Write a host name or an address");
        }
        if (host.find(',') != std::string::npos) {
            fail("a list of hosts is not supported with this scheme. Write one host, or use "
                 "redis+sentinel:// or redis+cluster://");
        }
        if (!of.has_port()) {
            return {std::move(host), std::string(default_port)};
        }
        if (of.port_number() == 0) {
            fail(show("the port", of.port()) + " is out of range (1 to 65535)");
        }
        return {std::move(host), std::to_string(of.port_number())};
    }

    /// Returns an address for each host of the list. Its other members are those of `common`.
    [[nodiscard]] std::vector<address> parse_hosts(const address& common,
                                                   std::string_view default_port) const {
        std::vector<address> result;
        const auto add = [&](urls::url_view of) {
            const auto [host, port] = parse_host(of, default_port);
            result.push_back(common.at(host, port));
            const auto last = std::prev(result.end());
            if (std::ranges::any_of(result.begin(), last, [&](const address& other) {
                    return place_of(other) == place_of(*last);
                })) {
                fail("the host " + endpoint_text(host, port) +
                     " is given twice. Remove one of the two");
            }
        };
        add(url_);
        for (const std::string& other : other_hosts_) {
            const std::string uri = "redis://" + other;
            const auto parsed = urls::parse_uri(uri);
            if (!parsed) {
                fail("a host in the list is malformed" + hint() +
                     ". Write host[:port],host[:port]");
            }
            add(*parsed);
        }
        return result;
    }

    static std::string list_of(const std::vector<address>& hosts) {
        std::string result;
        for (const address& one : hosts) {
            result += (result.empty() ? "" : ",") + endpoint_text(one.host, one.port);
        }
        return result;
    }

    /// Parses `/master-name[/database]`.
    void parse_master_name(sentinel_address& result) const {
        const auto segments = url_.segments();
        auto segment = segments.begin();
        if (segment == segments.end() || (*segment).empty() ||
            (*segment).find('\0') != std::string::npos) {
            fail("the path names no master. Write /master-name[/database] after the hosts");
        }
        result.master_name = *segment;
        if (++segment != segments.end() && !(*segment).empty()) {
            result.master.database = parse_database(*segment);
        }
        if (segment != segments.end() && ++segment != segments.end()) {
            fail("the path has more than two parts. Write /master-name[/database]");
        }
    }

    /// Fails for a parameter that this scheme does not have, or whose value is wrong.
    [[noreturn]] void fail_parameter(const urls::param& parameter, const scheme& as) const {
        const bool is_sentinel = as.kind == scheme::kind_type::sentinel;
        const bool is_of_tls = std::ranges::find(tls_names, parameter.key) != std::end(tls_names) ||
                               (is_sentinel && parameter.key == "sentinel_tls");
        if (is_of_tls && as.tls) {
            fail_value(parameter);
        }
        if (is_of_tls) {
            std::string with_tls(as.name);
            with_tls.insert(std::min(with_tls.find('+'), with_tls.size()), 1, 's');
            fail(show("the parameter", parameter.key) + " requires TLS. Use " + with_tls + "://");
        }
        fail_unknown(parameter, as.name,
                     std::string(server_parameters)
                         .append(is_sentinel ? ", " : "")
                         .append(is_sentinel ? sentinel_parameters : std::string_view())
                         .append(is_sentinel && as.tls ? ", sentinel_tls" : "")
                         .append(as.tls ? ", " : "")
                         .append(as.tls ? tls_parameters : std::string_view()));
    }

    [[noreturn]] void fail_value(const urls::param& parameter) const {
        if (parameter.key == "tls_host") {
            fail("the parameter 'tls_host' is empty. Set it to a host name in the certificate");
        }
        fail(show(parameter.key, parameter.value) + " is not supported (" +
             (parameter.key == "verify" ? "peer or none)" : "yes or no)"));
    }

    [[noreturn]] void fail_unknown(const urls::param& parameter, std::string_view scheme_name,
                                   const std::string& known) const {
        fail(show("the parameter", parameter.key)
                 .append(" is unknown. The parameters of ")
                 .append(scheme_name)
                 .append(":// are ")
                 .append(known));
    }

    /// Parses a parameter that every server has. Returns whether it is one.
    bool parse_server_parameter(const urls::param& parameter, address& result) const {
        if (parameter.key == "replicas_acked") {
            result.replicas_acked = parse_replicas(parameter.value);
            return true;
        }
        return parse_password_parameter(parameter, "", result) ||
               (result.tls && parse_tls_parameter(parameter, result));
    }

    static bool parse_tls_parameter(const urls::param& parameter, address& result) {
        if (parameter.key == "ca_file") {
            result.tls_ca_file = parameter.value;
        } else if (parameter.key == "cert_file") {
            result.tls_cert_file = parameter.value;
        } else if (parameter.key == "key_file") {
            result.tls_key_file = parameter.value;
        } else if (parameter.key == "tls_host" && !parameter.value.empty()) {
            result.tls_host = parameter.value;
        } else if (parameter.key == "verify" &&
                   (parameter.value == "peer" || parameter.value == "none")) {
            result.tls_verify = parameter.value == "peer";
        } else {
            return false;
        }
        return true;
    }

    /// Parses a parameter with credentials of the Sentinels. Returns whether it is one.
    bool parse_sentinel_parameter(const urls::param& parameter, const scheme& as,
                                  address& result) const {
        if (parameter.key == "sentinel_user") {
            result.user = parameter.value;
        } else if (parameter.key == "sentinel_password") {
            result.password = parameter.value;
        } else if (as.tls && parameter.key == "sentinel_tls" &&
                   (parameter.value == "yes" || parameter.value == "no")) {
            result.tls = parameter.value == "yes";
        } else {
            return parse_password_parameter(parameter, "sentinel_", result);
        }
        return true;
    }

    /// Parses a parameter with the location of a password. Returns whether it is one.
    bool parse_password_parameter(const urls::param& parameter, std::string_view prefix,
                                  address& result) const {
        const bool in_file = parameter.key == std::string(prefix) + "password_file";
        if (!in_file && parameter.key != std::string(prefix) + "password_env") {
            return false;
        }
        if (parameter.value.empty()) {
            fail("the parameter '" + parameter.key + "' is empty. Name " +
                 (in_file ? "a file" : "an environment variable"));
        }
        (in_file ? result.password_file : result.password_env) = parameter.value;
        return true;
    }

    [[nodiscard]] unsigned parse_replicas(std::string_view text) const {
        constexpr unsigned most = 1000;
        unsigned number = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
        if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number < 1 ||
            number > most) {
            fail(show("replicas_acked", text) + " is not a number of replicas (1 to " +
                 std::to_string(most) + ")");
        }
        return number;
    }

    void check_password(const address& a) const {
        const int given = (a.password.empty() ? 0 : 1) + (a.password_file.empty() ? 0 : 1) +
                          (a.password_env.empty() ? 0 : 1);
        if (given > 1) {
            fail("more than one password is given. Use only one of a password in the URI, "
                 "password_file and password_env");
        }
    }

    [[nodiscard]] int parse_database(std::string_view text) const {
        int number = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
        if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || number < 0) {
            fail(show("the database", text) + " is not a database number (0 to " +
                 std::to_string(std::numeric_limits<int>::max()) + ")");
        }
        return number;
    }

    static std::string database_suffix(const address& a, std::string_view separator) {
        return a.database == 0 ? std::string()
                               : std::string(separator) + std::to_string(a.database);
    }

    urls::url_view url_;
    std::vector<std::string> other_hosts_;
};

/// Returns whether the text is an address instead of a URI. A host may have the name of a scheme:
/// `redis:6379`.
bool lacks_scheme(std::string_view text) {
    if (text.empty() || text.find("://") != std::string_view::npos) {
        return false;
    }
    const std::size_t colon = text.find(':');
    const auto* const known =
        std::ranges::find(schemes, lower_case(text.substr(0, colon)), &scheme::name);
    if (colon == std::string_view::npos || known == std::end(schemes)) {
        return true;
    }
    return known->kind == scheme::kind_type::server && colon + 1 != text.size() &&
           is_digit(text[colon + 1]);
}

bool is_valid(const std::string& uri) {
    try {
        parse_uri(uri);
        return true;
    } catch (const uri_error&) {
        return false;
    }
}

/// Fails with the URI that was probably meant. The text may contain a password. It is therefore repeated only
/// if it is nothing but an address. A single word may be a password too.
[[noreturn]] void fail_without_scheme(std::string_view text) {
    const std::string quoted = "'" + std::string(text) + "' is ";
    if (text.starts_with("//")) {
        text.remove_prefix(2);
    }
    const auto has_only = [&](std::string_view special) {
        return std::ranges::all_of(text, [&](char c) {
            return is_digit(c) || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
                   special.find(c) != std::string_view::npos;
        });
    };
    if (text.starts_with('/')) {
        const std::string uri = "unix://" + std::string(text);
        const bool is_shown = has_only("/._-") && is_valid(uri);
        throw uri_error((is_shown ? quoted : "") + "a path without a scheme: write " +
                        (is_shown ? uri : "unix:///path/of/socket"));
    }
    std::string address(text);
    if (urls::parse_ipv6_address(text)) {
        address = "[" + address + "]";
    }
    const bool is_more_than_a_word = text.find_first_of(".:/") != std::string_view::npos;
    const bool is_shown = has_only("._-:/[]") &&
                          (is_more_than_a_word || lower_case(text) == "localhost") &&
                          is_valid("redis://" + address);
    if (!is_shown) {
        address = "host[:port]";
    }
    throw uri_error((is_shown ? quoted : "") + "an address without a scheme: write redis://" +
                    address + ", or rediss://" + address + " for TLS");
}

}  // namespace

any_address parse_uri(std::string_view uri) {
    if (lacks_scheme(uri)) {
        fail_without_scheme(uri);
    }
    const split_uri split(uri);
    const auto parsed = urls::parse_uri(split.with_first);
    if (!parsed) {
        // The text may contain a password, so it is not repeated.
        const bool may_hold_password = uri.find('@') != std::string_view::npos;
        std::string problem(uri.empty() ? "the URI is empty" : "malformed URI");
        problem += may_hold_password ? escape_hint : std::string_view();
        throw uri_error(problem.append(". The forms are ").append(uri_forms));
    }
    return uri_parser(*parsed, split.others).parse();
}

voter voter_of(const any_address& address) {
    if (const auto* memory = std::get_if<memory_address>(&address)) {
        return {{display_of(*memory)}};
    }
    voter result;
    if (const auto* sentinel = std::get_if<sentinel_address>(&address)) {
        for (const auto& one : sentinel->sentinels) {
            result.places.push_back(place_of(one) + "/" + sentinel->master_name);
        }
    } else if (const auto* cluster = std::get_if<cluster_address>(&address)) {
        for (const auto& one : cluster->seeds) {
            result.places.push_back(place_of(one));
        }
    } else {
        result.places.push_back(place_of(std::get<redis::address>(address)));
    }
    return result;
}

std::string display_of(const any_address& address) {
    if (const auto* memory = std::get_if<memory_address>(&address)) {
        return "memory://" + memory->name;
    }
    if (const auto* sentinel = std::get_if<sentinel_address>(&address)) {
        return sentinel->display;
    }
    if (const auto* cluster = std::get_if<cluster_address>(&address)) {
        return cluster->display;
    }
    return std::get<redis::address>(address).display;
}

}  // namespace colock::instance::redis
