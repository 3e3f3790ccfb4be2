// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "progress.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

namespace asio = boost::asio;

namespace like_counter::driver {
namespace {

// "4/5", as the service says that has the fewest; empty without locks.
std::string instances_ready(const std::vector<nlohmann::json>& statuses) {
    std::size_t ready = 0;
    std::size_t all = 0;
    bool first = true;
    for (const nlohmann::json& status : statuses) {
        if (status.is_object()) {
            const std::size_t here = ready_instances(status);
            ready = first ? here : std::min(ready, here);
            all = std::max(all, status.at("instances").size());
            first = false;
        }
    }
    return all == 0 ? "" : std::to_string(ready) + "/" + std::to_string(all);
}

}  // namespace

progress::progress(asio::any_io_executor executor, const load& load, services& services,
                   std::chrono::seconds duration)
    : timer_(executor),
      load_(load),
      services_(services),
      duration_(duration),
      on_terminal_(::isatty(STDERR_FILENO) == 1),
      end_(std::move(executor), asio::steady_timer::time_point::max()) {}

asio::awaitable<void> progress::run() {
    struct end_of_it {
        progress& of;
        ~end_of_it() {
            of.ended_ = true;
            of.end_.cancel();
        }
    } const end{*this};
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

asio::awaitable<void> progress::stop() {
    stopped_ = true;
    timer_.cancel();
    while (!ended_) {
        co_await end_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

asio::awaitable<void> progress::tick(int second) {
    const std::string instances = instances_ready(co_await services_.statuses());
    const std::uint64_t likes = load_.result().wishes - likes_before_;
    likes_before_ = load_.result().wishes;
    timeline_.push_back({{"second", second},
                         {"likes", likes},
                         {"errors", load_.result().error_count()},
                         {"instances_ready", instances}});
    print(second, likes, instances);
}

void progress::print(int second, std::uint64_t likes, const std::string& instances) const {
    std::ostringstream line;
    line << "  " << std::setw(3) << second << "/" << duration_.count() << " s  " << std::setw(6)
         << likes << " likes/s  errors " << load_.result().error_count();
    if (!instances.empty()) {
        line << "  lock instances ready " << instances;
    }
    // \r and "clear to the end of the line" on a terminal; elsewhere line after line.
    std::cerr << (on_terminal_ ? "\r\033[K" : "") << line.str() << (on_terminal_ ? "" : "\n")
              << std::flush;
}

}  // namespace like_counter::driver
