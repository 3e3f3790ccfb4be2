// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/machine.hpp"

#include <boost/version.hpp>

#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace colock::benchmark {
namespace {

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

std::string kernel() {
    utsname name{};
    ::uname(&name);
    return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

std::string boost_version() {
    return std::to_string(BOOST_VERSION / 100000) + "." +
           std::to_string(BOOST_VERSION / 100 % 1000) + "." + std::to_string(BOOST_VERSION % 100);
}

/// Returns a version such as "redis 7.0.15" or "valkey 9.0.0".
std::string server_version(const test::redis_server& server) {
    std::istringstream lines(server.command({"INFO", "server"}).value_or(""));
    std::string version = "unknown";
    for (std::string line; std::getline(lines, line);) {
        while (!line.empty() && line.back() == '\r') {
            line.pop_back();
        }
        // Valkey first reports the Redis version that it is compatible with, then its own.
        for (const char* name : {"redis", "valkey"}) {
            const auto key = std::string(name) + "_version:";
            if (line.starts_with(key)) {
                version = std::string(name) + " " + line.substr(key.size());
            }
        }
    }
    return version;
}

std::string today() {
    const auto now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

}  // namespace

nlohmann::json describe_machine(const test::redis_server& server) {
    return {{"cpu", cpu_model()},       {"cores", std::thread::hardware_concurrency()},
            {"kernel", kernel()},       {"compiler", compiler()},
            {"boost", boost_version()}, {"redis", server_version(server)},
            {"date", today()}};
}

}  // namespace colock::benchmark
