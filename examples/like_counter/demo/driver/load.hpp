// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_LOAD_HPP
#define LIKE_COUNTER_DRIVER_LOAD_HPP

#include "http_client.hpp"
#include "latencies.hpp"
#include "ledger.hpp"
#include "workload.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace like_counter::driver {

struct load_options {
    std::vector<boost::asio::ip::tcp::endpoint> targets;
    std::size_t connections = 32;
    std::chrono::seconds duration{10};
};

/// What happened, up to now.
struct load_result {
    std::uint64_t requests = 0;                   ///< answered
    std::uint64_t wishes = 0;                     ///< likes and unlikes answered with success
    std::uint64_t changes = 0;                    ///< those of them that made a difference
    std::map<std::string, std::uint64_t> errors;  ///< by status and code, or "no answer"
    latencies all_latencies;                      ///< of all that was answered
    latencies wish_latencies;                     ///< of `wishes`
    std::chrono::duration<double> elapsed{};

    [[nodiscard]] std::uint64_t error_count() const;
};

/// The load: every connection sends one request after the other until the time is up.
class load {
public:
    load(boost::asio::any_io_executor executor, load_options options, workload& workload,
         ledger& ledger);

    /// Once.
    boost::asio::awaitable<void> run();

    [[nodiscard]] const load_result& result() const noexcept { return result_; }

private:
    using clock = std::chrono::steady_clock;

    boost::asio::awaitable<void> connection(std::size_t index);
    boost::asio::awaitable<bool> perform(http_client& client, operation what);
    bool account(operation what, const http_reply& reply, std::chrono::microseconds latency);
    void account_success(operation what, const http_reply& reply);
    bool account_no_answer(operation what);
    void unknown_outcome(operation what);

    boost::asio::any_io_executor executor_;
    load_options options_;
    workload& workload_;
    ledger& ledger_;
    clock::time_point deadline_;
    load_result result_;
};

}  // namespace like_counter::driver

#endif
