// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "service_process.hpp"

#include <boost/asio/ip/address.hpp>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace colock::test {
extern const char* const path_of_like_counter_service;  // cmake/testing.cmake writes its definition
}

namespace like_counter::test {
using colock::test::path_of_like_counter_service;
namespace {

void check(int error, const char* what) {
    if (error != 0) {
        throw std::system_error(error, std::generic_category(), what);
    }
}

std::vector<char*> argv_of(std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

service_process::service_process(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), path_of_like_counter_service);
    int ends[2];
    check(::pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno, "pipe2");
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    check(::posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
    check(::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO), "adddup2");
    const int failure = ::posix_spawn(&pid_, path_of_like_counter_service, &actions, nullptr,
                                      argv_of(arguments).data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    check(failure, "posix_spawn");
}

service_process::~service_process() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::close(output_);
}

std::optional<boost::asio::ip::tcp::endpoint> service_process::listens_at() {
    const std::string beginning = "listening on http://";
    while (const auto line = next_line()) {
        if (line->starts_with(beginning)) {
            const std::string address = line->substr(beginning.size());
            const auto colon = address.rfind(':');
            const int port = std::stoi(address.substr(colon + 1));
            return boost::asio::ip::tcp::endpoint(
                boost::asio::ip::make_address(address.substr(0, colon)),
                static_cast<boost::asio::ip::port_type>(port));
        }
    }
    return std::nullopt;
}

void service_process::ask_to_stop() const {
    ::kill(pid_, SIGTERM);
}

std::optional<int> service_process::exit_code_within(std::chrono::milliseconds time) {
    const auto deadline = std::chrono::steady_clock::now() + time;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
            return std::nullopt;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = -1;
    return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

std::optional<std::string> service_process::next_line() {
    std::string line;
    char c = 0;
    while (::read(output_, &c, 1) == 1) {
        if (c == '\n') {
            return line;
        }
        line += c;
    }
    return std::nullopt;
}

}  // namespace like_counter::test
