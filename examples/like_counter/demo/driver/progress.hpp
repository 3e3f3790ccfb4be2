// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_PROGRESS_HPP
#define LIKE_COUNTER_DRIVER_PROGRESS_HPP

#include "load.hpp"
#include "services.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::driver {

/// Prints every second on stderr how the load is doing, and stores it.
class progress {
public:
    progress(asio::any_io_executor executor, const load& load, services& services,
             std::chrono::seconds duration)
        : timer_(std::move(executor)), load_(load), services_(services), duration_(duration) {}

    /// Runs until `stop`.
    asio::awaitable<void> run() {
        const auto begin = std::chrono::steady_clock::now();
        for (int second = 1; !stopped_; ++second) {
            timer_.expires_at(begin + std::chrono::seconds(second));
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
            if (!stopped_) {
                co_await tick(second);
            }
        }
        if (on_terminal_) {
            std::cerr << '\n';
        }
    }

    void stop() {
        stopped_ = true;
        timer_.cancel();
    }

    /// One object a second: `{"second", "likes", "errors", "instances_ready"}`.
    [[nodiscard]] const nlohmann::json& timeline() const noexcept { return timeline_; }

private:
    asio::awaitable<void> tick(int second) {
        const std::string instances = instances_ready(co_await services_.statuses());
        const std::uint64_t likes = load_.result().wishes - likes_before_;
        likes_before_ = load_.result().wishes;
        timeline_.push_back({{"second", second},
                             {"likes", likes},
                             {"errors", load_.result().errors},
                             {"instances_ready", instances}});
        print(second, likes, instances);
    }

    /// Returns "4/5" for the service that has the fewest. The text is empty without locks.
    static std::string instances_ready(const std::vector<nlohmann::json>& statuses) {
        std::size_t ready = std::numeric_limits<std::size_t>::max();
        std::size_t all = 0;
        for (const nlohmann::json& status : statuses) {
            ready = std::min(ready, ready_instances(status));
            all = std::max(all, status.at("instances").size());
        }
        return all == 0 ? "" : std::to_string(ready) + "/" + std::to_string(all);
    }

    void print(int second, std::uint64_t likes, const std::string& instances) const {
        std::ostringstream line;
        line << "  " << std::setw(3) << second << "/" << duration_.count() << " s  " << std::setw(6)
             << likes << " likes/s  errors " << load_.result().errors;
        if (!instances.empty()) {
            line << "  lock instances ready " << instances;
        }
        // \r and "clear to the end of the line" on a terminal, elsewhere line after line.
        std::cerr << (on_terminal_ ? "\r\033[K" : "") << line.str() << (on_terminal_ ? "" : "\n")
                  << std::flush;
    }

    asio::steady_timer timer_;
    const load& load_;
    services& services_;
    std::chrono::seconds duration_;
    bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
    bool stopped_ = false;
    std::uint64_t likes_before_ = 0;
    nlohmann::json timeline_ = nlohmann::json::array();
};

}  // namespace like_counter::driver

#endif
