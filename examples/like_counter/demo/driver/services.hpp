// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_SERVICES_HPP
#define LIKE_COUNTER_DRIVER_SERVICES_HPP

#include "http_client.hpp"
#include "together.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace like_counter::driver {

/// How many of a service's lock instances are ready.
inline std::size_t ready_instances(const nlohmann::json& status) {
    return static_cast<std::size_t>(std::ranges::count_if(
        status.at("instances"), [](const auto& one) { return one.at("state") == "ready"; }));
}

/// The service processes that are driven, seen through their /v1/status.
class services {
public:
    using clock = std::chrono::steady_clock;

    services(asio::any_io_executor executor, std::vector<asio::ip::tcp::endpoint> targets)
        : executor_(std::move(executor)), targets_(std::move(targets)) {}

    /// Returns the status of each service that answers.
    asio::awaitable<std::vector<nlohmann::json>> statuses() {
        std::vector<nlohmann::json> all;
        for (const auto& target : targets_) {
            try {
                http_client client(executor_, target);
                http_reply reply = co_await client.get("/v1/status");
                if (reply.status == 200) {
                    all.push_back(std::move(reply.body));
                }
            } catch (const boost::system::system_error&) {
                // The list is shorter.
            }
        }
        co_return all;
    }

    /// Waits until each service answers and works on no request. Throws if `patience` is over before.
    asio::awaitable<void> until_quiet(std::chrono::milliseconds patience) {
        const auto is_quiet = [](const nlohmann::json& status) {
            return status.at("service").at("in_flight") == 0;
        };
        const bool are_quiet = co_await until_all(is_quiet, patience);
        if (!are_quiet) {
            throw std::runtime_error("a service is gone, or does not finish its requests");
        }
    }

    /// Waits until every lock instance is ready for each service, or `patience` is over.
    asio::awaitable<void> until_ready(std::chrono::milliseconds patience) {
        const auto is_ready = [](const nlohmann::json& status) {
            return ready_instances(status) == status.at("instances").size();
        };
        co_await until_all(is_ready, patience);
    }

private:
    asio::awaitable<bool> until_all(std::function<bool(const nlohmann::json&)> condition,
                                    std::chrono::milliseconds patience) {
        const auto deadline = clock::now() + patience;
        for (;;) {
            const auto all = co_await statuses();
            const bool is_true =
                all.size() == targets_.size() && std::ranges::all_of(all, condition);
            if (is_true || clock::now() >= deadline) {
                co_return is_true;
            }
            co_await pause(std::chrono::milliseconds(20));
        }
    }

    asio::any_io_executor executor_;
    std::vector<asio::ip::tcp::endpoint> targets_;
};

/// Returns the lock instances, each once, as the services together see them. An instance is ready if it is
/// ready for all services.
inline nlohmann::json merged_instances(const std::vector<nlohmann::json>& statuses) {
    auto merged = nlohmann::json::array();
    for (const nlohmann::json& status : statuses) {
        for (const auto& seen : status.at("instances")) {
            const auto known = std::ranges::find_if(
                merged, [&](const auto& one) { return one["address"] == seen["address"]; });
            if (known == merged.end()) {
                merged.push_back({{"address", seen["address"]},
                                  {"state", seen["state"]},
                                  {"reason", seen["reason"]},
                                  {"version", seen["version"]}});
            } else if ((*known)["state"] == "ready") {
                (*known)["state"] = seen["state"];
            }
        }
    }
    return merged;
}

/// Returns the sum of one of the services' own counters.
inline std::uint64_t sum_of(const std::vector<nlohmann::json>& statuses, const char* counter) {
    std::uint64_t sum = 0;
    for (const nlohmann::json& status : statuses) {
        sum += status.at("service").at(counter).get<std::uint64_t>();
    }
    return sum;
}

}  // namespace like_counter::driver

#endif
