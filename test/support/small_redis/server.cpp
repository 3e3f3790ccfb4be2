// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/server.hpp"

#include "support/small_redis/resp_reply.hpp"
#include "support/small_redis/session.hpp"

#include "instance/redis/key_slot.hpp"

#include <algorithm>
#include <utility>

namespace colock::small_redis {
namespace {

using instance::redis::key_slot;

std::string with_code(std::string_view code, std::string_view text) {
    return std::string(code) + ' ' + std::string(text);
}

/// Returns the error text, with `%` replaced by the name of the command.
std::string about(std::string_view code, std::string_view text, const command& c) {
    std::string result = with_code(code, text);
    const std::size_t at = result.find('%');
    return at == std::string::npos ? result : result.replace(at, 1, c.name);
}

void report_unknown_command(words command, reply& out) {
    constexpr std::size_t most = 128;
    std::string arguments;
    for (std::size_t i = 1; i < command.size() && arguments.size() < most; ++i) {
        const std::string_view shown = command[i].substr(0, most - arguments.size());
        arguments.append("'").append(shown).append("' ");
    }
    out.error("ERR unknown command '" + std::string(command[0].substr(0, most)) +
              "', with args beginning with: " + arguments);
}

void report_unknown_subcommand(const command& container, words command, reply& out) {
    constexpr std::size_t most = 128;
    std::string name(container.name);
    std::ranges::transform(name, name.begin(), [](char c) {
        return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    out.error("ERR unknown subcommand '" + std::string(command[1].substr(0, most)) + "'. Try " +
              name + " HELP.");
}

void report_wrong_arity(const command& c, reply& out) {
    out.error("ERR wrong number of arguments for '" + std::string(c.name) + "' command");
}

constexpr std::string_view no_memory = "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace

void server::execute(words command, wall_microseconds now, reply& out, session* client) {
    changed_.clear();
    current_ = client;
    execution e{*this, client, command, now, out};
    const auto [found, container] = find_command(command, dialect_);
    if (found == nullptr && container != nullptr) {
        report_unknown_subcommand(*container, command, out);
    } else if (found == nullptr) {
        report_unknown_command(command, out);
    } else if (!found->accepts(command.size())) {
        report_wrong_arity(*found, out);
    } else if (!refuses(e, *found)) {
        run(e, *found);
    }
    current_ = nullptr;
    if (client != nullptr) {
        client->end_command(found);
    }
    tell(e, found, 0);
}

std::string server::execute(wall_microseconds now, words command) {
    std::string result;
    resp_reply out(result, dialect_);
    execute(command, now, out);
    return result;
}

std::string server::execute(wall_microseconds now,
                            std::initializer_list<std::string_view> command) {
    return execute(now, words(command.begin(), command.size()));
}

void server::run(execution& e, const command& c) {
    c.run(e);
    if (c.has(command::reads)) {
        track(e, c);
    }
}

bool server::lacks_rights(execution& e, const command& c, std::string_view code,
                          std::string_view denied_command, std::string_view denied_key) const {
    if (access.denies(c.name)) {
        e.out.error(about(code, denied_command, c));
        return true;
    }
    if (denies_keys(c, e.arguments)) {
        e.out.error(with_code(code, denied_key));
        return true;
    }
    return false;
}

/// Checks in the order of processCommand in server.c.
bool server::refuses(execution& e, const command& c) {
    if (lacks_rights(e, c, "NOPERM", dialect_.denied_command, dialect_.denied_key)) {
        return true;
    }
    if (cluster) {
        if (const route to = find_route(e, c); to.where != place::here) {
            e.out.error(redirection(to));
            return true;
        }
    }
    if (state.is_out_of_memory && !state.is_replica && c.has(command::needs_memory)) {
        e.out.error(no_memory);
        return true;
    }
    const bool is_ping_without_disk = c.name == "ping" && state.cannot_save && !state.is_replica;
    if ((c.has(command::writes) || is_ping_without_disk) && refuses_write(e)) {
        return true;
    }
    if (state.is_loading && !c.has(command::while_loading)) {
        e.out.error(with_code("LOADING", dialect_.loading));
        return true;
    }
    return false;
}

/// Follows scriptCall in script.c.
void server::call_from_script(execution& e) {
    const std::size_t changes_before = changed_.size();
    const command* const found = find_command(e.arguments, dialect_).found;
    if (found == nullptr) {
        e.out.error(with_code("ERR", dialect_.unknown_command_in_script));
    } else if (!refuses_in_script(e, *found)) {
        run(e, *found);
    }
    tell(e, found, changes_before);
}

bool server::refuses_in_script(execution& e, const command& c) {
    if (!c.accepts(e.arguments.size())) {
        e.out.error(with_code("ERR", dialect_.wrong_arity_in_script));
        return true;
    }
    if (c.has(command::not_in_scripts)) {
        e.out.error(with_code("ERR", dialect_.forbidden_in_script));
        return true;
    }
    if (lacks_rights(e, c, "ERR", dialect_.denied_command_in_script,
                     dialect_.denied_key_in_script)) {
        return true;
    }
    if (access.declared_keys_only && uses_undeclared_key(e, c)) {
        e.out.error("ERR Script attempted to access a key that was not declared");
        return true;
    }
    if (c.has(command::writes) && refuses_write(e)) {
        return true;
    }
    // After its first write, a script can no longer be refused for lack of memory.
    if (e.script->was_out_of_memory && !e.script->has_written && c.has(command::needs_memory)) {
        e.out.error(no_memory);
        return true;
    }
    e.script->has_written = e.script->has_written || c.has(command::writes);
    if (!cluster) {
        return false;
    }
    if (are_scripts_ended_) {
        e.out.error(with_code("ERR", dialect_.other_node_in_script));
        return true;
    }
    switch (find_route(e, c).where) {
        case place::here:
            return false;
        case place::cross_slot:
            are_scripts_ended_ = dialect_.cross_slot_ends_scripts;
            e.out.error(about("ERR", dialect_.cross_slot_in_script, c));
            break;
        case place::try_again:
            e.out.error(about("ERR", dialect_.try_again_in_script, c));
            break;
        case place::unserved:
            e.out.error(with_code("ERR", dialect_.no_slot_in_script));
            break;
        case place::down:
            e.out.error("ERR Script attempted to execute a command while the cluster is down");
            break;
        case place::moved:
        case place::ask:
            e.out.error(with_code("ERR", dialect_.other_node_in_script));
            break;
    }
    return true;
}

bool server::refuses_write(execution& e) const {
    if (state.is_replica) {
        e.out.error("READONLY You can't write against a read only replica.");
    } else if (state.cannot_save) {
        const std::string name = dialect_.server == "valkey" ? "Valkey" : "Redis";
        e.out.error("MISCONF " + name +
                    " is configured to save RDB snapshots, but it's currently unable to persist "
                    "to disk. Commands that may modify the data set are disabled, because this "
                    "instance is configured to report errors during writes if RDB snapshotting "
                    "fails (stop-writes-on-bgsave-error option). Please check the " +
                    name + " logs for details about the RDB error.");
    } else if (state.lacks_replicas) {
        e.out.error("NOREPLICAS Not enough good replicas to write.");
    } else {
        return false;
    }
    return true;
}

bool server::uses_undeclared_key(const execution& e, const command& c) const {
    const command_keys used(c, e.arguments);
    const command_keys declared(*find_command(e.caller->arguments, dialect_).found,
                                e.caller->arguments);
    const auto is_declared = [&](std::string_view key) {
        for (std::size_t i = 0; i != declared.size(); ++i) {
            if (declared[i] == key) {
                return true;
            }
        }
        return false;
    };
    for (std::size_t i = 0; i != used.size(); ++i) {
        if (!is_declared(used[i])) {
            return true;
        }
    }
    return false;
}

bool server::denies_keys(const command& c, words command) const {
    if (!access.may_use) {
        return false;
    }
    const command_keys keys(c, command);
    for (std::size_t i = 0; i != keys.size(); ++i) {
        if (!access.may_use(keys[i])) {
            return true;
        }
    }
    return false;
}

/// Follows getNodeByQuery in cluster.c.
server::route server::find_route(execution& e, const command& c) {
    const command_keys keys(c, e.arguments);
    if (keys.empty() || (c.name == "msetex" && !dialect_.redirects_msetex)) {
        return {};
    }
    const cluster_slots& all = *cluster;
    const std::size_t slot = key_slot(keys[0]);
    if (!dialect_.compares_slots_first && !all.is_served(slot)) {
        return {place::unserved, slot};
    }
    bool has_several = false;
    for (std::size_t i = 1; i < keys.size(); ++i) {
        if (key_slot(keys[i]) != slot) {
            return {place::cross_slot, slot};
        }
        has_several = has_several || keys[i] != keys[0];
    }
    if (!all.is_served(slot)) {
        return {place::unserved, slot};
    }
    if (all.is_down) {
        return {place::down, slot};
    }
    const cluster_slots::movement moves = all.movement_of(slot);
    if (moves != cluster_slots::movement::none) {
        std::size_t missing = 0;
        for (std::size_t i = 0; i != keys.size(); ++i) {
            missing += e.sees(keys[i]) ? 0 : 1;
        }
        if (moves == cluster_slots::movement::migrating && missing != 0) {
            return {missing == keys.size() ? place::ask : place::try_again, slot};
        }
        const bool is_asking = e.client != nullptr && e.client->state.is_asking;
        if (moves == cluster_slots::movement::importing && is_asking) {
            return {has_several && missing != 0 ? place::try_again : place::here, slot};
        }
    }
    return {all.is_ours(slot) ? place::here : place::moved, slot};
}

std::string server::redirection(const route& to) const {
    switch (to.where) {
        case place::moved:
            return "MOVED " + std::to_string(to.slot) + ' ' + cluster->owner(to.slot);
        case place::ask:
            return "ASK " + std::to_string(to.slot) + ' ' + cluster->peer(to.slot);
        case place::try_again:
            return "TRYAGAIN Multiple keys request during rehashing of slot";
        case place::cross_slot:
            return "CROSSSLOT Keys in request don't hash to the same slot";
        case place::unserved:
            return "CLUSTERDOWN Hash slot not served";
        case place::down:
            return "CLUSTERDOWN The cluster is down";
        case place::here:
            break;
    }
    return {};
}

/// Follows trackingRememberKeys in tracking.c.
void server::track(execution& e, const command& c) {
    if (e.client == nullptr || !e.client->state.is_tracking ||
        (e.client->state.is_opt_in && !e.client->state.is_caching)) {
        return;
    }
    const bool of_caller = e.caller != nullptr && dialect_.tracks_declared_keys;
    const command_keys keys =
        of_caller
            ? command_keys(*find_command(e.caller->arguments, dialect_).found, e.caller->arguments)
            : command_keys(c, e.arguments);
    for (std::size_t i = 0; i != keys.size(); ++i) {
        tracking_.remember(keys[i], *e.client);
    }
}

void server::expire_due(wall_microseconds now) {
    changed_.clear();
    if (state.is_replica) {
        return;
    }
    for (std::size_t i = keys_.size(); i != 0; --i) {
        if (now / 1000 > keys_[i - 1].expires) {
            remove_expired(std::string(keys_[i - 1].name));
        }
    }
}

void server::replace_keys(keyspace all) {
    changed_.clear();
    const keyspace before = std::exchange(keys_, std::move(all));
    std::size_t i = 0;
    std::size_t j = 0;
    while (i != before.size() || j != keys_.size()) {
        const record* const old_one = i != before.size() ? &before[i] : nullptr;
        const record* const new_one = j != keys_.size() ? &keys_[j] : nullptr;
        const bool is_gone =
            new_one == nullptr || (old_one != nullptr && old_one->name < new_one->name);
        const bool is_new =
            old_one == nullptr || (new_one != nullptr && new_one->name < old_one->name);
        if (is_gone) {
            signal(old_one->name);
        } else if (is_new || (old_one != new_one && *old_one != *new_one)) {
            signal(new_one->name);
        }
        i += is_new ? 0 : 1;
        j += is_gone ? 0 : 1;
    }
}

void server::restart() {
    scripts_.clear();
    are_scripts_ended_ = false;
}

const std::shared_ptr<const std::string>* server::find_script(std::string_view digest) const {
    const auto found = scripts_.find(digest);
    return found == scripts_.end() ? nullptr : &found->second;
}

void server::add_script(std::string_view digest, std::shared_ptr<const std::string> text) {
    if (!scripts_.contains(digest)) {
        scripts_.emplace(digest, std::move(text));
    }
}

void server::add_scripts_of(const server& other) {
    scripts_.insert(other.scripts_.begin(), other.scripts_.end());
}

void server::remove_expired(std::string_view name) {
    keys_.erase(name);
    signal(name);
}

/// Follows trackingInvalidateKey in tracking.c.
void server::signal(std::string_view name) {
    changed_.emplace_back(name);
    ++version_;
    if (tracking_.empty()) {
        return;
    }
    for (session* const one : tracking_.take(name)) {
        if (one->state.is_tracking && !(one->state.is_no_loop && one == current_)) {
            one->tell_changed(name);
        }
    }
}

void server::flush() {
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        changed_.push_back(keys_[i].name);
    }
    keys_.clear();
    ++version_;
    tracking_.clear();
    for (session* const one : sessions_) {
        if (one->state.is_tracking) {
            one->tell_flushed();
        }
    }
}

void server::tell(const execution& e, const command* c, std::size_t changes_before) const {
    if (observer != nullptr) {
        observer->on_executed({.name = c == nullptr ? std::string_view() : c->name,
                               .arguments = e.arguments,
                               .is_in_script = e.script != nullptr,
                               .has_failed = e.out.has_failed(),
                               .client = e.client,
                               .changed = std::span(changed_).subspan(changes_before)});
    }
}

}  // namespace colock::small_redis
