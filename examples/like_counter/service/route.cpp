// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "route.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

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
    if (path.empty() || path == std::vector<std::string>{""}) {
        return route{resource::page, {}, {}, {}};
    }
    if (path.size() == 1 && (path[0] == "favicon.ico" || path[0].starts_with("apple-touch-icon"))) {
        return route{resource::icon, {}, {}, {}};
    }
    if (path == std::vector<std::string>{"healthz"}) {
        return route{resource::health, {}, {}, {}};
    }
    if (path == std::vector<std::string>{"metrics"}) {
        return route{resource::metrics, {}, {}, {}};
    }
    if (path[0] != "v1") {
        return std::nullopt;
    }
    if (path.size() == 2 && path[1] == "status") {
        return route{resource::status, {}, {}, {}};
    }
    if (path.size() == 2 && path[1] == "events") {
        return route{resource::events, {}, {}, {}};
    }
    if (path.size() == 2 && path[1] == "experiment") {
        return route{resource::experiment, {}, {}, {}};
    }
    if (path.size() == 3 && path[1] == "authors") {
        return route{resource::author, path[2], {}, {}};
    }
    if (path.size() == 4 && path[1] == "entities" && path[3] == "likes") {
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

const std::vector<http::verb>& methods_of(resource what) {
    static const std::vector<http::verb> read{http::verb::get};
    static const std::vector<http::verb> read_and_write{http::verb::get, http::verb::post,
                                                        http::verb::delete_};
    static const std::vector<http::verb> put{http::verb::put};
    switch (what) {
        case resource::entity_likes:
            return read_and_write;
        case resource::experiment:
            return put;
        default:
            return read;
    }
}

}  // namespace like_counter
