// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_API_ERROR_HPP
#define LIKE_COUNTER_API_ERROR_HPP

#include "http_message.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace like_counter {

/// A request that failed. In JSON it is `{"error": {"code": "...", "message": "...", "field": "..."}}`. The field is
/// left out if there is none.
class api_error : public std::runtime_error {
public:
    using status_type = boost::beast::http::status;

    api_error(status_type status, std::string code, const std::string& message,
              std::string field = {})
        : std::runtime_error(message),
          status_(status),
          code_(std::move(code)),
          field_(std::move(field)) {}

    [[nodiscard]] status_type status() const noexcept { return status_; }
    [[nodiscard]] const std::string& code() const noexcept { return code_; }
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    status_type status_;
    std::string code_;
    std::string field_;
};

/// Converts any exception.
///
/// A client that repeats its request must know whether the first one may have been written. With the codes
/// `outcome_unknown` and `internal` it may have been. With all others, nothing was written.
api_error to_api_error(const std::exception_ptr& failure);

/// Returns the answer. It has Retry-After if another attempt may succeed.
http_response to_response(const api_error& error);

/// Returns the answer to input that is no valid HTTP request.
http_response refuse_request(boost::beast::http::status status, const std::string& message);

}  // namespace like_counter

#endif
