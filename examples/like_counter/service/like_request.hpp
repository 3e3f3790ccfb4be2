// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKE_REQUEST_HPP
#define LIKE_COUNTER_LIKE_REQUEST_HPP

#include "domain.hpp"
#include "http_message.hpp"

#include <boost/beast/http/verb.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace like_counter {

/// `icon` is what a browser asks for by itself.
enum class resource {
    page,
    icon,
    health,
    metrics,
    status,
    events,
    experiment,
    entity_likes,
    author
};

/// Where a request goes: what its target names, decoded.
struct route {
    resource what;
    std::string id;                       ///< of the entity or the author
    std::optional<std::string> user;      ///< query parameter `user`
    std::optional<std::string> users;     ///< query parameter `users`
    std::optional<std::string> entity{};  ///< query parameter `entity`
};

/// Reads a request's target; nothing if it names no resource.
std::optional<route> find_route(std::string_view target);

/// The methods that a resource answers.
std::vector<boost::beast::http::verb> methods_of(resource what);

/// What a GET on an entity's likes asks for besides the numbers.
struct entity_query {
    std::optional<user_name> user;  ///< does this one like it?
    std::size_t most_users = 0;     ///< name so many of the likers
};

/// Reads a POST or DELETE on an entity's likes. Throws `invalid_input`, and `api_error` for a body
/// that is no JSON object.
wish read_wish(const http_request& request, const route& where);

/// What a request to change the experiment wants. What it leaves out stays as it is.
struct experiment_request {
    std::optional<bool> locking;                      ///< use the locks?
    std::optional<std::chrono::milliseconds> dawdle;  ///< pause before each write
};

/// Reads a PUT on the experiment. Throws as `read_wish` does.
experiment_request read_experiment(const http_request& request);

/// Reads a GET on an entity's likes. Throws `invalid_input`.
entity_query read_entity_query(const route& where);

}  // namespace like_counter

#endif
