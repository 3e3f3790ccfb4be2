#include "instance/redis/probe.hpp"

#include "instance/redis/info_field.hpp"
#include "kinds/scripts.hpp"
#include "resp/reader.hpp"
#include "resp/writer.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

namespace colock::instance::redis {
namespace {

/// The digest of no script.
constexpr std::string_view no_script = "0000000000000000000000000000000000000000";

}  // namespace

std::size_t probe::add(std::string name, expected answer,
                       std::initializer_list<std::string_view> command) {
    std::string buffer;
    resp::command_writer writer(buffer);
    writer.begin(command.size());
    for (const std::string_view argument : command) {
        writer.add(argument);
    }
    text_ += writer.text();
    steps_.push_back({std::move(name), answer});
    return steps_.size() - 1;
}

probe::probe(const address& to, redis::deployment deployment)
    : deployment_(deployment), password_(read_password(to)) {
    if (password_.empty() && to.user.empty()) {
        add("HELLO", expected::success, {"HELLO", "3", "SETNAME", "colock"});
    } else {
        const std::string user = to.user.empty() ? "default" : to.user;
        add("HELLO with AUTH", expected::success,
            {"HELLO", "3", "AUTH", user, password_, "SETNAME", "colock"});
    }
    if (to.database != 0) {
        const std::string database = std::to_string(to.database);
        add("SELECT " + database, expected::success, {"SELECT", database});
    }
    info_ = add("INFO", expected::anything, {"INFO", "server"});
    if (deployment != deployment::standalone) {
        replication_ = add("INFO", expected::anything, {"INFO", "replication"});
    }
    // A server, or a proxy, that refuses it tells nothing of changes: then waiters poll.
    tracking_ =
        add("CLIENT TRACKING", expected::anything, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"});
    for (const kinds::script& one : kinds::scripts::all) {
        add("SCRIPT LOAD", expected::success, {"SCRIPT", "LOAD", one.text});
    }
    // The answer tells whether the user may run scripts at all, without running one.
    add("EVALSHA", expected::unknown_script, {"EVALSHA", no_script, "0"});
    // Without arguments they do nothing, and a server that knows them says that these are missing.
    delifeq_ = add("DELIFEQ", expected::anything, {"DELIFEQ"});
    delex_ = add("DELEX", expected::anything, {"DELEX"});
}

void probe::on_reply(std::string_view reply) {
    const resp::value root = resp::cursor(reply).next();
    step& current = steps_[next_++];
    current.refused = is_error(root);
    current.text = root.text;
    if (next_ == 1) {
        read_greeting(reply);
    }
}

/// HELLO answers with a map, of which `mode` and `role` are entries.
/// (https://redis.io/docs/latest/commands/hello/)
void probe::read_greeting(std::string_view reply) {
    resp::cursor values(reply);
    const resp::value root = values.next();
    for (std::size_t i = 0; root.type == resp::type::map && i != root.children; i += 2) {
        const std::string_view name = values.next().text;
        const resp::value value = values.next();
        values.skip_children(value);
        if (name == "mode") {
            mode_ = value.text;
        } else if (name == "role") {
            role_ = value.text;
        }
    }
}

/// Why it is not the server that the URI promises; empty if it is, or does not tell.
std::string probe::wrong_server() const {
    if (mode_ == "sentinel") {
        return "it is a Sentinel: the URI of a master that Sentinels watch is "
               "redis+sentinel://host:port,host:port/master-name";
    }
    if (mode_ == "cluster" && deployment_ != deployment::cluster) {
        return "it is a node of a Redis Cluster, whose URI begins with redis+cluster://";
    }
    if (mode_ == "standalone" && deployment_ == deployment::cluster) {
        return "it is not in cluster mode; the URI of a single server begins with redis://";
    }
    if (role_ == "replica" || role_ == "slave") {
        return deployment_ == deployment::standalone
                   ? "it is a replica, which cannot grant locks; to follow its master use "
                     "redis+sentinel:// or redis+cluster://"
                   : "it is a replica";
    }
    return {};
}

bool probe::step::passed() const {
    switch (answer) {
        case expected::success:
            return !refused;
        case expected::anything:
            return true;
        case expected::unknown_script:
            break;
    }
    return refused && text.starts_with("NOSCRIPT");
}

std::optional<std::string> probe::objection() const {
    if (std::string why = wrong_server(); !why.empty()) {
        return why;
    }
    for (const step& s : std::span(steps_).first(next_)) {
        if (!s.passed()) {
            const bool is_too_old =
                &s == &steps_.front() &&
                (s.text.starts_with("ERR unknown command") || s.text.starts_with("NOPROTO"));
            return s.name + " was refused: " + without_password(s.text, password_) +
                   (is_too_old ? "; colock needs RESP3, as Redis 6.0 and newer and Valkey speak it"
                               : "");
        }
    }
    return std::nullopt;
}

server_facts probe::facts() const {
    server_facts result;
    if (const step& info = steps_[info_]; !info.refused) {
        const std::string_view valkey = find_field(info.text, "valkey_version");
        result.version = valkey.empty() ? find_field(info.text, "redis_version") : valkey;
        result.run_id = find_field(info.text, "run_id");
        const std::string_view uptime = find_field(info.text, "uptime_in_seconds");
        std::chrono::seconds::rep seconds = 0;
        const auto parsed = std::from_chars(uptime.data(), uptime.data() + uptime.size(), seconds);
        if (parsed.ec == std::errc()) {
            result.uptime = std::chrono::seconds(seconds);
        }
    }
    // A promoted replica remembers the replication ID of its former master. Without one this field is all zeros.
    if (replication_) {
        const std::string_view former = find_field(steps_[*replication_].text, "master_replid2");
        result.may_be_promoted =
            former.empty() || former.find_first_not_of('0') != std::string_view::npos;
        result.replication_id = find_field(steps_[*replication_].text, "master_replid");
    }
    result.capabilities = {.tells_changes = !steps_[tracking_].refused,
                           .native_delete = native_delete(),
                           .is_clustered = deployment_ == deployment::cluster};
    return result;
}

kinds::native_delete probe::native_delete() const {
    using kinds::native_delete;
    const auto known = [](const step& call) {
        return call.refused && call.text.find("wrong number of arguments") != std::string::npos;
    };
    return known(steps_[delifeq_]) ? native_delete::delifeq
           : known(steps_[delex_]) ? native_delete::delex
                                   : native_delete::none;
}

}  // namespace colock::instance::redis
