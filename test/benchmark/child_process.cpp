// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace colock::benchmark {
namespace {

void write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(file, text.data(), text.size());
        if (written < 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::string read_all(int file) {
    std::string text;
    std::array<char, 4096> chunk;
    while (true) {
        const auto size = ::read(file, chunk.data(), chunk.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size <= 0) {
            return text;
        }
        text.append(chunk.data(), static_cast<std::size_t>(size));
    }
}

/// Exits without destructors, because the servers in this copy of the memory belong to the parent.
[[noreturn]] void run_child(const std::function<nlohmann::json()>& work, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    nlohmann::json answer;
    try {
        answer["result"] = work();
    } catch (const std::exception& failure) {
        answer["error"] = failure.what();
    }
    write_all(output, answer.dump());
    ::_exit(0);
}

struct child {
    pid_t id = 0;
    int output = -1;
};

child start(const std::function<nlohmann::json()>& work) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    const pid_t id = ::fork();
    if (id < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (id == 0) {
        ::close(ends[0]);
        run_child(work, ends[1]);
    }
    ::close(ends[1]);
    return {id, ends[0]};
}

/// Returns the child's answer, or an `error` object if the child sent none.
nlohmann::json finish(const child& c) {
    const auto text = read_all(c.output);
    ::close(c.output);
    int status = 0;
    while (::waitpid(c.id, &status, 0) < 0 && errno == EINTR) {
    }
    auto answer = nlohmann::json::parse(text, nullptr, false);
    if (answer.is_discarded()) {
        return {{"error", "the client's process ended with status " + std::to_string(status)}};
    }
    return answer;
}

}  // namespace

nlohmann::json in_child_process(const std::function<nlohmann::json()>& work) {
    return in_child_processes({work}).front();
}

std::vector<nlohmann::json> in_child_processes(
    const std::vector<std::function<nlohmann::json()>>& works) {
    std::vector<child> children;
    for (const auto& work : works) {
        children.push_back(start(work));
    }
    std::vector<nlohmann::json> answers;
    for (const child& each : children) {
        answers.push_back(finish(each));
    }
    std::vector<nlohmann::json> results;
    for (nlohmann::json& answer : answers) {
        if (answer.contains("error")) {
            throw std::runtime_error(answer["error"].get<std::string>());
        }
        results.push_back(std::move(answer["result"]));
    }
    return results;
}

}  // namespace colock::benchmark
