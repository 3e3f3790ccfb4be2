// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Servers that are too old. Also checks that the server of the other tests is the selected program.

#include "instance_rig.hpp"
#include "support/contains.hpp"
#include "support/fake_server.hpp"
#include "support/redis_server.hpp"
#include "support/secrets.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <string>
#include <string_view>

BOOST_AUTO_TEST_SUITE(versions_test)

using namespace colock::test;

namespace {

using boost::unit_test::label;

const std::string needed = ". colock needs RESP3, which Redis 6.0 or newer and Valkey support";

std::string reason_of(const fake_server& server, const std::string& user_info = {}) {
    instance_rig rig("redis://" + user_info + "127.0.0.1:" + std::to_string(server.port()));
    return rig.run_until_down();
}

}  // namespace

BOOST_AUTO_TEST_CASE(redis_5_is_rejected_with_the_required_version) {
    const fake_server server(unknown_command);
    BOOST_TEST(reason_of(server) == "HELLO was refused: ERR unknown command `HELLO`" + needed);
    BOOST_TEST(reason_of(server, "ann:x@") ==
               "HELLO with AUTH was refused: ERR unknown command `HELLO`" + needed);
}

BOOST_AUTO_TEST_CASE(redis_4_is_rejected_with_the_required_version) {
    const fake_server server([](const fake_server::words& command) {
        return "-ERR unknown command '" + command[0] + "'\r\n";
    });
    BOOST_TEST(reason_of(server) == "HELLO was refused: ERR unknown command 'HELLO'" + needed);
}

BOOST_AUTO_TEST_CASE(a_server_that_refuses_resp3_is_rejected_with_a_reason) {
    const fake_server server([](const fake_server::words& command) {
        return command[0] == "HELLO" ? "-NOPROTO unsupported protocol version\r\n"
                                     : answer_as_server(command);
    });
    BOOST_TEST(reason_of(server) ==
               "HELLO was refused: NOPROTO unsupported protocol version" + needed);
}

/// The server has become a replica without closing the connection. Only a script can take a fenced lock, so
/// the script's error is the only sign.
BOOST_AUTO_TEST_CASE(readonly_inside_a_redis_6_script_error_is_detected, *label("fault-99")) {
    // The probe uses this digest, which belongs to no script.
    const std::string digest = std::string(40, '0');
    const fake_server server([&](const fake_server::words& command) -> fake_reply {
        if (command[0] != "EVALSHA" || command[1] == digest) {
            return answer_as_server(command);
        }
        return "-ERR Error running script (call to f_" + command[1] +
               "): @user_script:10: @user_script: 10: -READONLY You can't write against a read "
               "only replica.\r\n";
    });
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const auto vote = rig.ask(fenced_acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    rig.run_until([&] { return contains(rig.status().reason, "it has become a replica (ERR "); });
    rig.run_until_ready();  // The instance connects again.
}

BOOST_AUTO_TEST_CASE(other_refusals_do_not_mention_the_required_version) {
    const redis_server server({"--requirepass", "right"});
    instance_rig rig("redis://:wrong@127.0.0.1:" + std::to_string(server.port()));
    const std::string reason = rig.run_until_down();
    BOOST_TEST(reason.find("WRONGPASS") != std::string::npos, reason);
    BOOST_TEST(reason.find("Redis 6.0") == std::string::npos, reason);
}

BOOST_AUTO_TEST_CASE(the_server_version_matches_the_selected_program) {
    const redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const std::string version = rig.status().version;
    const char* const program =
        std::getenv("COLOCK_REDIS_SERVER");  // NOLINT(concurrency-mt-unsafe)
    const std::string_view name = program == nullptr ? "" : program;
    const int major = std::stoi(version);
    BOOST_TEST_MESSAGE("version " << version);
    if (name.find("redis8") != std::string_view::npos) {
        BOOST_TEST(major >= 8, version);
    } else if (name.find("valkey") != std::string_view::npos) {
        BOOST_TEST(major >= 9, version);
    }
}

BOOST_AUTO_TEST_SUITE_END()
