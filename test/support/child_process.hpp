// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_CHILD_PROCESS_HPP
#define COLOCK_TEST_SUPPORT_CHILD_PROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// A child process that receives commands as lines on its standard input, and answers with lines on its
/// standard output. It is killed with the object, and with the thread that started it.
///
/// Throws `std::system_error` if a system call fails, and `std::runtime_error` where a member says so.
class child_process {
public:
    /// Starts a program with its arguments. The program is searched for in PATH, like in a shell. Error texts
    /// contain `name`. If there is no such program, the child ends immediately.
    child_process(std::string name, std::vector<std::string> command);
    ~child_process();
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Sends one line. `line` has no newline. Throws `std::runtime_error` if the process has ended.
    void tell(const std::string& line) const;

    /// Returns the next line, if it has already arrived. Throws `std::runtime_error` if the process has ended
    /// and all its lines have been read.
    std::optional<std::string> line();

    /// Waits for the next line. Throws `std::runtime_error` if none arrives in time.
    std::string wait_for_line(std::chrono::milliseconds timeout = std::chrono::seconds(20));

    /// Sends SIGTERM. The process may continue for a while. Has no effect if it has ended.
    void ask_to_end() const;

    /// Waits for the end. Returns the exit code, or nothing if a signal has ended the process or if it has not
    /// ended in time.
    std::optional<int> exit_code(std::chrono::milliseconds timeout = std::chrono::seconds(30));

    /// Sends SIGKILL, and waits for the end. Has no effect if the process has ended.
    void kill();

    /// Sends SIGSTOP, and waits until the process has stopped. Throws `std::runtime_error` if it has ended.
    void pause() const;

    /// Sends SIGCONT.
    void resume() const;

private:
    void receive();

    std::string name_;
    pid_t pid_ = 0;
    int input_ = -1;
    int output_ = -1;
    std::string received_;
    bool ended_ = false;
};

}  // namespace colock::test

#endif
