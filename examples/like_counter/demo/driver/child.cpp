// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace like_counter::driver {
namespace {

/// In the child process, between fork and exec. Allocates no memory.
[[noreturn]] void become(char** arguments, const char* folder, const char* output_file,
                         pid_t parent) {
    ::setpgid(0, 0);  // A Ctrl-C on the terminal goes to the parent alone.
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {  // It ended before that.
        ::_exit(127);
    }
#else
    static_cast<void>(parent);
#endif
    const int input = ::open("/dev/null", O_RDONLY);
    const int output = ::open(output_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (input < 0 || output < 0 || ::chdir(folder) != 0) {
        ::_exit(127);
    }
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::closefrom(STDERR_FILENO + 1);  // the parent's sockets
    ::execvp(arguments[0], arguments);
    ::_exit(127);
}

}  // namespace

child::child(std::vector<std::string> command, const std::string& folder,
             const std::string& output_file) {
    std::vector<char*> arguments;
    for (std::string& argument : command) {
        arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(arguments.data(), folder.c_str(), output_file.c_str(), parent);
    }
    if (pid_ < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
}

child::~child() {
    kill();
}

void child::stop() {
    if (state() != child_state::ended) {
        send(SIGSTOP);
        state_ = child_state::stopped;
    }
}

void child::resume() {
    if (state() == child_state::stopped) {
        send(SIGCONT);
        state_ = child_state::running;
    }
}

void child::ask_to_end() {
    if (state() != child_state::ended) {
        send(SIGTERM);
        resume();
    }
}

void child::kill() {
    if (state() != child_state::ended) {
        send(SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
        state_ = child_state::ended;
    }
}

child_state child::state() {
    if (state_ != child_state::ended && ::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        state_ = child_state::ended;
    }
    return state_;
}

void child::send(int signal) {
    ::kill(pid_, signal);
}

}  // namespace like_counter::driver
