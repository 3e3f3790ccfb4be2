// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "like_request.hpp"

#include "api_error.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace http = boost::beast::http;

namespace like_counter {
namespace {

constexpr std::size_t most_users_told = 1000;
constexpr std::uint64_t most_dawdle_ms = 60'000;

// The media type alone, without parameters such as charset.
std::string_view media_type(const http_request& request) {
    const std::string_view whole = request[http::field::content_type];
    const std::string_view bare = whole.substr(0, whole.find(';'));
    return bare.substr(0, bare.find_last_not_of(" \t") + 1);
}

void check_media_type(const http_request& request) {
    const std::string_view type = media_type(request);
    if (!type.empty() && !boost::beast::iequals(type, "application/json")) {
        throw api_error(http::status::unsupported_media_type, "unsupported_media_type",
                        "the body must be application/json, not " + std::string(type),
                        "Content-Type");
    }
}

nlohmann::json parse_object(const std::string& body) {
    nlohmann::json parsed;
    try {
        parsed = nlohmann::json::parse(body);
    } catch (const nlohmann::json::parse_error& error) {
        throw api_error(http::status::bad_request, "bad_json",
                        "the body is no JSON, at byte " + std::to_string(error.byte));
    } catch (const nlohmann::json::out_of_range&) {
        throw api_error(http::status::bad_request, "bad_json",
                        "the body has a number that is too large");
    }
    if (!parsed.is_object()) {
        throw api_error(http::status::bad_request, "bad_json", "the body must be a JSON object");
    }
    return parsed;
}

user_name user_in(const nlohmann::json& body) {
    const auto found = body.find("user");
    if (found == body.end()) {
        throw invalid_input("user", "is missing");
    }
    if (!found->is_string()) {
        throw invalid_input("user", "must be a string");
    }
    return user_name(found->get<std::string>());
}

user_name user_in(const http_request& request, const route& where) {
    if (request.method() == http::verb::delete_ && request.body().empty() && where.user) {
        return user_name(*where.user);
    }
    check_media_type(request);
    return user_in(parse_object(request.body()));
}

std::size_t number_in(const std::string& text) {
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || stop != end || number > most_users_told) {
        throw invalid_input("users", "expected a number from 0 to 1000");
    }
    return number;
}

}  // namespace

experiment_request read_experiment(const http_request& request) {
    check_media_type(request);
    const nlohmann::json body = parse_object(request.body());
    experiment_request wanted;
    if (const auto found = body.find("locking"); found != body.end()) {
        if (!found->is_boolean()) {
            throw invalid_input("locking", "must be true or false");
        }
        wanted.locking = found->get<bool>();
    }
    if (const auto found = body.find("dawdle_ms"); found != body.end()) {
        if (!found->is_number_unsigned() || found->get<std::uint64_t>() > most_dawdle_ms) {
            throw invalid_input("dawdle_ms", "expected a number from 0 to 60000");
        }
        wanted.dawdle = std::chrono::milliseconds(found->get<std::int64_t>());
    }
    return wanted;
}

wish read_wish(const http_request& request, const route& where) {
    entity_id entity(where.id);
    user_name user = user_in(request, where);
    return {std::move(entity), std::move(user), request.method() == http::verb::post};
}

entity_query read_entity_query(const route& where) {
    entity_query query;
    if (where.user) {
        query.user.emplace(*where.user);
    }
    if (where.users) {
        query.most_users = number_in(*where.users);
    }
    return query;
}

}  // namespace like_counter
