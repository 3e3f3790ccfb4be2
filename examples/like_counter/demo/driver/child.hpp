// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_CHILD_HPP
#define LIKE_COUNTER_DRIVER_CHILD_HPP

#include <string>
#include <vector>

#include <sys/types.h>

namespace like_counter::driver {

enum class child_state { running, stopped, ended };

/// A process that this program has started. It ends with this program, even if this program is killed.
class child {
public:
    /// Starts a program in a folder. Its output is appended to a file. Throws `std::system_error`.
    child(std::vector<std::string> command, const std::string& folder,
          const std::string& output_file);
    /// Kills the process, if it still exists.
    ~child();
    child(const child&) = delete;
    child& operator=(const child&) = delete;

    /// These do nothing if the process has ended.
    void stop();        ///< SIGSTOP
    void resume();      ///< SIGCONT
    void ask_to_end();  ///< SIGTERM, and SIGCONT if it is stopped
    void kill();        ///< SIGKILL. Waits until it has ended.

    [[nodiscard]] child_state state();
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    void send(int signal);

    pid_t pid_;
    child_state state_ = child_state::running;
};

}  // namespace like_counter::driver

#endif
