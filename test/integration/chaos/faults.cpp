// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/faults.hpp"

#include "support/deadline.hpp"

#include <exception>

namespace colock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using way = test::tcp_proxy::way;

milliseconds between(milliseconds shortest, milliseconds longest, random_engine& random) {
    return milliseconds(std::uniform_int_distribution(shortest.count(), longest.count())(random));
}

way any_way(random_engine& random) {
    constexpr way all[] = {way::to_server, way::to_client, way::both};
    return all[std::uniform_int_distribution<std::size_t>(0, 2)(random)];
}

void pass_again(target& to) {
    to.network.resume();
}

void nothing(target& /*to*/) {}

/// Starts a script that never ends. The call returns when the script is killed, or fails with a timeout. The
/// result is ignored.
void begin_busy_script(target& to, milliseconds /*duration*/, random_engine& /*random*/) {
    to.caller = std::jthread([&server = to.server] {
        try {
            server.command({"EVAL", "while true do end", "0"});
        } catch (const std::exception&) {
        }
    });
}

/// Kills the script. SCRIPT KILL has no effect until the server considers the script busy, so it is repeated.
void end_busy_script(target& to) {
    test::wait_until([&] {
        try {
            to.server.command({"SCRIPT", "KILL"});
            return true;
        } catch (const test::redis_error&) {
            return false;
        }
    });
    to.caller.join();
}

std::vector<fault> make_faults() {
    const auto command = [](std::vector<std::string> words) {
        return [words](target& to, milliseconds, random_engine&) { to.server.command(words); };
    };
    return {
        {"stop", 100ms, 2500ms, [](target& to, auto, auto&) { to.server.pause(); },
         [](target& to) { to.server.resume(); }},
        {"restart", 0ms, 1000ms, [](target& to, auto, auto&) { to.server.kill(); },
         [](target& to) { to.server.restart(); }},
        {"delay", 200ms, 2000ms,
         [](target& to, auto, auto& random) {
             to.network.delay(between(10ms, 400ms, random), any_way(random));
         },
         pass_again},
        {"hold", 100ms, 2500ms, [](target& to, auto, auto&) { to.network.hold(); }, pass_again},
        {"cut", 0ms, 1000ms,
         [](target& to, auto, auto&) {
             to.network.refuse();
             to.network.cut();
         },
         [](target& to) { to.network.accept(); }},
        {"drop", 100ms, 2500ms, [](target& to, auto, auto&) { to.network.drop(); }, pass_again},
        {"one_way", 100ms, 2500ms,
         [](target& to, auto, auto& random) {
             const bool requests_pass = std::bernoulli_distribution()(random);
             to.network.drop(requests_pass ? way::to_client : way::to_server);
         },
         pass_again},
        // This fault ends without a command, because a paused server would execute none.
        {"client_pause", 100ms, 2500ms,
         [](target& to, milliseconds duration, auto&) {
             to.server.command({"CLIENT", "PAUSE", std::to_string(duration.count()), "ALL"});
         },
         nothing},
        {"client_kill", 0ms, 0ms, command({"CLIENT", "KILL", "TYPE", "normal"}), nothing},
        {"script_flush", 0ms, 0ms, command({"SCRIPT", "FLUSH"}), nothing},
        {"out_of_memory", 100ms, 2500ms, command({"CONFIG", "SET", "maxmemory", "1"}),
         [](target& to) {
             to.server.command({"CONFIG", "SET", "maxmemory", "0"});
         }},
        {"busy_script", 100ms, 1500ms, begin_busy_script, end_busy_script},
    };
}

}  // namespace

const std::vector<fault>& instance_faults() {
    static const std::vector<fault> all = make_faults();
    return all;
}

}  // namespace colock::chaos
