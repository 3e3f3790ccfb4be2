// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_FLEET_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_FLEET_HPP

#include "integration/chaos/client_settings.hpp"
#include "support/child_process.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace colock::chaos {

/// The client processes, and their last reports.
class fleet {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Starts the processes with the program `client`.
    fleet(const std::string& client, const std::vector<client_settings>& all);

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

    /// Requests a report from every running client, and reads the reports that have arrived. Throws
    /// `std::runtime_error` if a client has exited or does not answer.
    void poll();

    /// Returns whether this instance is ready for every running client. A report counts only if it was
    /// requested a little after `since`. For a client that was stopped, it must also have been requested a
    /// little after the client resumed.
    [[nodiscard]] bool all_ready(std::size_t instance, time_point since) const;

    void pause(std::size_t index);
    void resume(std::size_t index);

    /// Returns the sums over the last reports of all clients.
    [[nodiscard]] client_report total() const;

    /// Ends all clients and waits until they have ended.
    void finish();

private:
    struct member {
        test::child_process process;
        client_report report{};
        time_point reported = time_point::min();  ///< When this report was requested.
        time_point asked = time_point::min();
        time_point resumed = time_point::min();
        bool waiting = false;  ///< For a report.
        bool paused = false;
    };

    void read(member& one);

    std::vector<member> members_;
};

}  // namespace colock::chaos

#endif
