// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// That no password is in anything the service says, in a run in which everything fails.

#include "http_connection.hpp"
#include "service_process.hpp"

#include "support/deadline.hpp"
#include "support/fake_server.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"
#include "support/secrets.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace like_counter::test {
namespace {

using namespace colock::test;
using nlohmann::json;
using strings = std::vector<std::string>;

/// Adds what the service says until it has ended.
void add_lines(transcript& said, service_process& service) {
    for (const std::string& line : service.lines()) {
        said.add(line);
    }
}

json ask(transcript& said, const asio::ip::tcp::endpoint& where, const std::string& request) {
    const response answer = http_connection(where).exchange(request);
    for (const auto& field : answer) {
        said.add(std::string(field.name_string()) + ": " + std::string(field.value()));
    }
    said.add(answer.body());
    return json::parse(answer.body());
}

std::string at(const std::string& user_info, std::uint16_t port) {
    return "redis://" + user_info + "@127.0.0.1:" + std::to_string(port);
}

const std::string password = secret("Aa") + "%40" + secret("Bb") + "%22%5C" + secret("Cc");

/// What the service says of arguments that it refuses.
void add_refusal(transcript& said, const strings& arguments) {
    service_process refused(arguments);
    add_lines(said, refused);
}

BOOST_AUTO_TEST_SUITE(like_counter_secrets)

BOOST_AUTO_TEST_CASE(failing_instances_reveal_no_password) {
    const redis_server wrong({"--requirepass", "right"});
    const fake_server old(unknown_command);
    const fake_server no_resp([](const fake_server::words& command) -> fake_reply {
        return "you said " + (command.size() > 4 ? command[4] : "") + "\r\n";
    });
    const reserved_port nobody;
    const temporary_folder folder;
    const std::string secret_file = (folder.path() / "password").string();
    std::ofstream(secret_file) << secret("File");
    const redis_server wrong_file({"--requirepass", "right"});
    const std::string file = (folder.path() / "config.json").string();
    const strings instances{at(":" + password, wrong.port()), at("ann:" + password, old.port()),
                            at(":" + password, no_resp.port()), at(":" + password, nobody.number()),
                            at("", wrong_file.port()) + "?password_file=" + secret_file};
    std::ofstream(file) << json{{"instances", instances}};
    const std::uint16_t data_ports[] = {old.port(), wrong.port(), no_resp.port(), nobody.number()};
    for (const std::uint16_t data : data_ports) {
        transcript said;
        service_process running(
            {"--listen", "127.0.0.1:0", "--config", file, "--data", at(":" + password, data)});
        const auto where = running.listens_at();
        wait_until([&] {
            const json status = ask(said, where, request_text("GET", "/v1/status"));
            return std::ranges::all_of(status.at("instances"), [](const json& one) {
                return one.at("reason").get<std::string>() != "";
            });
        });
        ask(said, where, request_text("GET", "/healthz"));
        ask(said, where,
            request_text("POST", "/v1/entities/ada.first/likes", R"({"user": "bob"})"));
        ask(said, where, request_text("GET", "/v1/entities/ada.first/likes"));
        running.ask_to_stop();
        add_lines(said, running);
        said.check_has({"WRONGPASS", "ERR unknown command `HELLO`", "not RESP3", "refused",
                        "locks_unavailable", "too few instances are connected", "unreachable",
                        "stopped"});
        said.check_no_secret();
    }
}

BOOST_AUTO_TEST_CASE(rejected_arguments_reveal_no_password) {
    transcript said;
    const std::string uri = at(":" + password, 1);
    add_refusal(said, {"--lock", uri + "/x", "--data", "memory"});
    add_refusal(said, {"--lock", uri, "--lock", uri, "--data", "memory"});
    add_refusal(said,
                {"--lock", uri, "--lock", "redis://:a/" + secret("Dd") + "@h", "--data", "memory"});
    add_refusal(said, {"--lock", "memory://a", "--data", uri + "/x"});
    add_refusal(said, {"--lock", "memory://a", "--data", "redis://:" + secret("Dd") + "/a@h"});
    add_refusal(said, {"--lock", "memory://a", "--data", "rediss://:" + password + "@h"});
    add_refusal(said, {"--lock", "memory://a", "--data", "redis+cluster://:" + password + "@h,"});
    add_refusal(said,
                {"--lock", "memory://a", "--data", "redis+cluster://:a/" + secret("Dd") + "@h,h"});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--listen", uri});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--config", uri});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--ttl-ms", uri});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", uri});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--lokc=" + uri});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--listen", "nowhere"});
    add_refusal(said, {"--lock", "memory://a", "--data", "memory", "--lokc"});
    said.check_has({"instances[0]: the database", "duplicates instances[0]", "not nowhere",
                    "--lokc", "one may contain a password"});
    said.check_no_secret();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::test
