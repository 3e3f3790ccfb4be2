// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_CHILD_PROCESS_HPP
#define COLOCK_TEST_SUPPORT_CHILD_PROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace colock::test {

/// A process of ours that is told what to do by lines on its standard input, and answers by lines on
/// its standard output. It is killed with the object, and with the thread that started it.
///
/// Throws `std::system_error` where the system refuses, and `std::runtime_error` as said.
class child_process {
public:
    /// Starts a program, found as a shell would find it, with its arguments. `name` is for what is
    /// said about it. That there is no such program is told by its end.
    child_process(std::string name, std::vector<std::string> command);
    ~child_process();
    child_process(child_process&& other) noexcept;
    child_process& operator=(child_process&&) = delete;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// One line, without its end. Throws `std::runtime_error` if the process is gone.
    void tell(const std::string& line) const;

    /// Its next line, if that is there already. Throws `std::runtime_error` if it has ended, and said
    /// nothing more.
    std::optional<std::string> line();

    /// Its next line. Throws `std::runtime_error` if that does not come.
    std::string wait_for_line(std::chrono::milliseconds timeout = std::chrono::seconds(20));

    /// SIGTERM; it may go on for a while. No effect on one that is gone.
    void ask_to_end() const;

    /// SIGKILL; it is gone when this returns. No effect on one that is gone.
    void kill();

    /// SIGSTOP; it has stopped when this returns. Throws `std::runtime_error` if it has ended.
    void pause() const;

    /// SIGCONT.
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
