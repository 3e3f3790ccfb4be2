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

/// The server answered a `redis_server::command` with an error.
class redis_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A folder under the system's temporary folder; gone with the object.
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

/// A redis-server process of our own on 127.0.0.1, in a temporary folder, without persistence. It
/// ends with the object, and with the thread that started it. The program is `redis-server`, or
/// what the environment variable COLOCK_REDIS_SERVER names.
///
/// All members block. Each throws `std::runtime_error` when the server does not do as told.
class redis_server {
public:
    /// Starts it, and waits until it answers. `arguments` come after our own and so overrule them:
    /// `{"--requirepass", "x"}`, `{"--appendonly", "yes"}`.
    /// With a launcher, that program is started with its own arguments, and has to become the server: `{"env", "A=1"}`.
    explicit redis_server(std::vector<std::string> arguments = {},
                          std::vector<std::string> launcher = {});
    ~redis_server();
    redis_server(redis_server&& other) noexcept;
    redis_server& operator=(redis_server&& other) noexcept;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

    /// 0 while it is killed.
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    /// `redis://127.0.0.1:port`, with the password of `--requirepass` if there is one.
    [[nodiscard]] std::string uri() const;

    /// `unix:///path`, to the same server, likewise.
    [[nodiscard]] std::string unix_uri() const;

    /// Its working folder.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_.path(); }

    /// What it has said since it was started last.
    [[nodiscard]] std::string log() const;

    /// SIGKILL; it is gone when this returns. No effect on a killed one.
    void kill();

    /// SIGSTOP: connections stay, nothing is answered. It has stopped when this returns.
    void pause();

    /// SIGCONT.
    void resume();

    /// Kills it if it runs, starts it anew on the same port, in the same folder.
    void restart();

    /// One command, over a connection of its own and none of the library's code: a status, an
    /// integer or a string as text, nil as an empty optional, the elements of an array each on a
    /// line. Throws `redis_error` for an error reply, `std::runtime_error` after five seconds
    /// without an answer.
    std::optional<std::string> command(const std::vector<std::string>& words,
                                       unsigned database = 0) const;

    /// Whether it has this key.
    [[nodiscard]] bool has(std::string_view key) const;

    /// All keys of database 0, sorted.
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
