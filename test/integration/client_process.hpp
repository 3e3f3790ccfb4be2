#ifndef COLOCK_TEST_INTEGRATION_CLIENT_PROCESS_HPP
#define COLOCK_TEST_INTEGRATION_CLIENT_PROCESS_HPP

#include "integration/locks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace colock::test {

/// The process of lock_holder.cpp: a client with one lock, which does what it is told. Killed with
/// the object.
class client_process {
public:
    /// Of the configuration it gets the instances and the timeout of a vote.
    client_process(const std::string& resource, milliseconds ttl, const config& configuration) {
        const nlohmann::json json{
            {"instances", configuration.instances},
            {"instance_timeout_ms", configuration.instance_timeout.count()},
        };
        spawn({LOCK_HOLDER, resource, std::to_string(ttl.count()), json.dump()});
    }
    ~client_process() {
        kill();
        ::close(channel_);
    }
    client_process(const client_process&) = delete;
    client_process& operator=(const client_process&) = delete;

    /// One of the commands of lock_holder.cpp.
    void tell(std::string command) const {
        command += '\n';
        if (::send(channel_, command.data(), command.size(), MSG_NOSIGNAL) < 0) {
            throw std::system_error(errno, std::generic_category(), "the process is gone");
        }
    }

    /// Its next answer, if that is there already.
    std::optional<std::string> answer() {
        char chunk[256];
        for (ssize_t size = 0; (size = ::recv(channel_, chunk, sizeof chunk, MSG_DONTWAIT)) > 0;) {
            received_.append(chunk, static_cast<std::size_t>(size));
        }
        const auto end = received_.find('\n');
        if (end == std::string::npos) {
            return std::nullopt;
        }
        std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
    }

    asio::awaitable<std::string> wait_for_answer() {
        std::optional<std::string> line;
        co_await async_wait_until([&] { return (line = answer()).has_value(); });
        co_return *line;
    }

    asio::awaitable<std::string> ask(std::string command) {
        tell(std::move(command));
        co_return co_await wait_for_answer();
    }

    /// SIGKILL; it is gone when this returns.
    void kill() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
            }
            pid_ = 0;
        }
    }

    /// SIGSTOP; it has stopped when this returns.
    void pause() const {
        ::kill(pid_, SIGSTOP);
        while (::waitpid(pid_, nullptr, WUNTRACED) < 0 && errno == EINTR) {
        }
    }

    /// SIGCONT.
    void resume() const { ::kill(pid_, SIGCONT); }

private:
    void spawn(std::vector<std::string> words) {
        std::vector<char*> arguments;
        for (std::string& word : words) {
            arguments.push_back(word.data());
        }
        arguments.push_back(nullptr);
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
            throw std::system_error(errno, std::generic_category(), "socketpair");
        }
        channel_ = ends[0];
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {  // async-signal-safe calls only
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() == parent && ::dup2(ends[1], STDIN_FILENO) >= 0 &&
                ::dup2(ends[1], STDOUT_FILENO) >= 0) {
                ::close_range(3, ~0U, 0);
                ::execv(arguments[0], arguments.data());
            }
            ::_exit(127);
        }
        ::close(ends[1]);
    }

    pid_t pid_ = 0;
    int channel_ = -1;
    std::string received_;
};

}  // namespace colock::test

#endif
