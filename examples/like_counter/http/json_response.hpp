// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_JSON_RESPONSE_HPP
#define LIKE_COUNTER_JSON_RESPONSE_HPP

#include "http_message.hpp"

#include <nlohmann/json.hpp>

namespace like_counter {

/// An answer with a JSON body. Text that is not UTF-8 is replaced.
http_response json_response(boost::beast::http::status status, const nlohmann::json& body);

}  // namespace like_counter

#endif
