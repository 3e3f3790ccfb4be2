#include "instance/redis/probe.hpp"

#include "instance/redis/decode.hpp"
#include "instance/redis/scripts.hpp"

#include <charconv>
#include <string_view>
#include <utility>

namespace colock::instance::redis {
namespace {

/// The digest of no script.
constexpr std::string_view no_script = "0000000000000000000000000000000000000000";

/// The value behind `name:` in the text of INFO; empty if it is not there.
std::string_view find_field(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const std::string_view line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            std::string_view value = line.substr(name.size() + 1);
            if (value.ends_with('\r')) {
                value.remove_suffix(1);
            }
            return value;
        }
    }
    return {};
}

boost::redis::request::config request_settings() {
    boost::redis::request::config settings;
    settings.cancel_on_connection_lost = true;
    settings.cancel_if_unresponded = true;
    settings.cancel_if_not_connected = false;  // the probe is what waits for the connection
    return settings;
}

}  // namespace

template <typename... Arguments>
std::size_t probe::add(std::string name, expected answer, const char* command,
                       const Arguments&... arguments) {
    request_.push(command, arguments...);
    steps_.push_back({std::move(name), answer, false, false, {}});
    return steps_.size() - 1;
}

probe::probe(const address& to) : request_(request_settings()) {
    if (to.password.empty() && to.user.empty()) {
        add("HELLO", expected::success, "HELLO", 3, "SETNAME", "colock");
    } else {
        const std::string user = to.user.empty() ? "default" : to.user;
        add("HELLO with AUTH", expected::success, "HELLO", 3, "AUTH", user, to.password, "SETNAME",
            "colock");
    }
    if (to.database != 0) {
        add("SELECT " + std::to_string(to.database), expected::success, "SELECT", to.database);
    }
    info_ = add("INFO", expected::anything, "INFO", "server");
    // A server, or a proxy, that refuses it tells nothing of changes: then who waits polls.
    tracking_ =
        add("CLIENT TRACKING", expected::anything, "CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP");
    extend_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::extend);
    release_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::release);
    release_many_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::release_many);
    fence_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::fence);
    join_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::join);
    leave_ = add("SCRIPT LOAD", expected::success, "SCRIPT", "LOAD", scripts::leave);
    // The answer tells whether the user may run scripts at all, without running one.
    add("EVALSHA", expected::unknown_script, "EVALSHA", no_script, 0);
    // Without arguments they do nothing, and who knows them says that these are missing.
    delifeq_ = add("DELIFEQ", expected::anything, "DELIFEQ");
    delex_ = add("DELEX", expected::anything, "DELEX");
}

void probe::on_node(const boost::redis::resp3::node_view& node) {
    if (node.depth != 0 || next_ == steps_.size()) {
        return;
    }
    step& current = steps_[next_++];
    current.answered = true;
    current.refused = is_error(node);
    current.text = node.value;
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
    for (const step& s : steps_) {
        if (!s.answered) {
            return s.name + " was not answered";
        }
        if (!s.passed()) {
            return s.name + " was refused: " + s.text;
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
    result.dialect = {steps_[extend_].text,       steps_[release_].text, steps_[release_many_].text,
                      steps_[fence_].text,        steps_[join_].text,    steps_[leave_].text,
                      !steps_[tracking_].refused, native_delete()};
    return result;
}

native_delete probe::native_delete() const {
    const auto known = [](const step& call) {
        return call.refused && call.text.find("wrong number of arguments") != std::string::npos;
    };
    return known(steps_[delifeq_]) ? native_delete::delifeq
           : known(steps_[delex_]) ? native_delete::delex
                                   : native_delete::none;
}

}  // namespace colock::instance::redis
