// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_API_ERROR_HPP
#define LIKE_COUNTER_API_ERROR_HPP

#include "http_message.hpp"

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace like_counter {

/// A request that the API does not accept. In JSON:
/// `{"error": {"code": "...", "message": "...", "field": "..."}}`, the field where there is one.
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

/// What is wrong, in the API's terms, whatever was thrown.
///
/// A client that repeats its request needs to know whether it may have worked already. For the
/// codes `outcome_unknown` and `internal` it may; for all others nothing was written.
api_error to_api_error(const std::exception_ptr& failure);

/// The answer that tells it; with Retry-After where trying again may help.
http_response to_response(const api_error& error);

/// For what the HTTP server could not take as a request.
http_response refuse_request(boost::beast::http::status status, const std::string& message);

}  // namespace like_counter

#endif
