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

/// The client processes, and what they say of themselves.
class fleet {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Starts them with the program `client`.
    fleet(const std::string& client, const std::vector<client_settings>& all);

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

    /// Asks all that run for a report, and reads those that have come. Throws `std::runtime_error` if
    /// one has ended, or does not answer.
    void poll();

    /// Whether this instance is ready for all clients that run, by reports that were asked for a
    /// little after `since`; and, of one that was stopped, a little after that.
    [[nodiscard]] bool all_ready(std::size_t instance, time_point since) const;

    void pause(std::size_t index);
    void resume(std::size_t index);

    /// All of them together, by their last reports.
    [[nodiscard]] client_report total() const;

    /// Lets all come to an end, and waits for it.
    void finish();

private:
    struct member {
        test::child_process process;
        client_report report{};
        time_point reported = time_point::min();  ///< when that was asked for
        time_point asked = time_point::min();
        time_point resumed = time_point::min();
        bool waiting = false;  ///< for a report
        bool paused = false;
    };

    void read(member& one);

    std::vector<member> members_;
};

}  // namespace colock::chaos

#endif
