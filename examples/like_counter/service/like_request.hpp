// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_LIKE_REQUEST_HPP
#define LIKE_COUNTER_LIKE_REQUEST_HPP

#include "domain.hpp"
#include "http_message.hpp"
#include "route.hpp"

#include <cstddef>
#include <optional>

namespace like_counter {

/// What a GET on an entity's likes asks for besides the numbers.
struct entity_query {
    std::optional<user_name> user;  ///< does this one like it?
    std::size_t most_users = 0;     ///< name so many of the likers
};

/// Reads a POST or DELETE on an entity's likes. Throws `invalid_input`, and `api_error` for a body
/// that is no JSON object.
wish read_wish(const http_request& request, const route& where);

/// Reads a GET on an entity's likes. Throws `invalid_input`.
entity_query read_entity_query(const route& where);

}  // namespace like_counter

#endif
