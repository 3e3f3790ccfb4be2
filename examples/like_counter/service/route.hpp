// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_ROUTE_HPP
#define LIKE_COUNTER_ROUTE_HPP

#include <boost/beast/http/verb.hpp>

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

}  // namespace like_counter

#endif
