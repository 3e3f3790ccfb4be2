// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace colock::test {
namespace {

[[noreturn]] void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// Runs between fork and exec, so it may make only async-signal-safe calls.
[[noreturn]] void become(char* const* arguments, pid_t parent, int input, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && ::dup2(input, STDIN_FILENO) >= 0 &&
        ::dup2(output, STDOUT_FILENO) >= 0) {
        ::close_range(3, ~0U, 0);
        ::execvp(arguments[0], arguments);
    }
    ::_exit(127);
}

}  // namespace

child_process::child_process(std::string name, std::vector<std::string> command)
    : name_(std::move(name)) {
    std::vector<char*> arguments;
    for (auto& word : command) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    // Standard input is a socket, because a write to a socket can avoid SIGPIPE. Standard output is a
    // separate pipe. If the child makes one of them non-blocking, the other is not affected.
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in.data()) != 0) {
        throw_errno("socketpair");
    }
    if (::pipe2(out.data(), O_CLOEXEC) != 0) {
        const int reason = errno;
        ::close(in[0]);
        ::close(in[1]);
        errno = reason;
        throw_errno("pipe2");
    }
    const pid_t parent = ::getpid();
    // Otherwise a child whose exec fails would also write the buffered output. ThreadSanitizer flushes even
    // in _exit.
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        become(arguments.data(), parent, in[1], out[1]);
    }
    const int reason = errno;
    ::close(in[1]);
    ::close(out[1]);
    if (child < 0) {
        ::close(in[0]);
        ::close(out[0]);
        errno = reason;
        throw_errno("fork");
    }
    pid_ = child;
    input_ = in[0];
    output_ = out[0];
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
}

child_process::~child_process() {
    kill();
    if (input_ >= 0) {
        ::close(input_);
        ::close(output_);
    }
}

child_process::child_process(child_process&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, 0)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      received_(std::move(other.received_)),
      ended_(other.ended_) {}

void child_process::tell(const std::string& line) const {
    const std::string text = line + '\n';
    for (std::string_view rest = text; !rest.empty();) {
        const auto sent = ::send(input_, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            throw std::runtime_error(name_ + ": the process has ended");
        }
        rest.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }
}

std::optional<std::string> child_process::line() {
    receive();
    if (const auto end = received_.find('\n'); end != std::string::npos) {
        auto line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
    }
    if (ended_) {
        throw std::runtime_error(name_ + ": the process has ended");
    }
    return std::nullopt;
}

std::string child_process::wait_for_line(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        if (auto next = line()) {
            return *std::move(next);
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            throw std::runtime_error(name_ + ": no answer in " + std::to_string(timeout.count()) +
                                     " ms");
        }
        pollfd one{.fd = output_, .events = POLLIN, .revents = 0};
        ::poll(&one, 1, static_cast<int>(left.count()));
    }
}

void child_process::ask_to_end() const {
    if (pid_ > 0) {
        ::kill(pid_, SIGTERM);
    }
}

std::optional<int> child_process::exit_code(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) != pid_) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return std::nullopt;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pid_ = 0;
    return WIFEXITED(status) ? std::optional<int>(WEXITSTATUS(status)) : std::nullopt;
}

void child_process::kill() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
    }
}

void child_process::pause() const {
    // Uses waitid with WNOWAIT. waitpid would reap an ended process, and `kill` could no longer find it.
    siginfo_t happened{};
    if (pid_ == 0 || ::kill(pid_, SIGSTOP) != 0) {
        throw std::runtime_error(name_ + ": the process has ended");
    }
    const auto id = static_cast<id_t>(pid_);
    while (::waitid(P_PID, id, &happened, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    if (happened.si_code != CLD_STOPPED) {
        throw std::runtime_error(name_ + ": the process has ended");
    }
}

void child_process::resume() const {
    if (pid_ > 0) {
        ::kill(pid_, SIGCONT);
    }
}

void child_process::receive() {
    std::array<char, 4096> chunk;
    while (!ended_) {
        const auto size = ::read(output_, chunk.data(), chunk.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return;
        }
        ended_ = size == 0;
        received_.append(chunk.data(), static_cast<std::size_t>(size));
    }
}

}  // namespace colock::test
