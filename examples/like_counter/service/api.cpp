// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "api.hpp"

#include "api_error.hpp"
#include "browser.hpp"
#include "status.hpp"

#include <colock/prometheus.hpp>

#include <boost/beast/http/field.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace like_counter {
namespace {

std::string allowed(resource what) {
    std::string list;
    for (const http::verb method : methods_of(what)) {
        list += (list.empty() ? "" : ", ") + std::string(http::to_string(method));
    }
    return list;
}

bool is_allowed(http::verb method, resource what) {
    const auto methods = methods_of(what);
    return std::find(methods.begin(), methods.end(), method) != methods.end();
}

http_response wrong_method(const http_request& request, resource what) {
    http_response response = to_response(
        api_error(http::status::method_not_allowed, "method_not_allowed",
                  std::string(request.method_string()) + " is not for this; " + allowed(what)));
    response.set(http::field::allow, allowed(what));
    return response;
}

http_response metrics_response(std::string text) {
    http_response response(http::status::ok, 11);
    response.set(http::field::content_type, colock::prometheus_content_type);
    response.set(http::field::cache_control, "no-store");
    response.body() = std::move(text);
    return response;
}

/// There is none. A 404 would look like a fault in the browser's console.
http_response icon_response() {
    http_response response(http::status::no_content, 11);
    response.set(http::field::cache_control, "max-age=86400");
    return response;
}

/// Whether the request only watches the service, as scripts and the page do all the time.
bool watches(const http_request& request) {
    const auto where = find_route(request.target());
    return where && where->what != resource::entity_likes && where->what != resource::author;
}

/// One reader of events, counted as long as it exists.
class listener {
public:
    explicit listener(int& count) : count_(count) { ++count_; }
    ~listener() { --count_; }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;

    /// The last event that it was sent.
    std::string last;
    recent_waits waits;

private:
    int& count_;
};

std::optional<entity_id> entity_of(const route& where) {
    return where.entity ? std::optional<entity_id>(*where.entity) : std::nullopt;
}

}  // namespace

asio::awaitable<http_response> api::answer(http_request request) {
    const bool counts = !watches(request);
    counters_.in_flight += counts ? 1 : 0;
    http_response response;
    std::exception_ptr failure;
    try {
        response = co_await dispatch(request);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) {
        response = to_response(to_api_error(failure));
    }
    // A /healthz that says "unavailable" is an answer, not an error.
    if (counts) {
        --counters_.in_flight;
        count(response);
    }
    co_return response;
}

asio::awaitable<http_response> api::dispatch(const http_request& request) {
    const auto where = find_route(request.target());
    if (!where) {
        throw api_error(http::status::not_found, "not_found",
                        "there is nothing at " + std::string(request.target()));
    }
    if (!is_allowed(request.method(), where->what)) {
        co_return wrong_method(request, where->what);
    }
    if (request.method() != http::verb::get) {
        check_sender(request);
    }
    switch (where->what) {
        case resource::page:
            co_return page_response("service");
        case resource::icon:
            co_return icon_response();
        case resource::health:
            co_return co_await health();
        case resource::metrics:
            co_return metrics_response(metrics_text(counters_, locks_));
        case resource::status:
            co_return json_response(http::status::ok, co_await status(waits()));
        case resource::events:
            entity_of(*where);  // A wrong id is the first reason to refuse a stream.
            throw api_error(http::status::service_unavailable, "too_many_listeners",
                            "there are " + std::to_string(most_listeners) +
                                " readers of events already, which is the most");
        case resource::experiment:
            co_return experiment(request);
        case resource::author:
            co_return co_await author(*where);
        case resource::entity_likes:
            break;
    }
    if (request.method() == http::verb::get) {
        co_return co_await entity(*where);
    }
    co_return co_await change(request, *where);
}

// Without it, any page in a browser that reaches the service could like, or switch the locks off.
void api::check_sender(const http_request& request) const {
    const auto foreign = foreign_field(request, host_names_);
    if (!foreign) {
        return;
    }
    const std::string name(http::to_string(*foreign));
    const std::string value = name + ": '" + std::string(request[*foreign]) + "' is ";
    if (*foreign == http::field::host) {
        throw api_error(http::status::forbidden, "foreign_host",
                        value +
                            "no name of this service. Use an address or localhost, or start the "
                            "service with --host and this name",
                        name);
    }
    throw api_error(http::status::forbidden, "foreign_origin",
                    value + "another site. Only pages of this service may change something", name);
}

asio::awaitable<http_response> api::change(const http_request& request, const route& where) {
    const wish wanted = read_wish(request, where);
    const outcome result = co_await likes_.fulfil(wanted);
    const nlohmann::json body{{"entity", wanted.entity.value()},
                              {"user", wanted.user.value()},
                              {"liked", wanted.liked},
                              {"changed", result.changed},
                              {"likes", result.likes}};
    co_return json_response(http::status::ok, body);
}

asio::awaitable<http_response> api::entity(const route& where) {
    const entity_id id(where.id);
    const entity_query query = read_entity_query(where);
    const entity_record found = co_await store_.read(id, query.user, query.most_users);
    nlohmann::json body{{"entity", id.value()},
                        {"author", id.author().value()},
                        {"likes", found.likes},
                        {"counted", found.counted}};
    if (query.user) {
        body["user"] = query.user->value();
        body["liked"] = found.liked.value_or(false);
    }
    if (query.most_users > 0) {
        body["users"] = found.users;
    }
    co_return json_response(http::status::ok, body);
}

asio::awaitable<http_response> api::author(const route& where) {
    const author_name name(where.id);
    const std::int64_t total = co_await store_.author_total(name);
    const nlohmann::json body{{"author", name.value()}, {"likes", total}};
    co_return json_response(http::status::ok, body);
}

asio::awaitable<http_response> api::health() {
    nlohmann::json body{{"store", "reachable"}};
    bool healthy = co_await store_.reachable();
    if (!healthy) {
        body["store"] = "unreachable";
    }
    if (locks_ != nullptr) {
        const quorum_state state = quorum_of(locks_->instances());
        body["instances"] = state.instances;
        body["instances_ready"] = state.ready;
        body["quorum"] = state.quorum();
        healthy = healthy && state.reached();
    }
    body["status"] = healthy ? "ok" : "unavailable";
    co_return json_response(healthy ? http::status::ok : http::status::service_unavailable, body);
}

std::optional<event_stream> api::stream(const http_request& request) {
    const auto where = find_route(request.target());
    if (!where || where->what != resource::events || request.method() != http::verb::get ||
        listeners_ == most_listeners) {
        return std::nullopt;
    }
    std::optional<entity_id> entity;
    try {
        entity = entity_of(*where);
    } catch (const invalid_input&) {
        return std::nullopt;
    }
    auto reader = std::make_shared<listener>(listeners_);
    event_stream events;
    events.next = [this, entity, reader]() -> asio::awaitable<std::string> {
        std::string now = co_await event(entity, reader->waits);
        if (now == reader->last) {
            co_return std::string();
        }
        reader->last = now;
        co_return now;
    };
    return events;
}

asio::awaitable<std::string> api::event(std::optional<entity_id> entity, recent_waits& recent) {
    std::optional<entity_record> found;
    if (entity) {
        try {
            found = co_await store_.read(*entity, std::nullopt, 0);
        } catch (const store_error&) {
            // The event has no post.
        }
    }
    const colock::histogram latest = recent.add(recent_waits::clock::now(), waits());
    nlohmann::json body = co_await status(latest);
    if (found) {
        body["post"] = {
            {"entity", entity->value()}, {"likes", found->likes}, {"counted", found->counted}};
    }
    co_return json_text(body);
}

http_response api::experiment(const http_request& request) {
    if (!allows_experiments_) {
        throw api_error(http::status::forbidden, "no_experiments",
                        "start the service with --experiments to allow this");
    }
    const experiment_request wanted = read_experiment(request);
    if (wanted.locking && locks_ == nullptr) {
        throw invalid_input("locking", "cannot be changed, because the service has no locks");
    }
    likes_.use_locks(wanted.locking.value_or(likes_.uses_locks()));
    if (wanted.dawdle) {
        likes_.set_dawdle(*wanted.dawdle);
    }
    return json_response(http::status::ok, {{"locking", likes_.uses_locks()}});
}

colock::histogram api::waits() const {
    return locks_ != nullptr ? locks_->histograms().waits : colock::histogram();
}

asio::awaitable<nlohmann::json> api::status(colock::histogram waits) {
    locks_in_use used = co_await ask_locks_in_use(locks_);
    nlohmann::json in_use = to_json(std::move(used), std::chrono::steady_clock::now());
    in_use["waits"] = to_json(waits);
    nlohmann::json body{{"service", to_json(counters_)},
                        {"store", {{"kind", store_.kind()}}},
                        {"locking", likes_.uses_locks() || !store_.needs_lock()},
                        {"in_use", std::move(in_use)},
                        {"instances", nlohmann::json::array()}};
    if (locks_ != nullptr) {
        body["instances"] = to_json(locks_->instances());
        body["locks"] = to_json(locks_->counters());
    }
    co_return body;
}

void api::count(const http_response& response) {
    ++counters_.requests;
    const auto kind = http::to_status_class(response.result());
    counters_.rejected += kind == http::status_class::client_error ? 1 : 0;
    counters_.errors += kind == http::status_class::server_error ? 1 : 0;
}

}  // namespace like_counter
