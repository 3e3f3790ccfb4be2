// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The driver of the like counter: `load` puts load on service processes and then checks every
// entity. `report` prints the result. `page` starts everything and shows it in a browser.

#include "load.hpp"
#include "page_server.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "services.hpp"
#include "stage.hpp"
#include "together.hpp"
#include "verify.hpp"
#include "workload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace asio = boost::asio;

namespace like_counter::driver {
namespace {

struct options {
    std::vector<std::string> targets;
    std::size_t connections = 32;
    std::int64_t seconds = 10;
    workload_options workload;
    std::string json;         // where the result goes; "-": stdout
    std::string result_file;  // report: what load has written
    std::string faults_file;
    std::string stale_writes;
    stage_options stage;
    std::int64_t ttl_ms = 3000;
    std::uint16_t port = 0;
};

/// Empty, or that a result could not be written there: said before the load, not after it.
std::string writable_file(const std::string& path) {
    std::error_code ignored;
    const bool is_new = !std::filesystem::exists(path, ignored);
    if (path != "-" && !std::ofstream(path, std::ios::app)) {
        return "cannot write " + path;
    }
    if (is_new) {
        std::filesystem::remove(path, ignored);
    }
    return {};
}

void describe_load(CLI::App& app, options& chosen) {
    app.add_option("--target", chosen.targets,
                   "address:port of a service process. May be repeated.")
        ->required()
        ->allow_extra_args(false);
    app.add_option("--connections", chosen.connections,
                   "number of connections to all targets together")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    app.add_option("--seconds", chosen.seconds, "duration in seconds")
        ->check(CLI::Range(1, 86'400))
        ->capture_default_str();
    app.add_option("--users", chosen.workload.users, "number of users")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--entities", chosen.workload.entities, "number of entities")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--authors", chosen.workload.authors, "number of authors")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--zipf", chosen.workload.exponent,
                   "exponent of the Zipf distribution of entities and users. 0: uniform")
        ->check(CLI::Range(0.0, 5.0))
        ->capture_default_str();
    app.add_option("--unlikes", chosen.workload.unlike_share,
                   "share of requests that withdraw a like")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--reads", chosen.workload.read_share,
                   "share of requests that only read, 0 to 1")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--repeats", chosen.workload.repeat_share,
                   "share of requests that repeat one of another connection, 0 to 1")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    app.add_option("--seed", chosen.workload.seed, "seed of all random choices")
        ->capture_default_str();
    app.add_option("--run", chosen.workload.run,
                   "prefix of the authors' names. Default: a new one");
    app.add_option("--json", chosen.json, "file for the result, or - for stdout")
        ->required()
        ->check(writable_file);
}

void describe_report(CLI::App& app, options& chosen) {
    app.add_option("RESULT", chosen.result_file, "file that the command load has written")
        ->required();
    app.add_option("--faults", chosen.faults_file, "file with the faults of the lock servers");
    app.add_option("--stale-writes", chosen.stale_writes,
                   "rejected and attempted stale writes, as REFUSED/MADE")
        ->check([](const std::string& text) {
            return read_stale_writes(text) ? std::string() : "expected REFUSED/MADE, not " + text;
        });
    app.add_option("--json", chosen.json, "file for the result with the faults")
        ->check(writable_file);
}

void describe_page(CLI::App& app, options& chosen) {
    app.add_option("--service", chosen.stage.service, "program of the service")
        ->required()
        ->check(CLI::ExistingFile);
    app.add_option("--folder", chosen.stage.folder, "folder for the logs of the processes")
        ->required()
        ->check(CLI::ExistingDirectory);
    app.add_option("--instances", chosen.stage.lock_servers, "number of lock servers")
        ->check(CLI::Range(1, 25))
        ->capture_default_str();
    app.add_option("--ttl-ms", chosen.ttl_ms, "ttl of the locks in ms")
        ->check(CLI::Range(300, 10'000))
        ->capture_default_str();
    app.add_option("--port", chosen.port,
                   "port of the page on 127.0.0.1. Port 0 selects a free port.")
        ->capture_default_str();
    app.add_option("--redis-server", chosen.stage.redis_server, "program of the servers")
        ->capture_default_str();
}

asio::ip::tcp::endpoint parse_target(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos) {
        throw std::invalid_argument("--target: expected address:port, not " + text);
    }
    const auto port = CLI::Range(1, 65535)(std::string(text.substr(colon + 1)));
    boost::system::error_code no_address;
    const auto address = asio::ip::make_address(text.substr(0, colon), no_address);
    if (!port.empty() || no_address) {
        throw std::invalid_argument("--target: expected address:port, not " + text);
    }
    return {address, static_cast<asio::ip::port_type>(std::stoi(text.substr(colon + 1)))};
}

load_options load_options_of(const options& chosen) {
    load_options result;
    for (const std::string& target : chosen.targets) {
        result.targets.push_back(parse_target(target));
    }
    result.connections = chosen.connections;
    result.duration = std::chrono::seconds(chosen.seconds);
    return result;
}

void write_json(const std::string& path, const nlohmann::json& value) {
    if (path == "-") {
        std::cout << value.dump(2) << '\n';
        return;
    }
    std::ofstream file(path);
    file << value.dump(2) << '\n';
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + path);
    }
}

nlohmann::json percentiles(const latencies& all) {
    return {{"p50", all.percentile(0.50).count()}, {"p99", all.percentile(0.99).count()}};
}

nlohmann::json to_json(const load_result& load) {
    return {{"seconds", load.elapsed.count()},
            {"requests", load.requests},
            {"wishes", load.wishes},
            {"changes", load.changes},
            {"errors", load.error_count()},
            {"errors_by_kind", load.errors},
            {"likes_per_second", static_cast<double>(load.wishes) / load.elapsed.count()},
            {"latency_us", percentiles(load.wish_latencies)},
            {"latency_of_all_requests_us", percentiles(load.all_latencies)}};
}

nlohmann::json to_json(const verdict& found) {
    return {{"accepted", found.accepted},
            {"counted", found.counted},
            {"set_members", found.set_members},
            {"author_total", found.author_total},
            {"entities_checked", found.entities},
            {"authors_checked", found.authors},
            {"mismatches", found.mismatches()},
            {"entity_mismatches", found.entity_mismatches},
            {"author_mismatches", found.author_mismatches},
            {"unexplained_likes", found.unexplained},
            {"mismatch_examples", found.examples}};
}

asio::awaitable<nlohmann::json> run_load(asio::any_io_executor executor, const options& chosen) {
    const load_options how = load_options_of(chosen);
    workload what(chosen.workload);
    ledger truth;
    services driven(executor, how.targets);
    const auto before = co_await driven.statuses();

    load work(executor, how, what, truth);
    progress shown(executor, work, driven, how.duration);
    asio::co_spawn(executor, shown.run(), [](std::exception_ptr) {});
    co_await work.run();
    co_await shown.stop();

    std::cerr << "checking every entity" << std::endl;
    co_await driven.until_quiet(std::chrono::seconds(20));
    http_client client(executor, how.targets.front());
    const verdict found = co_await verify(client, what, truth);
    co_await driven.until_ready(std::chrono::seconds(3));
    const auto after = co_await driven.statuses();

    nlohmann::json result = to_json(work.result());
    result.update(to_json(found));
    result["unknown_outcomes"] = truth.unknown_requests();
    result["lock_violations"] =
        sum_of(after, "lock_violations") - sum_of(before, "lock_violations");
    result["stale_writes_refused"] =
        sum_of(after, "stale_writes_refused") - sum_of(before, "stale_writes_refused");
    result["locking"] = after.front().at("locking");
    result["instances"] = merged_instances(after);
    result["services"] = how.targets.size();
    result["service_status"] = after;
    result["connections"] = how.connections;
    result["users"] = chosen.workload.users;
    result["entities"] = chosen.workload.entities;
    result["seed"] = chosen.workload.seed;
    result["timeline"] = shown.timeline();
    result["faults"] = nlohmann::json::array();
    co_return result;
}

int load_and_check(const options& chosen) {
    asio::io_context context(1);
    nlohmann::json result;
    asio::co_spawn(context, run_load(context.get_executor(), chosen),
                   [&result](const std::exception_ptr& failure, nlohmann::json told) {
                       if (failure) {
                           std::rethrow_exception(failure);
                       }
                       result = std::move(told);
                   });
    context.run();
    write_json(chosen.json, result);
    return is_good(result) ? 0 : 1;
}

int report(const options& chosen) {
    std::ifstream file(chosen.result_file);
    nlohmann::json result = nlohmann::json::parse(file, nullptr, false);
    if (!result.is_object()) {
        throw std::runtime_error(chosen.result_file + " is not what `load --json` writes");
    }
    if (!chosen.faults_file.empty()) {
        result["faults"] = read_faults(chosen.faults_file);
    }
    if (const auto stale = read_stale_writes(chosen.stale_writes)) {
        result["stale_writes_made"] = stale->made;
        result["stale_writes_refused"] =
            result.value("stale_writes_refused", std::uint64_t{0}) + stale->refused;
    }
    if (!chosen.json.empty()) {
        write_json(chosen.json, result);
    }
    print_report(std::cout, result);
    return is_good(result) ? 0 : 1;
}

asio::awaitable<void> serve_page(asio::any_io_executor executor, stage& processes,
                                 std::uint16_t port, asio::signal_set& signals) {
    co_await processes.start();
    page_server server(executor, processes, {asio::ip::address_v4::loopback(), port});
    std::cout << "page: " << server.address() << std::endl;
    auto until_signal = [&]() -> asio::awaitable<void> {
        co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
        signals.clear();  // A second signal ends this program at once, and with it all processes.
        co_await server.stop();
    };
    std::vector<asio::awaitable<void>> both;
    both.push_back(server.run());
    both.push_back(until_signal());
    co_await together(executor, std::move(both));
}

asio::awaitable<void> serve_page_and_end(asio::any_io_executor executor, const options& chosen,
                                         asio::signal_set& signals) {
    stage processes(executor, chosen.stage);
    std::exception_ptr failure;
    try {
        co_await serve_page(executor, processes, chosen.port, signals);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await processes.end();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

int show_page(options chosen) {
    chosen.stage.ttl = std::chrono::milliseconds(chosen.ttl_ms);
    chosen.stage.folder = std::filesystem::absolute(chosen.stage.folder).string();
    chosen.stage.service = std::filesystem::absolute(chosen.stage.service).string();
    asio::io_context context(1);
    asio::signal_set signals(context, SIGINT, SIGTERM);
    asio::co_spawn(context, serve_page_and_end(context.get_executor(), chosen, signals),
                   [](const std::exception_ptr& failure) {
                       if (failure) {
                           std::rethrow_exception(failure);
                       }
                   });
    context.run();
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app("Drives the like counter.", "like_counter_driver");
    options chosen;
    chosen.workload.run = "run" + std::to_string(std::random_device()());
    CLI::App& load_command =
        *app.add_subcommand("load", "sends requests to the services, and checks the replies");
    CLI::App& report_command = *app.add_subcommand("report", "prints the result");
    CLI::App& page_command = *app.add_subcommand(
        "page", "starts lock servers, a data server and services, and shows them in a browser");
    app.require_subcommand(1);
    describe_load(load_command, chosen);
    describe_report(report_command, chosen);
    describe_page(page_command, chosen);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (page_command.parsed()) {
        return show_page(chosen);
    }
    return load_command.parsed() ? load_and_check(chosen) : report(chosen);
}

}  // namespace
}  // namespace like_counter::driver

// Exit codes: 0 good, 1 mismatches or lock violations, 2 wrong use, 3 could not be found out.
int main(int argc, char** argv) {
    try {
        return like_counter::driver::run(argc, argv);
    } catch (const std::invalid_argument& error) {
        std::cerr << "like_counter_driver: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "like_counter_driver: " << error.what() << '\n';
        return 3;
    }
}
