// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_LOAD_HPP
#define LIKE_COUNTER_DRIVER_LOAD_HPP

#include "http_client.hpp"
#include "records.hpp"
#include "together.hpp"
#include "workload.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::driver {

struct load_options {
    std::vector<asio::ip::tcp::endpoint> targets;
    std::size_t connections = 32;
    std::chrono::seconds duration{10};
};

/// What happened, up to now.
struct load_result {
    std::uint64_t requests = 0;  ///< answered
    std::uint64_t wishes = 0;    ///< likes and unlikes answered with success
    std::uint64_t changes = 0;   ///< those of them that made a difference
    std::uint64_t errors = 0;    ///< all others, and requests without an answer
    std::map<std::string, std::uint64_t> errors_by_kind;  ///< status and code, or "no answer"
    latencies all_latencies;                              ///< of all that was answered
    latencies wish_latencies;                             ///< of `wishes`
    std::chrono::duration<double> elapsed{};
};

/// The load: every connection sends one request after the other until the time is up.
class load {
public:
    load(asio::any_io_executor executor, const load_options& options, workload& workload,
         ledger& ledger)
        : executor_(std::move(executor)), options_(options), workload_(workload), ledger_(ledger) {}

    /// To be called once.
    asio::awaitable<void> run() {
        const auto begin = clock::now();
        deadline_ = begin + options_.duration;
        std::vector<asio::awaitable<void>> connections;
        for (std::size_t index = 0; index != options_.connections; ++index) {
            connections.push_back(connection(index));
        }
        co_await together(std::move(connections));
        result_.elapsed = clock::now() - begin;
    }

    [[nodiscard]] const load_result& result() const noexcept { return result_; }

private:
    using clock = std::chrono::steady_clock;

    // After an error, the connection pauses, so that a service in trouble is not flooded. Then it uses the next
    // service.
    asio::awaitable<void> connection(std::size_t index) {
        std::size_t target = index % options_.targets.size();
        http_client client(executor_, options_.targets[target]);
        while (clock::now() < deadline_) {
            const bool is_good = co_await perform(client, workload_.next());
            if (!is_good) {
                target = (target + 1) % options_.targets.size();
                client.move_to(options_.targets[target]);
                co_await pause(std::chrono::milliseconds(25));
            }
        }
    }

    /// Returns false after an error.
    asio::awaitable<bool> perform(http_client& client, operation what) {
        const auto method = what.what == verb::read   ? http::verb::get
                            : what.what == verb::like ? http::verb::post
                                                      : http::verb::delete_;
        nlohmann::json body;
        if (what.what != verb::read) {
            body["user"] = workload::user_name(what.user);
        }
        const auto begin = clock::now();
        try {
            const http_reply reply = co_await client.request(
                method, likes_target(workload_.entity_name(what.entity)), std::move(body));
            co_return account(what, reply, clock::now() - begin);
        } catch (const boost::system::system_error&) {
            co_return account_error(what, "no answer", false);
        }
    }

    bool account(operation what, const http_reply& reply, clock::duration time) {
        const auto latency = std::chrono::duration_cast<std::chrono::microseconds>(time);
        ++result_.requests;
        result_.all_latencies.record(latency);
        if (reply.status != 200) {
            return account_error(what, std::to_string(reply.status) + " " + reply.error("code"),
                                 reply.wrote_nothing());
        }
        if (what.what != verb::read) {
            ++result_.wishes;
            result_.wish_latencies.record(latency);
            account_change(what, reply.body.value("changed", false));
        }
        return true;
    }

    void account_change(operation what, bool changed) {
        if (!changed) {
            return;
        }
        ++result_.changes;
        if (what.what == verb::like) {
            ledger_.added({what.entity, what.user});
        } else {
            ledger_.removed({what.entity, what.user});
        }
    }

    bool account_error(operation what, const std::string& kind, bool wrote_nothing) {
        ++result_.errors;
        ++result_.errors_by_kind[kind];
        if (what.what != verb::read && !wrote_nothing) {
            ledger_.unknown({what.entity, what.user}, what.what == verb::like);
        }
        return false;
    }

    asio::any_io_executor executor_;
    const load_options& options_;
    workload& workload_;
    ledger& ledger_;
    clock::time_point deadline_;
    load_result result_;
};

}  // namespace like_counter::driver

#endif
