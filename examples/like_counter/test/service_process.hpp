// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_TEST_SERVICE_PROCESS_HPP
#define LIKE_COUNTER_TEST_SERVICE_PROCESS_HPP

#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace like_counter::test {

/// A service, as a process of its own. Killed at the end, if it still runs.
class service_process {
public:
    /// Starts it.
    explicit service_process(std::vector<std::string> arguments);
    ~service_process();
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;

    /// Where it says that it listens; nothing if it ends without saying so.
    std::optional<boost::asio::ip::tcp::endpoint> listens_at();

    void ask_to_stop() const;

    /// Its exit code; nothing if it was still there after the time, or was ended by a signal.
    std::optional<int> exit_code_within(std::chrono::milliseconds time);

private:
    std::optional<std::string> next_line();

    pid_t pid_ = -1;
    int output_ = -1;
};

}  // namespace like_counter::test

#endif
