// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "route.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <map>

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

}  // namespace like_counter
