#include "interop/worker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace colock::interop {
namespace {

[[noreturn]] void throw_errno(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

/// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, pid_t parent, int input, int output) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(127);
    }
    ::dup2(input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::close_range(3, ~0U, 0);
    ::execvp(arguments[0], arguments);
    ::_exit(127);
}

}  // namespace

worker::worker(std::string kind, std::vector<std::string> command) : kind_(std::move(kind)) {
    std::vector<char*> arguments;
    for (auto& word : command) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
        throw_errno("pipe2");
    }
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(arguments.data(), parent, in[0], out[1]);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    output_ = out[0];
    if (pid_ < 0) {
        throw_errno("fork");
    }
    if (const auto first = answer(); first.word != "ready") {
        throw std::runtime_error(kind_ + ": " + first.word + " instead of ready");
    }
}

worker::~worker() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    if (input_ >= 0) {
        ::close(input_);
        ::close(output_);
    }
}

worker::worker(worker&& other) noexcept
    : kind_(std::move(other.kind_)),
      pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)),
      buffer_(std::move(other.buffer_)) {}

void worker::tell(const std::string& line) const {
    const std::string text = line + '\n';
    for (std::string_view rest = text; !rest.empty();) {
        const auto written = ::write(input_, rest.data(), rest.size());
        if (written < 0) {
            throw_errno(("cannot write to " + kind_).c_str());
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

reply worker::answer(std::chrono::milliseconds timeout) {
    const auto line = next_line(timeout);
    std::istringstream words(line);
    reply result;
    std::chrono::nanoseconds::rep began = 0;
    std::chrono::nanoseconds::rep ended = 0;
    if (!(words >> result.word >> began >> ended)) {
        throw std::runtime_error(kind_ + ": " + line);
    }
    result.began = std::chrono::nanoseconds(began);
    result.ended = std::chrono::nanoseconds(ended);
    return result;
}

void worker::pause() const {
    int status = 0;
    ::kill(pid_, SIGSTOP);
    while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) {
        throw std::runtime_error(kind_ + ": the worker has ended");
    }
}

void worker::resume() const {
    ::kill(pid_, SIGCONT);
}

std::string worker::next_line(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
        if (const auto end = buffer_.find('\n'); end != std::string::npos) {
            auto line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return line;
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd one{.fd = output_, .events = POLLIN, .revents = 0};
        if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) == 0) {
            throw std::runtime_error(kind_ + ": no answer in " + std::to_string(timeout.count()) +
                                     " ms");
        }
        char chunk[4096];
        const auto size = ::read(output_, chunk, sizeof chunk);
        if (size == 0) {
            throw std::runtime_error(kind_ + ": the worker has ended");
        }
        if (size > 0) {
            buffer_.append(chunk, static_cast<std::size_t>(size));
        }
    }
}

}  // namespace colock::interop
