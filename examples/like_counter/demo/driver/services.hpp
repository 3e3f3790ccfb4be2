// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_SERVICES_HPP
#define LIKE_COUNTER_DRIVER_SERVICES_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace like_counter::driver {

/// The service processes that are driven, seen through their /v1/status.
class services {
public:
    services(boost::asio::any_io_executor executor,
             std::vector<boost::asio::ip::tcp::endpoint> targets);

    /// What each says now; null for one that does not answer.
    boost::asio::awaitable<std::vector<nlohmann::json>> statuses();

    /// Waits until each answers and works on no request. Throws if `patience` is over before.
    boost::asio::awaitable<void> until_quiet(std::chrono::milliseconds patience);

    /// Waits until every lock instance is ready for each service, or `patience` is over.
    boost::asio::awaitable<void> until_ready(std::chrono::milliseconds patience);

private:
    boost::asio::any_io_executor executor_;
    std::vector<boost::asio::ip::tcp::endpoint> targets_;
};

/// How many of a service's lock instances are ready.
std::size_t ready_instances(const nlohmann::json& status);

/// The lock instances, each once, as the services together see them: ready if it is for all.
nlohmann::json merged_instances(const std::vector<nlohmann::json>& statuses);

/// The sum of one of the services' own counters.
std::uint64_t sum_of(const std::vector<nlohmann::json>& statuses, const char* counter);

}  // namespace like_counter::driver

#endif
