// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "load.hpp"

#include "together.hpp"

#include <boost/system/system_error.hpp>

#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace like_counter::driver {
namespace {

// What a connection waits after an error, so that a service in trouble is not flooded.
constexpr auto pause_after_error = std::chrono::milliseconds(25);

std::string error_code_in(const http_reply& reply) {
    const auto pointer = nlohmann::json::json_pointer("/error/code");
    return reply.body.is_object() ? reply.body.value(pointer, std::string("unknown")) : "unknown";
}

// The service says when nothing was written; see service/api_error.hpp.
bool had_no_effect(const http_reply& reply, const std::string& code) {
    return (reply.status >= 400 && reply.status < 500) || code == "busy" ||
           code == "locks_unavailable";
}

}  // namespace

std::uint64_t load_result::error_count() const {
    std::uint64_t sum = 0;
    for (const auto& [kind, count] : errors) {
        sum += count;
    }
    return sum;
}

load::load(asio::any_io_executor executor, load_options options, workload& workload, ledger& ledger)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      workload_(workload),
      ledger_(ledger) {}

asio::awaitable<void> load::run() {
    const auto begin = clock::now();
    deadline_ = begin + options_.duration;
    std::vector<asio::awaitable<void>> connections;
    for (std::size_t index = 0; index != options_.connections; ++index) {
        connections.push_back(connection(index));
    }
    co_await together(executor_, std::move(connections));
    result_.elapsed = clock::now() - begin;
}

asio::awaitable<void> load::connection(std::size_t index) {
    std::size_t target = index % options_.targets.size();
    http_client client(executor_, options_.targets[target]);
    while (clock::now() < deadline_) {
        if (co_await perform(client, workload_.next())) {
            continue;
        }
        target = (target + 1) % options_.targets.size();
        client.move_to(options_.targets[target]);
        co_await pause(pause_after_error);
    }
}

// False if it went wrong.
asio::awaitable<bool> load::perform(http_client& client, operation what) {
    const std::string target = "/v1/entities/" + workload_.entity_name(what.entity) + "/likes";
    const auto method = what.what == verb::read   ? http::verb::get
                        : what.what == verb::like ? http::verb::post
                                                  : http::verb::delete_;
    nlohmann::json body;
    if (what.what != verb::read) {
        body["user"] = workload_.user_name(what.user);
    }
    const auto begin = clock::now();
    try {
        const http_reply reply = co_await client.request(method, target, std::move(body));
        const auto latency =
            std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
        co_return account(what, reply, latency);
    } catch (const boost::system::system_error&) {
        co_return account_no_answer(what);
    }
}

bool load::account(operation what, const http_reply& reply, std::chrono::microseconds latency) {
    ++result_.requests;
    result_.all_latencies.record(latency);
    if (reply.status == 200) {
        if (what.what != verb::read) {
            result_.wish_latencies.record(latency);
            account_success(what, reply);
        }
        return true;
    }
    const std::string code = error_code_in(reply);
    ++result_.errors[std::to_string(reply.status) + " " + code];
    if (!had_no_effect(reply, code)) {
        unknown_outcome(what);
    }
    return false;
}

void load::account_success(operation what, const http_reply& reply) {
    const like_key key{what.entity, what.user};
    ++result_.wishes;
    if (!reply.body.is_object() || !reply.body.value("changed", false)) {
        return;
    }
    ++result_.changes;
    if (what.what == verb::like) {
        ledger_.added(key);
    } else {
        ledger_.removed(key);
    }
}

bool load::account_no_answer(operation what) {
    ++result_.errors["no answer"];
    unknown_outcome(what);
    return false;
}

void load::unknown_outcome(operation what) {
    if (what.what != verb::read) {
        ledger_.unknown({what.entity, what.user}, what.what == verb::like);
    }
}

}  // namespace like_counter::driver
