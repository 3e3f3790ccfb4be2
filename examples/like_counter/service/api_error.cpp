// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "api_error.hpp"

#include "domain.hpp"
#include "like_store.hpp"
#include "likes.hpp"

#include <colock/error.hpp>

#include <boost/beast/http/field.hpp>

namespace http = boost::beast::http;

namespace like_counter {
namespace {

std::string code_for(http::status status) {
    switch (status) {
        case http::status::payload_too_large:
            return "body_too_large";
        case http::status::request_header_fields_too_large:
            return "header_too_large";
        default:
            return "bad_request";
    }
}

}  // namespace

api_error to_api_error(const std::exception_ptr& failure) {
    using enum http::status;
    try {
        std::rethrow_exception(failure);
    } catch (const api_error& error) {
        return error;
    } catch (const invalid_input& error) {
        return {bad_request, "invalid_field", error.what(), error.field()};
    } catch (const busy& error) {
        return {service_unavailable, "busy", error.what()};
    } catch (const too_late& error) {
        return {service_unavailable, "busy", error.what()};
    } catch (const stale_write& error) {
        return {service_unavailable, "stale", error.what()};
    } catch (const colock::lease_lost& error) {
        return {service_unavailable, "outcome_unknown", error.what()};
    } catch (const colock::lock_error& error) {
        if (error.code() == colock::condition::unavailable) {
            return {service_unavailable, "locks_unavailable", error.what()};
        }
        return {internal_server_error, "internal", error.what()};
    } catch (const store_error& error) {
        return {service_unavailable, "outcome_unknown", error.what()};
    } catch (const std::exception& error) {
        return {internal_server_error, "internal", error.what()};
    } catch (...) {
        return {internal_server_error, "internal", "unknown error"};
    }
}

http_response to_response(const api_error& error) {
    nlohmann::json told{{"code", error.code()}, {"message", error.what()}};
    if (!error.field().empty()) {
        told["field"] = error.field();
    }
    http_response response = json_response(error.status(), {{"error", std::move(told)}});
    if (error.status() == http::status::service_unavailable) {
        response.set(http::field::retry_after, "1");
    }
    return response;
}

http_response refuse_request(http::status status, const std::string& message) {
    return to_response(api_error(status, code_for(status), message));
}

}  // namespace like_counter
