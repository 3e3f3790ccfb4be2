// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Measures the duration of commands and of the production scripts.

#include "kinds/script.hpp"
#include "kinds/scripts.hpp"
#include "support/small_redis/server.hpp"
#include "support/small_redis/session.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace colock;
using namespace colock::small_redis;

constexpr wall_microseconds now = 1'800'000'000'000'000;

std::string encoded(const std::vector<std::string_view>& words) {
    std::string buffer;
    resp::command_writer writer(buffer);
    writer.write(std::span(words));
    return std::string(writer.text());
}

template <typename Function>
void measure(const char* name, std::size_t commands, Function function) {
    constexpr int rounds = 200'000;
    for (int i = 0; i != rounds / 10; ++i) {
        function();
    }
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i != rounds; ++i) {
        function();
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    std::printf("%-40s %7.0f ns a command\n", name,
                took.count() / rounds / static_cast<double>(commands));
}

}  // namespace

int main() {
    server host(valkey_9);
    session client(host);
    const std::string token(40, 'a');
    const std::string reader = "reader:" + token;
    const std::string second = "reader:" + std::string(40, 'b');
    for (const kinds::script& one : kinds::scripts::all) {
        client.receive(encoded({"SCRIPT", "LOAD", one.text}), now);
    }
    const auto play = [&](const char* name, const std::vector<std::vector<std::string_view>>& all) {
        std::vector<std::string> bytes;
        for (const auto& words : all) {
            bytes.push_back(encoded(words));
        }
        client.output().clear();
        client.receive(encoded({"FLUSHALL"}), now);
        for (const std::string& one : bytes) {
            client.receive(one, now);
        }
        std::printf("%s", client.output().find("\r\n-") != std::string::npos
                              ? (client.output() + "\n").c_str()
                              : "");
        measure(name, all.size(), [&] {
            client.output().clear();
            for (const std::string& one : bytes) {
                client.receive(one, now);
            }
        });
    };
    const auto call = [](const kinds::script& script, std::vector<std::string_view> rest) {
        std::vector<std::string_view> result{"EVALSHA", script.digest};
        result.insert(result.end(), rest.begin(), rest.end());
        return result;
    };
    using namespace kinds::scripts;
    play("PING", {{"PING"}});
    play("SET NX PX and DEL", {{"SET", "k", token, "NX", "PX", "10000"}, {"DEL", "k"}});
    play("SET NX PX, denied", {{"SET", "k", token, "NX", "PX", "10000"}});
    play("PTTL", {{"PTTL", "k"}});
    play("SET NX PX and release",
         {{"SET", "k", token, "NX", "PX", "10000"}, call(release, {"1", "k", token})});
    play("extend of a writer",
         {{"SET", "k", token, "NX", "PX", "10000"}, call(extend, {"1", "k", token, "10000"})});
    play("fence and release",
         {call(fence, {"2", "k", "{k}:colock:fence", token, "10000", "0", "86400000"}),
          call(release, {"1", "k", token})});
    play("two shares and two releases",
         {{"SET", "k", reader, "NX", "PX", "10000"},
          call(share, {"1", "k", second, "10000", "{k}:colock:readers"}),
          call(release, {"1", "k", second}),
          call(release, {"1", "k", reader})});
    play("extend among readers", {{"SET", "k", reader, "NX", "PX", "10000"},
                                  call(share, {"1", "k", second, "10000", "{k}:colock:readers"}),
                                  call(extend, {"1", "k", second, "10000"})});
    play("join, join again, leave",
         {call(join, {"2", "q", "t1", "1", "10000", "t"}),
          call(join, {"2", "q", "t1", "1", "10000", "t"}), call(leave, {"2", "q", "t1", "1"})});
    play("extend in full", {{"EVAL", extend.text, "1", "k", token, "10000"}});
    client.receive(encoded({"FLUSHALL"}), now);
    for (int i = 0; i != 10; ++i) {
        client.receive(encoded({"SET", "{k}:colock:" + std::to_string(i), token}), now);
    }
    measure("copy of ten keys", 1, [&] { const keyspace copy = host.keys(); });
    measure("SET into a copy of ten keys", 1, [&] {
        const keyspace copy = host.keys();
        client.output().clear();
        host.execute(now, {"SET", "{k}:colock:5", token});
    });
}
