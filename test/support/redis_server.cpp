// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/redis_server.hpp"

#include "support/deadline.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>

namespace colock::test {
namespace {

[[noreturn]] void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

class file_descriptor {
public:
    explicit file_descriptor(int value) noexcept : value_(value) {}
    ~file_descriptor() {
        if (value_ >= 0) {
            ::close(value_);
        }
    }
    file_descriptor(const file_descriptor&) = delete;
    file_descriptor& operator=(const file_descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return value_; }
    explicit operator bool() const noexcept { return value_ >= 0; }

private:
    int value_;
};

}  // namespace

/// The start of a RESP2 conversation over a UNIX socket, read with blocking calls.
class resp_connection {
public:
    /// Authenticates if there is a password.
    resp_connection(const std::filesystem::path& path, const std::string& password)
        : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (!socket_) {
            throw_errno("socket");
        }
        const timeval timeout{.tv_sec = default_timeout.count(), .tv_usec = 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.native().copy(address.sun_path, sizeof address.sun_path - 1);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
            0) {
            throw_errno("cannot connect to " + path.string());
        }
        if (!password.empty()) {
            ask({"AUTH", password});
        }
    }

    std::optional<std::string> ask(const std::vector<std::string>& words) {
        send({words});
        return read_reply();
    }

    /// Sends the commands at once. One `read_reply` for each of them must follow.
    void send(const std::vector<std::vector<std::string>>& commands) {
        std::string request;
        for (const auto& words : commands) {
            request.append("*").append(std::to_string(words.size())).append("\r\n");
            for (const auto& word : words) {
                request.append("$").append(std::to_string(word.size())).append("\r\n");
                request.append(word).append("\r\n");
            }
        }
        for (std::string_view rest = request; !rest.empty();) {
            const auto sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) {
                continue;
            }
            if (sent < 0) {
                throw_errno("no answer to " + commands.front().front());
            }
            rest.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    std::optional<std::string> read_reply() {
        const auto line = read_line();
        const auto rest = line.substr(1);
        switch (line.front()) {
            case '+':
            case ':':
                return rest;
            case '-':
                throw redis_error(rest);
            case '$':
                return read_string(std::stol(rest));
            case '*':
                return read_array(std::stol(rest));
            default:
                throw std::runtime_error("unexpected reply: " + line);
        }
    }

private:
    std::optional<std::string> read_string(long size) {
        if (size < 0) {
            return std::nullopt;
        }
        auto text = read(static_cast<std::size_t>(size) + 2);
        text.resize(text.size() - 2);
        return text;
    }

    std::optional<std::string> read_array(long size) {
        if (size < 0) {
            return std::nullopt;
        }
        std::string text;
        // Thrown after the last element, so that the next reply follows.
        std::optional<redis_error> error;
        for (long i = 0; i < size; ++i) {
            try {
                text.append(i == 0 ? "" : "\n").append(read_reply().value_or(""));
            } catch (const redis_error& e) {
                error = e;
            }
        }
        if (error) {
            throw redis_error(*error);
        }
        return text;
    }

    std::string read_line() {
        std::size_t end = 0;
        while ((end = buffer_.find("\r\n")) == std::string::npos) {
            receive();
        }
        auto line = buffer_.substr(0, end);
        buffer_.erase(0, end + 2);
        if (line.empty()) {
            throw std::runtime_error("unexpected reply: an empty line");
        }
        return line;
    }

    std::string read(std::size_t size) {
        while (buffer_.size() < size) {
            receive();
        }
        auto text = buffer_.substr(0, size);
        buffer_.erase(0, size);
        return text;
    }

    void receive() {
        char chunk[16384];
        const auto received = ::recv(socket_.get(), chunk, sizeof chunk, 0);
        if (received < 0 && errno == EINTR) {
            return;  // The caller reads again.
        }
        if (received < 0) {
            throw_errno("no answer from the server");
        }
        if (received == 0) {
            throw std::runtime_error("the server closed the connection");
        }
        buffer_.append(chunk, static_cast<std::size_t>(received));
    }

    file_descriptor socket_;
    std::string buffer_;
};

namespace {

/// Runs between fork and exec, so it may make only async-signal-safe calls.
[[noreturn]] void become(char* const* arguments, pid_t parent, int log) {
    // The server must not outlive a test that crashes.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(127);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    // Otherwise the connections of the test would stay open in the server after the test has closed them.
    ::close_range(3, ~0U, 0);
    ::execvp(arguments[0], arguments);
    ::_exit(127);
}

pid_t spawn(std::vector<std::string> words, const std::filesystem::path& log) {
    std::vector<char*> arguments;
    for (auto& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    const file_descriptor output(
        ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output) {
        throw_errno("cannot write " + log.string());
    }
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        throw_errno("fork");
    }
    if (child == 0) {
        become(arguments.data(), parent, output.get());
    }
    return child;
}

std::string password_in(const std::vector<std::string>& arguments) {
    const auto option = std::ranges::find(arguments, "--requirepass");
    return option == arguments.end() || std::next(option) == arguments.end() ? std::string()
                                                                             : *std::next(option);
}

std::filesystem::path make_temporary_folder() {
    // The path of a UNIX socket has at most 107 characters, and the socket is in this folder.
    constexpr std::size_t longest_base = 80;
    std::string base = std::filesystem::temp_directory_path().string();
    if (base.size() > longest_base) {
        base = "/tmp";
    }
    std::string name = base + "/colock.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
        throw_errno("cannot make a folder in " + base);
    }
    return name;
}

}  // namespace

temporary_folder::temporary_folder() : path_(make_temporary_folder()) {}

temporary_folder::~temporary_folder() {
    if (!path_.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
}

temporary_folder::temporary_folder(temporary_folder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

temporary_folder& temporary_folder::operator=(temporary_folder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

redis_server::redis_server(std::vector<std::string> arguments, std::vector<std::string> launcher)
    : arguments_(std::move(arguments)),
      launcher_(std::move(launcher)),
      password_(password_in(arguments_)) {
    // A foreign server may listen on this port already, on all addresses.
    constexpr int tries = 5;
    for (int i = 1;; ++i) {
        try {
            start();
            return;
        } catch (const std::runtime_error&) {
            if (i == tries || log().find("in use") == std::string::npos) {
                throw;
            }
            port_ = reserved_port();
        }
    }
}

redis_server::~redis_server() {
    kill();
}

redis_server::redis_server(redis_server&& other) noexcept
    : folder_(std::move(other.folder_)),
      arguments_(std::move(other.arguments_)),
      launcher_(std::move(other.launcher_)),
      password_(std::move(other.password_)),
      port_(std::move(other.port_)),
      pid_(std::exchange(other.pid_, 0)) {}

redis_server& redis_server::operator=(redis_server&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(arguments_, other.arguments_);
    std::swap(launcher_, other.launcher_);
    std::swap(password_, other.password_);
    std::swap(port_, other.port_);
    std::swap(pid_, other.pid_);
    return *this;
}

std::string redis_server::uri() const {
    const auto user_info = password_.empty() ? "" : ":" + password_ + "@";
    return "redis://" + user_info + "127.0.0.1:" + std::to_string(port());
}

std::string redis_server::unix_uri() const {
    const auto query = password_.empty() ? "" : "?password=" + password_;
    return "unix://" + socket_path().string() + query;
}

void redis_server::kill() {
    if (pid_ == 0) {
        return;
    }
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
}

void redis_server::pause() {
    if (pid_ == 0 || ::kill(pid_, SIGSTOP) != 0) {
        throw std::runtime_error("pause: the server does not run");
    }
    int status = 0;
    while (::waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) {
        pid_ = 0;
        throw std::runtime_error("pause: the server has ended:\n" + log());
    }
}

void redis_server::resume() {
    if (pid_ == 0 || ::kill(pid_, SIGCONT) != 0) {
        throw std::runtime_error("resume: the server does not run");
    }
}

void redis_server::restart() {
    kill();
    start();
}

std::optional<std::string> redis_server::command(const std::vector<std::string>& words,
                                                 unsigned database) const {
    resp_connection connection(socket_path(), password_);
    if (database != 0) {
        connection.ask({"SELECT", std::to_string(database)});
    }
    return connection.ask(words);
}

std::vector<std::string> redis_server::replies(
    const std::vector<std::vector<std::string>>& commands) const {
    resp_connection connection(socket_path(), password_);
    connection.send(commands);
    std::vector<std::string> result;
    while (result.size() != commands.size()) {
        try {
            result.push_back(connection.read_reply().value_or("nil"));
        } catch (const redis_error& error) {
            result.push_back(std::string("error: ") + error.what());
        }
    }
    return result;
}

bool redis_server::has(std::string_view key) const {
    return command({"EXISTS", std::string(key)}) == "1";
}

std::vector<std::string> redis_server::keys() const {
    std::vector<std::string> keys;
    std::istringstream lines(command({"KEYS", "*"}).value_or(""));
    for (std::string key; std::getline(lines, key);) {
        keys.push_back(key);
    }
    std::ranges::sort(keys);
    return keys;
}

void redis_server::flush() const {
    command({"FLUSHALL"});
}

void redis_server::start() {
    std::error_code ignored;
    std::filesystem::remove(socket_path(), ignored);
    pid_ = spawn(command_line(), folder() / "log");
    try {
        wait_until([this] { return has_ended() || is_ready(); }, std::chrono::seconds(20));
    } catch (const deadline_passed&) {
        kill();
        throw std::runtime_error("the server does not answer:\n" + log());
    }
    if (pid_ == 0) {
        throw std::runtime_error("the server did not start:\n" + log());
    }
}

std::filesystem::path redis_server::socket_path() const {
    return folder() / "socket";
}

std::vector<std::string> redis_server::command_line() const {
    const char* program = std::getenv("COLOCK_REDIS_SERVER");
    std::vector<std::string> words = launcher_;
    words.emplace_back(program == nullptr || *program == '\0' ? "redis-server" : program);
    if (std::ranges::find(arguments_, "--sentinel") != arguments_.end()) {
        // A Sentinel saves its state in its configuration file.
        const auto file = folder() / "sentinel.conf";
        std::ofstream(file, std::ios::app).flush();
        words.push_back(file.string());
    }
    const std::vector<std::string> own{"--port",       std::to_string(port()),
                                       "--bind",       "127.0.0.1",
                                       "--unixsocket", socket_path().string(),
                                       "--dir",        folder().string(),
                                       "--save",       "",
                                       "--appendonly", "no",
                                       "--daemonize",  "no"};
    const std::vector<std::string> replicate_at_once{"--repl-diskless-sync-delay", "0"};
    words.insert(words.end(), own.begin(), own.end());
    words.insert(words.end(), replicate_at_once.begin(), replicate_at_once.end());
    words.insert(words.end(), arguments_.begin(), arguments_.end());
    return words;
}

/// Sends PING over the UNIX socket. No other server can own that socket, and the server opens it after its
/// port. While the server loads its data, it replies with an error.
bool redis_server::is_ready() const {
    try {
        return command({"PING"}) == "PONG";
    } catch (const std::runtime_error&) {
        return false;
    }
}

std::string redis_server::log() const {
    std::ifstream file(folder() / "log");
    return {std::istreambuf_iterator<char>(file), {}};
}

bool redis_server::has_ended() {
    if (::waitpid(pid_, nullptr, WNOHANG) != pid_) {
        return false;
    }
    pid_ = 0;
    return true;
}

}  // namespace colock::test
