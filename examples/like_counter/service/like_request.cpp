// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "like_request.hpp"

#include "api_error.hpp"

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace http = boost::beast::http;

namespace like_counter {
namespace {

std::optional<std::string> parameter(const boost::urls::url_view& url, std::string_view name) {
    const auto found = url.params().find(name);
    if (found == url.params().end()) {
        return std::nullopt;
    }
    return (*found).value;
}

std::optional<route> by_segments(const std::vector<std::string>& path) {
    using segments = std::vector<std::string>;
    static const std::map<segments, resource> fixed{
        {{}, resource::page},
        {{""}, resource::page},
        {{"favicon.ico"}, resource::icon},
        {{"healthz"}, resource::health},
        {{"metrics"}, resource::metrics},
        {{"v1", "status"}, resource::status},
        {{"v1", "events"}, resource::events},
        {{"v1", "experiment"}, resource::experiment},
    };
    if (const auto found = fixed.find(path); found != fixed.end()) {
        return route{found->second, {}, {}, {}};
    }
    if (path.size() == 1 && path[0].starts_with("apple-touch-icon")) {
        return route{resource::icon, {}, {}, {}};
    }
    if (path.size() == 3 && path[0] == "v1" && path[1] == "authors") {
        return route{resource::author, path[2], {}, {}};
    }
    if (path.size() == 4 && path[0] == "v1" && path[1] == "entities" && path[3] == "likes") {
        return route{resource::entity_likes, path[2], {}, {}};
    }
    return std::nullopt;
}

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

std::optional<route> find_route(std::string_view target) {
    const auto url = boost::urls::parse_origin_form(target);
    if (!url) {
        return std::nullopt;
    }
    std::vector<std::string> path;
    for (std::string segment : url->segments()) {
        path.push_back(std::move(segment));
    }
    auto found = by_segments(path);
    if (found) {
        found->user = parameter(*url, "user");
        found->users = parameter(*url, "users");
        found->entity = parameter(*url, "entity");
    }
    return found;
}

std::vector<http::verb> methods_of(resource what) {
    switch (what) {
        case resource::entity_likes:
            return {http::verb::get, http::verb::post, http::verb::delete_};
        case resource::experiment:
            return {http::verb::put};
        default:
            return {http::verb::get};
    }
}

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
