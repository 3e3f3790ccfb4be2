// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/probe.hpp"

#include "instance/redis/error_text.hpp"
#include "instance/redis/info_field.hpp"
#include "kinds/scripts.hpp"
#include "resp/reader.hpp"
#include "resp/writer.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace colock::instance::redis {
namespace {

/// A digest that no script has.
constexpr std::string_view no_script = "0000000000000000000000000000000000000000";

/// Returns a script that tries each command that a lock needs, on a key that does not exist. It returns the
/// error of each command, or an empty string, in the order of `kinds::script_commands`.
///
/// Servers check the number of arguments before the permissions, so the calls must be complete. They check
/// the permissions before memory limits, slots and the replica role. The key is not declared, because a
/// cluster would redirect the whole script to the owner of its slot.
std::string make_trial() {
    std::string result = "local k,errors=ARGV[1],{}\n"
                         "local function try(...) local a=redis.pcall(...) "
                         "errors[#errors+1]=type(a)=='table' and a.err or '' end\n";
    for (const kinds::script_command& one : kinds::script_commands) {
        result += one.harmless_call.empty() ? "errors[#errors+1]=''\n"
                                            : "try(" + std::string(one.harmless_call) + ")\n";
    }
    return result + "return errors";
}

std::string upper_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
        return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return result;
}

}  // namespace

std::size_t probe::add(std::string name, expected answer,
                       std::initializer_list<std::string_view> command) {
    std::string buffer;
    resp::command_writer writer(buffer);
    writer.write(std::span(command.begin(), command.size()));
    text_ += writer.text();
    steps_.push_back({std::move(name), answer});
    return steps_.size() - 1;
}

probe::probe(const address& to, redis::deployment deployment, std::string_view key_prefix)
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
    // A server or proxy may refuse it and then reports no changes. Waiters poll in that case.
    tracking_ =
        add("CLIENT TRACKING", expected::anything, {"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"});
    for (const kinds::script& one : kinds::scripts::all) {
        add("SCRIPT LOAD", expected::success, {"SCRIPT", "LOAD", one.text});
    }
    // The reply shows whether the user may run scripts, without running one.
    add("EVALSHA", expected::unknown_script, {"EVALSHA", no_script, "0"});
    static const std::string& trial = *new std::string(make_trial());  // Outlives static objects.
    const std::string no_key = std::string(key_prefix) + "colock:probe";
    trial_ = add("EVAL", expected::success, {"EVAL", trial, "0", no_key});
    // Without arguments they do nothing. A server that supports them reports the missing arguments.
    delifeq_ = add("DELIFEQ", expected::anything, {"DELIFEQ"});
    delex_ = add("DELEX", expected::anything, {"DELEX"});
    if (deployment != deployment::cluster) {
        // Sets nothing, because the key does not exist. The reply also shows whether the user may use it.
        msetex_ = add("MSETEX", expected::anything, {"MSETEX", "1", no_key, "", "XX", "PX", "1"});
    }
}

void probe::on_reply(std::string_view reply) {
    const resp::value root = resp::cursor(reply).next();
    step& current = steps_[next_++];
    current.refused = is_error(root);
    current.text = root.text;
    if (next_ == 1) {
        read_greeting(reply);
    } else if (next_ == trial_ + 1) {
        read_refusals(reply);
    }
}

/// Keeps only refusals. Other errors mean that the server would execute the command at another time or on
/// another key.
void probe::read_refusals(std::string_view reply) {
    refusals_.assign(kinds::script_commands.size(), {});
    resp::cursor values(reply);
    const resp::value root = values.next();
    const std::size_t count = root.type == resp::type::array ? root.children : 0;
    for (std::size_t i = 0; i != std::min(count, refusals_.size()); ++i) {
        const resp::value error = values.next();
        values.skip_children(error);
        if (is_command_refused(read_error(error.text))) {
            refusals_[i] = error.text;
        } else if (error.text.find("not declared") != std::string_view::npos ||
                   error.text.find("undeclared") != std::string_view::npos) {
            undeclared_ = error.text;
        }
    }
}

/// Returns why it cannot serve these locks. Null if it can.
std::shared_ptr<const std::string> probe::refused_to(kinds::needed_by whom,
                                                     std::string_view who) const {
    std::string names;
    std::string first_error;
    for (std::size_t i = 0; i != refusals_.size(); ++i) {
        const kinds::script_command& one = kinds::script_commands[i];
        if (!refusals_[i].empty() && kinds::includes(one.whom, whom)) {
            names += (names.empty() ? "" : ", ") + upper_case(one.name);
            first_error = first_error.empty() ? refusals_[i] : first_error;
        }
    }
    if (names.empty()) {
        return nullptr;
    }
    return std::make_shared<const std::string>(
        "scripts may not use " + names + " (" + without_password(first_error, password_) +
        "), which " + std::string(who) +
        " needs. The user's ACL must allow it, and rename-command must leave it");
}

/// Reads `mode` and `role` from the map that HELLO returns. See https://redis.io/docs/latest/commands/hello/
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

/// Returns why it is not the server that the URI describes. Empty if it is, or if that is unknown.
std::string probe::wrong_server() const {
    if (mode_ == "sentinel") {
        return "it is a Sentinel: the URI of a master that Sentinels watch is "
               "redis+sentinel://host:port,host:port/master-name";
    }
    if (mode_ == "cluster" && deployment_ != deployment::cluster) {
        return "it is a node of a Redis Cluster, whose URI begins with redis+cluster://";
    }
    if (mode_ == "standalone" && deployment_ == deployment::cluster) {
        return "it is not in cluster mode: the URI of a single server begins with redis://";
    }
    if (role_ == "replica" || role_ == "slave") {
        return deployment_ == deployment::standalone
                   ? "it is a replica, which cannot grant locks. To follow its master, use "
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
    return refused && read_error(text).code == "NOSCRIPT";
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
                   (is_too_old ? ". colock needs RESP3, which Redis 6.0 or newer and Valkey support"
                               : "");
        }
    }
    const auto why = refused_to(kinds::needed_by::every_lock, "every lock");
    return why ? std::optional(*why) : std::nullopt;
}

server_facts probe::facts() const {
    server_facts result;
    if (const step& info = steps_[info_]; !info.refused) {
        const std::string_view valkey = find_field(info.text, "valkey_version");
        result.version = valkey.empty() ? find_field(info.text, "redis_version") : valkey;
        result.run_id = find_field(info.text, "run_id");
        result.uptime = read_time<std::chrono::seconds>(find_field(info.text, "uptime_in_seconds"));
    }
    // A promoted replica keeps the replication ID of its former master. Without one this field is all zeros.
    if (replication_) {
        const std::string_view former = find_field(steps_[*replication_].text, "master_replid2");
        result.may_be_promoted =
            former.empty() || former.find_first_not_of('0') != std::string_view::npos;
        result.replication_id = find_field(steps_[*replication_].text, "master_replid");
    }
    result.capabilities = {.tells_changes = !steps_[tracking_].refused,
                           .native_delete = native_delete(),
                           .sets_several = msetex_ && steps_[*msetex_].text == "0",
                           .is_clustered = deployment_ == deployment::cluster};
    using kinds::needed_by;
    result.refused_to_readers = refused_to(needed_by::readers, "a reader of a shared_mutex");
    result.refused_to_semaphores = refused_to(needed_by::semaphores, "a semaphore");
    result.refused_to_fenced = refused_to(needed_by::fencing, "a lock with fencing");
    result.refused_to_records = refused_to(needed_by::records, "a versioned value");
    result.refused_to_orders = refused_to(needed_by::orders, "a lock with a binding order");
    result.allows_undeclared_keys = undeclared_.empty();
    if (!undeclared_.empty()) {
        result.refused_to_orders = std::make_shared<const std::string>(
            "scripts may use declared keys only (" + undeclared_ +
            "), so the server cannot keep the places of a binding order. Use queue_order::hint");
    }
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
