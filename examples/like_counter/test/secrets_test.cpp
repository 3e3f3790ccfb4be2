// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// That no password is in anything the service says, in a run in which everything fails.

#include "http_connection.hpp"

#include "support/child_process.hpp"
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
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {
extern const char* const path_of_like_counter_service;  // cmake/testing.cmake writes its definition
}

namespace like_counter::test {
namespace {

using namespace colock::test;
using nlohmann::json;
using strings = std::vector<std::string>;

/// All lines of a service, on both its outputs.
class service {
public:
    explicit service(const strings& arguments) : process_("the service", command_line(arguments)) {}

    /// Where it says that it listens.
    asio::ip::tcp::endpoint listens_at(transcript& said) {
        const std::string beginning = "listening on http://127.0.0.1:";
        for (;;) {
            const std::string line = process_.wait_for_line();
            said.add(line);
            if (line.starts_with(beginning)) {
                return {asio::ip::address_v4::loopback(),
                        static_cast<std::uint16_t>(std::stoi(line.substr(beginning.size())))};
            }
        }
    }

    void ask_to_end() const { process_.ask_to_end(); }

    /// What it says until it has ended.
    void add_rest(transcript& said) {
        try {
            for (;;) {
                said.add(process_.wait_for_line());
            }
        } catch (const std::runtime_error& ended) {
            BOOST_TEST(std::string_view(ended.what()).ends_with("the process has ended"));
        }
    }

private:
    static strings command_line(const strings& arguments) {
        strings result{"/bin/sh", "-c", R"(exec "$@" 2>&1)", "sh", path_of_like_counter_service};
        result.insert(result.end(), arguments.begin(), arguments.end());
        return result;
    }

    child_process process_;
};

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
    service refused(arguments);
    refused.add_rest(said);
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
        service running(
            {"--listen", "127.0.0.1:0", "--config", file, "--data", at(":" + password, data)});
        const auto where = running.listens_at(said);
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
        running.ask_to_end();
        running.add_rest(said);
        said.check_has({"WRONGPASS", "ERR unknown command `HELLO`", "not RESP3", "refused",
                        "locks_unavailable", "0 of 5 instances granted the lock", "unreachable",
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
