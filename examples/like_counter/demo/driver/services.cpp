// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "services.hpp"

#include "http_client.hpp"
#include "together.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace like_counter::driver {
namespace {

constexpr auto status_interval = std::chrono::milliseconds(20);

bool is_quiet(const nlohmann::json& status) {
    return status.is_object() && status.at("service").at("in_flight").get<int>() == 0;
}

bool is_ready(const nlohmann::json& status) {
    return status.is_object() && ready_instances(status) == status.at("instances").size();
}

}  // namespace

services::services(asio::any_io_executor executor, std::vector<asio::ip::tcp::endpoint> targets)
    : executor_(std::move(executor)), targets_(std::move(targets)) {}

asio::awaitable<std::vector<nlohmann::json>> services::statuses() {
    std::vector<nlohmann::json> all;
    for (const auto& target : targets_) {
        nlohmann::json status;
        try {
            http_client client(executor_, target);
            http_reply reply = co_await client.get("/v1/status");
            status = std::move(reply.body);
        } catch (const boost::system::system_error&) {
            // Null tells it.
        }
        all.push_back(std::move(status));
    }
    co_return all;
}

asio::awaitable<void> services::until_quiet(std::chrono::milliseconds patience) {
    const auto deadline = steady_clock::now() + patience;
    for (;;) {
        const auto now = co_await statuses();
        if (std::all_of(now.begin(), now.end(), is_quiet)) {
            co_return;
        }
        if (steady_clock::now() >= deadline) {
            throw std::runtime_error("a service is gone, or does not finish its requests");
        }
        co_await pause(status_interval);
    }
}

asio::awaitable<void> services::until_ready(std::chrono::milliseconds patience) {
    const auto deadline = steady_clock::now() + patience;
    for (;;) {
        const auto now = co_await statuses();
        if (std::all_of(now.begin(), now.end(), is_ready) || steady_clock::now() >= deadline) {
            co_return;
        }
        co_await pause(status_interval);
    }
}

std::size_t ready_instances(const nlohmann::json& status) {
    if (!status.is_object()) {
        return 0;
    }
    const auto& instances = status.at("instances");
    const auto ready = std::count_if(instances.begin(), instances.end(), [](const auto& instance) {
        return instance.at("state") == "ready";
    });
    return static_cast<std::size_t>(ready);
}

nlohmann::json merged_instances(const std::vector<nlohmann::json>& statuses) {
    auto merged = nlohmann::json::array();
    for (const nlohmann::json& status : statuses) {
        if (!status.is_object()) {
            continue;
        }
        for (const auto& seen : status.at("instances")) {
            const auto same = [&seen](const auto& one) {
                return one["address"] == seen["address"];
            };
            const auto known = std::find_if(merged.begin(), merged.end(), same);
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

std::uint64_t sum_of(const std::vector<nlohmann::json>& statuses, const char* counter) {
    std::uint64_t sum = 0;
    for (const nlohmann::json& status : statuses) {
        sum += status.is_object() ? status.at("service").at(counter).get<std::uint64_t>() : 0;
    }
    return sum;
}

}  // namespace like_counter::driver
