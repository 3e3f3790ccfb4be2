// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_REDIS_SERVER_HPP
#define COLOCK_TEST_SUPPORT_REDIS_SERVER_HPP

#include "support/reserved_port.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// Thrown if the server replies to `redis_server::command` with an error.
class redis_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A folder in the temporary folder of the system. The destructor deletes it.
class temporary_folder {
public:
    temporary_folder();
    ~temporary_folder();
    temporary_folder(temporary_folder&& other) noexcept;
    temporary_folder& operator=(temporary_folder&& other) noexcept;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

/// A redis-server process on 127.0.0.1, in a temporary folder, without persistence. It ends with the object,
/// and with the thread that started it. The environment variable COLOCK_REDIS_SERVER names the program. The
/// default is `redis-server`.
///
/// All members block. Each throws `std::runtime_error` if the server does not obey.
class redis_server {
public:
    /// Starts the server, and waits until it answers. `arguments` follow the default arguments, and so
    /// override them. Examples are `{"--requirepass", "x"}` and `{"--appendonly", "yes"}`. If there is a
    /// launcher, that program starts with its own arguments, and has to exec the server. An example is
    /// `{"env", "A=1"}`.
    explicit redis_server(std::vector<std::string> arguments = {},
                          std::vector<std::string> launcher = {});
    ~redis_server();
    redis_server(redis_server&& other) noexcept;
    redis_server& operator=(redis_server&& other) noexcept;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

    /// Returns the process id, or 0 while the server is killed.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// Returns `redis://127.0.0.1:port`, with the password of `--requirepass` if there is one.
    [[nodiscard]] std::string uri() const;

    /// Returns `unix:///path` to the same server, with the password if there is one.
    [[nodiscard]] std::string unix_uri() const;

    /// Returns the working folder of the server.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }

    /// Returns the log since the last start.
    [[nodiscard]] std::string log() const;

    /// Sends SIGKILL, and waits for the end. Has no effect on a killed server.
    void kill();

    /// Sends SIGSTOP, and waits until the process has stopped. Connections stay open, and no command is
    /// answered.
    void pause();

    /// Sends SIGCONT.
    void resume();

    /// Kills the server if it runs, and starts it again on the same port, in the same folder.
    void restart();

    /// Runs one command over a separate connection, without any code of the library. Returns a status, an
    /// integer or a string as text. Nil is an empty optional, and each element of an array is on a line of
    /// its own. Throws `redis_error` for an error reply, and `std::runtime_error` after five seconds without
    /// a reply.
    std::optional<std::string> command(const std::vector<std::string>& words,
                                       unsigned database = 0) const;

    /// Sends all commands at once over one connection, and returns their replies as `command` does. Nil becomes
    /// "nil", and an error becomes a text that begins with "error: ".
    [[nodiscard]] std::vector<std::string> replies(
        const std::vector<std::vector<std::string>>& commands) const;

    /// Returns true if the server has this key.
    [[nodiscard]] bool has(std::string_view key) const;

    /// Returns all keys of database 0, sorted.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Deletes all keys of all databases.
    void flush() const;

private:
    void start();
    [[nodiscard]] std::filesystem::path socket_path() const;
    [[nodiscard]] std::vector<std::string> command_line() const;
    [[nodiscard]] bool is_ready() const;
    [[nodiscard]] bool has_ended();

    temporary_folder folder_;
    std::vector<std::string> arguments_;
    std::vector<std::string> launcher_;
    std::string password_;
    reserved_port port_;
    pid_t pid_ = 0;
};

}  // namespace colock::test

#endif
