// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The driver of the like counter: `load` puts load on service processes and then checks every
// entity. `report` prints the result. `page` starts everything and shows it in a browser.

#include "command_line.hpp"
#include "load.hpp"
#include "page_server.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "services.hpp"
#include "stage.hpp"
#include "verify.hpp"
#include "workload.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

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
using namespace asio::experimental::awaitable_operators;

namespace like_counter::driver {
namespace {

struct options {
    load_options load;
    workload_options workload;
    std::string json;         // where the result goes; "-": stdout
    std::string result_file;  // report: what load has written
    std::string faults_file;
    std::string stale_writes;
    stage_options stage;
    std::uint16_t port = 0;
};

/// Checks before the load that the result can be written there. Returns an error text, or an empty one.
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
    const auto add_targets = [&chosen](const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            chosen.load.targets.push_back(parse_endpoint("--target", text));
        }
    };
    app.add_option_function<std::vector<std::string>>(
           "--target", add_targets, "address:port of a service process. May be repeated.")
        ->required()
        ->allow_extra_args(false);
    workload_options& work = chosen.workload;
    const std::size_t most = 1'000'000;
    add_number<std::size_t>(app, "--connections", chosen.load.connections, 1, 10'000,
                            "number of connections to all targets together");
    add_time(app, "--seconds", chosen.load.duration, 1, 86'400, "duration in seconds");
    add_number<std::size_t>(app, "--users", work.users, 1, most, "number of users");
    add_number<std::size_t>(app, "--entities", work.entities, 1, most, "number of entities");
    add_number<std::size_t>(app, "--authors", work.authors, 1, most, "number of authors");
    add_number(app, "--zipf", work.exponent, 0.0, 5.0,
               "exponent of the Zipf distribution of entities and users. 0: uniform");
    add_number(app, "--unlikes", work.unlike_share, 0.0, 1.0,
               "share of requests that withdraw a like");
    add_number(app, "--reads", work.read_share, 0.0, 1.0,
               "share of requests that only read, 0 to 1");
    add_number(app, "--repeats", work.repeat_share, 0.0, 1.0,
               "share of requests that repeat one of another connection, 0 to 1");
    app.add_option("--seed", work.seed, "seed of all random choices")->capture_default_str();
    app.add_option("--run", work.run, "prefix of the authors' names. Default: a new one");
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
    add_number<std::size_t>(app, "--instances", chosen.stage.lock_servers, 1, 25,
                            "number of lock servers");
    add_time(app, "--ttl-ms", chosen.stage.ttl, 300, 10'000, "ttl of the locks in ms");
    app.add_option("--port", chosen.port,
                   "port of the page on 127.0.0.1. Port 0 selects a free port.")
        ->capture_default_str();
    app.add_option("--redis-server", chosen.stage.redis_server, "program of the servers")
        ->capture_default_str();
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
            {"errors", load.errors},
            {"errors_by_kind", load.errors_by_kind},
            {"likes_per_second", static_cast<double>(load.wishes) / load.elapsed.count()},
            {"latency_us", percentiles(load.wish_latencies)},
            {"latency_of_all_requests_us", percentiles(load.all_latencies)}};
}

asio::awaitable<nlohmann::json> run_load(asio::any_io_executor executor, const options& chosen) {
    workload what(chosen.workload);
    ledger truth;
    services driven(executor, chosen.load.targets);
    const auto before = co_await driven.statuses();

    load work(executor, chosen.load, what, truth);
    progress shown(executor, work, driven, chosen.load.duration);
    auto run_and_stop = [&]() -> asio::awaitable<void> {
        co_await work.run();
        shown.stop();
    };
    co_await (run_and_stop() && shown.run());

    std::cerr << "checking every entity" << std::endl;
    co_await driven.until_quiet(std::chrono::seconds(20));
    http_client client(executor, chosen.load.targets.front());
    const verdict found = co_await verification(client, what, truth).run();
    co_await driven.until_ready(std::chrono::seconds(3));
    const auto after = co_await driven.statuses();

    nlohmann::json result = to_json(work.result());
    result.update(nlohmann::json(found));
    result["mismatches"] =
        found.entity_mismatches + found.author_mismatches + found.unexplained_likes;
    for (const char* counter : {"lock_violations", "stale_writes_refused"}) {
        result[counter] = sum_of(after, counter) - sum_of(before, counter);
    }
    result["unknown_outcomes"] = truth.unknown_requests();
    result["locking"] = after.front().at("locking");
    result["instances"] = merged_instances(after);
    result["services"] = chosen.load.targets.size();
    result["service_status"] = after;
    result["connections"] = chosen.load.connections;
    result["users"] = chosen.workload.users;
    result["entities"] = result["entities_checked"] = chosen.workload.entities;
    result["authors_checked"] = chosen.workload.authors;
    result["seed"] = chosen.workload.seed;
    result["timeline"] = shown.timeline();
    result["faults"] = nlohmann::json::array();
    co_return result;
}

int load_and_check(const options& chosen) {
    asio::io_context context(1);
    auto done = asio::co_spawn(context, run_load(context.get_executor(), chosen), asio::use_future);
    context.run();
    const nlohmann::json result = done.get();
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
                                 std::uint16_t port) {
    asio::signal_set signals(executor, SIGINT, SIGTERM);
    co_await processes.start();
    page_server server(executor, processes, {asio::ip::address_v4::loopback(), port});
    std::cout << "page: " << server.address() << std::endl;
    auto until_signal = [&]() -> asio::awaitable<void> {
        co_await signals.async_wait(asio::as_tuple(asio::use_awaitable));
        signals
            .clear();  // A second signal ends this program immediately, and with it all processes.
        co_await server.stop();
    };
    co_await (server.run() && until_signal());
}

asio::awaitable<void> serve_page_and_end(asio::any_io_executor executor, const options& chosen) {
    stage processes(executor, chosen.stage);
    std::exception_ptr failure;
    try {
        co_await serve_page(executor, processes, chosen.port);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await processes.end();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

int show_page(options chosen) {
    chosen.stage.folder = std::filesystem::absolute(chosen.stage.folder).string();
    chosen.stage.service = std::filesystem::absolute(chosen.stage.service).string();
    asio::io_context context(1);
    auto done = asio::co_spawn(context, serve_page_and_end(context.get_executor(), chosen),
                               asio::use_future);
    context.run();
    done.get();
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
    } catch (const std::invalid_argument& error) {
        std::cerr << "like_counter_driver: " << error.what() << '\n';
        return 2;
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
    } catch (const std::exception& error) {
        std::cerr << "like_counter_driver: " << error.what() << '\n';
        return 3;
    }
}
