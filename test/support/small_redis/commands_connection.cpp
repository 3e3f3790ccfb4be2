// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/number_text.hpp"
#include "support/small_redis/server.hpp"
#include "support/small_redis/session.hpp"

#include <algorithm>
#include <string>

namespace colock::small_redis {
namespace {

void ping(execution& e) {
    if (e.arguments.size() > 2) {
        e.out.error("ERR wrong number of arguments for 'ping' command");
    } else if (e.arguments.size() == 2) {
        e.out.bulk(e.word(1));
    } else {
        e.out.status("PONG");
    }
}

void echo(execution& e) {
    e.out.bulk(e.word(1));
}

void time(execution& e) {
    constexpr wall_microseconds second = 1'000'000;
    e.out.array(2);
    e.out.bulk(number_text(e.now / second).text());
    e.out.bulk(number_text(e.now % second).text());
}

std::string_view role_name(const execution& e) {
    return e.host.state.is_replica ? "replica" : "master";
}

/// Reads the options of HELLO. Any login succeeds.
bool read_hello(execution& e) {
    const auto version = e.integer(1, "ERR Protocol version is not an integer or out of range");
    if (!version) {
        return false;
    }
    if (*version != 3) {
        e.out.error("NOPROTO unsupported protocol version");
        return false;
    }
    for (std::size_t i = 2; i < e.arguments.size(); ++i) {
        const std::size_t more = e.arguments.size() - i - 1;
        if (is_word(e.word(i), "auth") && more >= 2) {
            i += 2;
        } else if (is_word(e.word(i), "setname") && more >= 1) {
            ++i;
            if (e.client != nullptr) {
                e.client->name = e.word(i);
            }
        } else {
            e.out.error("ERR Syntax error in HELLO option '" + std::string(e.word(i)) + "'");
            return false;
        }
    }
    return true;
}

void hello(execution& e) {
    if (e.arguments.size() > 1 && !read_hello(e)) {
        return;
    }
    constexpr std::size_t entries = 7;
    e.out.map(entries);
    e.out.bulk("server");
    e.out.bulk(e.host.dialect().server);
    e.out.bulk("version");
    e.out.bulk(e.host.dialect().version);
    e.out.bulk("proto");
    e.out.integer(3);
    e.out.bulk("id");
    e.out.integer(e.client == nullptr ? 0 : e.client->id());
    e.out.bulk("mode");
    e.out.bulk(e.host.cluster ? "cluster" : "standalone");
    e.out.bulk("role");
    e.out.bulk(role_name(e));
    e.out.bulk("modules");
    e.out.array(0);
}

/// Reports the fields that clients read.
void info(execution& e) {
    const identity& self = e.host.self;
    const bool is_valkey = e.host.dialect().server == "valkey";
    const bool wants_all = e.arguments.size() == 1;
    const auto wants = [&](std::string_view section) {
        return wants_all || std::ranges::any_of(e.arguments.subspan(1), [&](std::string_view one) {
                   return is_word(one, section) || is_word(one, "all") || is_word(one, "default");
               });
    };
    std::string text;
    const auto field = [&text](std::string_view name, std::string_view value) {
        text.append(name).append(":").append(value).append("\r\n");
    };
    if (wants("server")) {
        constexpr wall_microseconds second = 1'000'000;
        text += "# Server\r\n";
        field("redis_version", is_valkey ? "7.2.4" : e.host.dialect().version);
        if (is_valkey) {
            field("server_name", "valkey");
            field("valkey_version", e.host.dialect().version);
        }
        field(is_valkey ? "server_mode" : "redis_mode", e.host.cluster ? "cluster" : "standalone");
        field("run_id", self.run_id);
        field("uptime_in_seconds", number_text(e.now / second - self.started / second).text());
    }
    if (wants("replication")) {
        text += text.empty() ? "" : "\r\n";
        text += "# Replication\r\n";
        field("role", e.host.state.is_replica ? "slave" : "master");
        field("master_replid", self.replication_id);
        field("master_replid2", self.former_replication_id);
    }
    e.out.verbatim(text);
}

void role(execution& e) {
    if (e.host.state.is_replica) {
        constexpr std::size_t entries = 5;
        e.out.array(entries);
        e.out.bulk("slave");
        e.out.bulk("127.0.0.1");
        e.out.integer(0);
        e.out.bulk("connected");
        e.out.integer(0);
        return;
    }
    e.out.array(3);
    e.out.bulk("master");
    e.out.integer(0);
    e.out.array(0);
}

void wait(execution& e) {
    if (e.host.state.is_replica) {
        const bool is_valkey = e.host.dialect().server == "valkey";
        e.out.error("ERR WAIT cannot be used with replica instances. Please also note that " +
                    std::string(is_valkey ? "" : "since Redis 4.0 ") +
                    "if a replica is configured to be writable (which is not the default) writes "
                    "to replicas are just local and are not propagated.");
        return;
    }
    const auto count = e.integer(1);
    const auto timeout =
        count ? e.integer(2, "ERR timeout is not an integer or out of range") : std::nullopt;
    if (!timeout) {
        return;
    }
    if (*timeout < 0) {
        e.out.error("ERR timeout is negative");
        return;
    }
    e.out.integer(e.host.self.acknowledging_replicas);
}

void select(execution& e) {
    if (const auto number = e.integer(1)) {
        *number == 0 ? e.out.ok() : e.out.error("ERR DB index is out of range");
    }
}

void asking(execution& e) {
    if (!e.host.cluster) {
        e.out.error("ERR This instance has cluster support disabled");
        return;
    }
    if (e.client != nullptr) {
        e.client->state.is_asking = true;
    }
    e.out.ok();
}

void client_id(execution& e) {
    e.out.integer(e.client == nullptr ? 0 : e.client->id());
}

void client_setname(execution& e) {
    const bool is_valid =
        std::ranges::all_of(e.word(2), [](char c) { return '!' <= c && c <= '~'; });
    if (!is_valid) {
        e.out.error("ERR Client names cannot contain spaces, newlines or special characters.");
        return;
    }
    if (e.client != nullptr) {
        e.client->name = e.word(2);
    }
    e.out.ok();
}

void client_getname(execution& e) {
    const bool has_name = e.client != nullptr && !e.client->name.empty();
    has_name ? e.out.bulk(e.client->name) : e.out.null();
}

/// Supports no BCAST, OPTOUT, PREFIX or REDIRECT.
void client_tracking(execution& e) {
    constexpr std::size_t first_option = 3;
    session::flags wanted{.is_tracking = is_word(e.word(2), "on")};
    bool is_valid = wanted.is_tracking || is_word(e.word(2), "off");
    for (const std::string_view option : e.arguments.subspan(first_option)) {
        wanted.is_opt_in = wanted.is_opt_in || is_word(option, "optin");
        wanted.is_no_loop = wanted.is_no_loop || is_word(option, "noloop");
        is_valid = is_valid && (is_word(option, "optin") || is_word(option, "noloop"));
    }
    if (!is_valid) {
        e.out.syntax_error();
        return;
    }
    if (e.client != nullptr) {
        wanted.is_caching = e.client->state.is_caching;
        e.client->state = wanted.is_tracking ? wanted : session::flags();
    }
    e.out.ok();
}

void client_caching(execution& e) {
    const session::flags state = e.client == nullptr ? session::flags() : e.client->state;
    if (!state.is_tracking) {
        e.out.error(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN "
            "or OPTOUT mode enabled");
    } else if (is_word(e.word(2), "no")) {
        e.out.error("ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
    } else if (!is_word(e.word(2), "yes")) {
        e.out.syntax_error();
    } else if (!state.is_opt_in) {
        e.out.error("ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
    } else {
        e.client->state.is_caching = true;
        e.out.ok();
    }
}

constexpr unsigned loading = command::while_loading;
constexpr unsigned no_script = command::not_in_scripts;
constexpr unsigned of_client = loading | no_script;

constexpr command commands[] = {
    {"ping", -1, 0, {}, ping},
    {"echo", 2, loading, {}, echo},
    {"time", 1, loading, {}, time},
    {"hello", -1, of_client, {}, hello},
    {"info", -1, loading, {}, info},
    {"role", 1, of_client, {}, role},
    {"wait", 3, 0, {}, wait, dialect::wait_in_scripts},
    {"wait", 3, no_script, {}, wait},
    {"select", 2, loading, {}, select},
    {"asking", 1, 0, {}, asking},
    {"client", -2, command::has_subcommands},
    {"client|id", 2, of_client, {}, client_id},
    {"client|setname", 3, of_client, {}, client_setname},
    {"client|getname", 2, of_client, {}, client_getname},
    {"client|tracking", -3, of_client, {}, client_tracking},
    {"client|caching", 3, of_client, {}, client_caching},
};

}  // namespace

const std::span<const command> connection_commands = commands;

}  // namespace colock::small_redis
