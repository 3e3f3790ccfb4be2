// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "json_response.hpp"

#include <boost/beast/http/field.hpp>

namespace http = boost::beast::http;

namespace like_counter {

http_response json_response(http::status status, const nlohmann::json& body) {
    http_response response(status, 11);
    response.set(http::field::content_type, "application/json");
    response.set(http::field::cache_control, "no-store");
    response.body() = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    return response;
}

}  // namespace like_counter
