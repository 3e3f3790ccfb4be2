// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_CHILD_HPP
#define LIKE_COUNTER_DRIVER_CHILD_HPP

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace like_counter::driver {

/// A process that this program has started. It ends with this program, even if this program is killed.
class child {
public:
    /// Starts a program in a folder. Its output is appended to a file. Throws `std::system_error`.
    child(std::vector<std::string> command, const std::string& folder,
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
    /// Kills the process, if it still exists.
    ~child() { kill(); }
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    // These do nothing if the process has ended.

    void stop() {  // SIGSTOP
        if (!is_ended()) {
            ::kill(pid_, SIGSTOP);
            is_stopped_ = true;
        }
    }
    void resume() {  // SIGCONT
        if (is_stopped()) {
            ::kill(pid_, SIGCONT);
            is_stopped_ = false;
        }
    }
    void ask_to_end() {  // SIGTERM
        if (!is_ended()) {
            ::kill(pid_, SIGTERM);
            resume();
        }
    }
    void kill() {  // SIGKILL. Waits until it has ended.
        if (!is_ended()) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
            is_ended_ = true;
        }
    }

    [[nodiscard]] bool is_ended() {
        is_ended_ = is_ended_ || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
        return is_ended_;
    }
    [[nodiscard]] bool is_stopped() { return is_stopped_ && !is_ended(); }
    [[nodiscard]] bool is_running() { return !is_stopped_ && !is_ended(); }
    [[nodiscard]] const char* state() {
        return is_ended() ? "ended" : is_stopped_ ? "stopped" : "running";
    }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    /// In the child process, between fork and exec. Allocates no memory.
    [[noreturn]] static void become(char** arguments, const char* folder, const char* output_file,
                                    [[maybe_unused]] pid_t parent) {
        ::setpgid(0, 0);  // A Ctrl-C on the terminal goes to the parent alone.
#ifdef __linux__
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) {  // It ended before that.
            ::_exit(127);
        }
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

    pid_t pid_;
    bool is_stopped_ = false;
    bool is_ended_ = false;
};

}  // namespace like_counter::driver

#endif
