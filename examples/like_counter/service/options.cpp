// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "options.hpp"

#include "command_line.hpp"
#include "data_server.hpp"

#include <colock/error.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

using std::chrono::milliseconds;

namespace like_counter {
namespace {

/// Options that are checked together, as they were typed.
struct raw_options {
    std::string listen = "127.0.0.1:8080";
    std::vector<std::string> locks;
    std::string config_file;
    bool no_lock = false;
    std::string store = "locked";
};

void describe(CLI::App& app, raw_options& raw, options& result) {
    app.add_option("--listen", raw.listen, "host:port to serve on. Port 0 selects a free port.")
        ->capture_default_str();
    app.add_option("--host", result.host_names,
                   "name of this service for browsers. May be repeated. Under any other name, but "
                   "localhost and addresses, nothing can be changed.")
        ->allow_extra_args(false);
    app.add_option("--lock", raw.locks,
                   "URI of a lock instance. May be repeated. (redis://..., rediss://..., "
                   "redis+cluster://host:port,host:port, unix://..., memory://name)")
        ->allow_extra_args(false);
    app.add_option("--config", raw.config_file,
                   "JSON file with colock's configuration. --lock replaces its instances.");
    add_time(app, "--dawdle-ms", result.dawdle, 0, 60'000,
             "wait for so many ms before each write, like a process that is stopped there");
    app.add_flag("--experiments", result.allows_experiments,
                 "let requests to /v1/experiment switch the locks off and set --dawdle-ms. "
                 "Only for a demonstration on this machine.");
    app.add_flag("--no-lock", raw.no_lock, "use no locks, to show how the totals drift apart");
    app.add_option("--data", result.data,
                   "server of the data: redis://host[:port][/database], "
                   "redis+cluster://host[:port],host[:port],..., memory")
        ->required();
    app.add_option("--store", raw.store,
                   "how the likes are kept: locked (under the locks), or versioned (as one "
                   "colock::versioned value for each author, without locks)")
        ->check(CLI::IsMember({"locked", "versioned"}))
        ->capture_default_str();
    app.add_option("--stripes", result.stripes,
                   "divide all likes by entity and user among so many locks, instead of one lock "
                   "for each entity. All services need the same number.")
        ->check(CLI::Range(1, 65'536));
    add_time(app, "--ttl-ms", result.lock.ttl, 300, 86'400'000, "ttl of the locks in ms");
    add_time(app, "--patience-ms", result.patience, 1, 3'600'000,
             "longest wait of a request for its lock, in ms");
    add_time(app, "--stop-patience-ms", result.stop_patience, 0, 3'600'000,
             "time for open requests when the service stops, in ms");
    app.add_option("--max-body-bytes", result.http.body_bytes, "longest body of a request")
        ->capture_default_str();
    add_number<std::uint32_t>(app, "--max-header-bytes", result.http.header_bytes, 256, 1'048'576,
                              "longest header of a request");
    add_number<std::size_t>(app, "--max-connections", result.http.connections, 1, 1'000'000,
                            "most connections at a time");
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::invalid_argument("--config: cannot read " + path);
    }
    return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<colock::config> read_lock_config(const raw_options& raw) {
    const bool has_locks = !raw.locks.empty() || !raw.config_file.empty();
    if (raw.store == "versioned" && (raw.no_lock || has_locks)) {
        throw std::invalid_argument(
            "--store versioned uses no locks. Leave out --lock, --config and --no-lock");
    }
    if (raw.no_lock && has_locks) {
        throw std::invalid_argument("--no-lock cannot be combined with --lock or --config");
    }
    if (raw.store == "versioned" || raw.no_lock) {
        return std::nullopt;
    }
    if (!has_locks) {
        throw std::invalid_argument("no lock instances: give --lock, --config or --no-lock");
    }
    if (raw.config_file.empty()) {
        colock::config config = colock::config::from_uris(raw.locks);
        config.label = "%h:%p";
        return config;
    }
    colock::config config = colock::config::from_json(read_file(raw.config_file));
    if (!raw.locks.empty()) {
        config.instances = raw.locks;
        config.validate();
    }
    return config;
}

/// Reports a wrong ttl at the start, and not at the first like.
void check_quarantine(const options& given) {
    const auto quarantine = given.locks ? given.locks->restart_quarantine : std::nullopt;
    if (quarantine && quarantine->count() != 0 && given.lock.ttl > *quarantine) {
        throw std::invalid_argument("--ttl-ms: expected at most " +
                                    std::to_string(quarantine->count()) +
                                    ", the configuration's restart_quarantine_ms, not " +
                                    std::to_string(given.lock.ttl.count()));
    }
}

void interpret(const raw_options& raw, options& result) {
    result.listen = parse_endpoint("--listen", raw.listen);
    result.locks = read_lock_config(raw);
    result.lock.validate();
    if (result.locks && !result.locks->restart_quarantine && result.locks->instances.size() >= 3) {
        result.locks->restart_quarantine = result.lock.ttl;  // of all the services
    }
    check_quarantine(result);
    result.is_versioned = raw.store == "versioned";
    if (result.stripes && !result.locks) {
        throw std::invalid_argument(
            "--stripes needs locks. Leave it out, or give --lock or --config");
    }
    if (result.data != "memory") {
        check_data_uri(result.data);
    }
}

[[noreturn]] void refuse(std::string_view why) {
    std::cerr << "like_counter_service: " << why << '\n';
    std::exit(2);
}

/// With an error that may repeat an argument, and the argument may be a URI with a password.
[[noreturn]] void refuse_arguments(std::string_view why) {
    refuse(why.find('@') == std::string_view::npos
               ? why
               : "wrong arguments. They are not shown, because one may contain a password. "
                 "See --help.");
}

}  // namespace

options read_options(int argc, char** argv) {
    CLI::App app("Counts likes over HTTP, with locks of colock.", "like_counter_service");
    raw_options raw;
    options result;
    result.lock.ttl = milliseconds(3000);
    result.lock.fencing = true;
    // A critical section takes a few milliseconds, so a waiter should not sleep through ten of them.
    result.lock.retry.initial = milliseconds(2);
    result.lock.retry.maximum = milliseconds(50);
    describe(app, raw, result);
    try {
        app.parse(argc, argv);
        interpret(raw, result);
        return result;
    } catch (const CLI::Success& help) {
        std::exit(app.exit(help));
    } catch (const CLI::ParseError& error) {
        refuse_arguments(error.what());
    } catch (const colock::config_error& error) {
        refuse(error.what());
    } catch (const std::invalid_argument& error) {
        refuse_arguments(error.what());
    }
}

}  // namespace like_counter
