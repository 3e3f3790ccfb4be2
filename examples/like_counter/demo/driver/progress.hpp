// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_PROGRESS_HPP
#define LIKE_COUNTER_DRIVER_PROGRESS_HPP

#include "load.hpp"
#include "services.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>

namespace like_counter::driver {

/// Tells every second on stderr how the load is doing, and remembers it.
class progress {
public:
    progress(boost::asio::any_io_executor executor, const load& load, services& services,
             std::chrono::seconds duration);

    /// Until `stop`, which waits for it to end.
    boost::asio::awaitable<void> run();
    boost::asio::awaitable<void> stop();

    /// One object a second: `{"second", "likes", "errors", "instances_ready"}`.
    [[nodiscard]] const nlohmann::json& timeline() const noexcept { return timeline_; }

private:
    boost::asio::awaitable<void> tick(int second);
    void print(int second, std::uint64_t likes, const std::string& instances) const;

    boost::asio::steady_timer timer_;
    const load& load_;
    services& services_;
    std::chrono::seconds duration_;
    bool on_terminal_;
    bool stopped_ = false;
    bool ended_ = false;
    boost::asio::steady_timer end_;  // for who waits for that
    std::uint64_t likes_before_ = 0;
    nlohmann::json timeline_ = nlohmann::json::array();
};

}  // namespace like_counter::driver

#endif
