// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_API_HPP
#define LIKE_COUNTER_API_HPP

#include "counters.hpp"
#include "http_message.hpp"
#include "like_request.hpp"
#include "like_store.hpp"
#include "likes.hpp"
#include "waits.hpp"

#include <colock/client.hpp>
#include <colock/histograms.hpp>

#include <boost/asio/awaitable.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace like_counter {

/// From requests to answers:
///
/// | request                                        | answer                                      |
/// |------------------------------------------------|---------------------------------------------|
/// | `POST /v1/entities/{id}/likes` `{"user": "u"}` | `{"entity", "user", "liked": true,          |
/// |                                                | "changed", "likes"}`                        |
/// | `DELETE /v1/entities/{id}/likes`, user as above| the same, `"liked": false`                  |
/// | or as `?user=u`                                |                                             |
/// | `GET /v1/entities/{id}/likes`                  | `{"entity", "author", "likes", "counted"}`; |
/// |   `?user=u` adds                               | `"liked"`, whether that user likes it;      |
/// |   `?users=n` adds                              | `"users"`, n of them at most                |
/// | `GET /v1/authors/{id}`                         | `{"author", "likes"}`                       |
/// | `GET /healthz`                                 | 200, or 503 and what is missing             |
/// | `GET /metrics`                                 | counters and instances, for Prometheus      |
/// | `GET /v1/status`                               | instances, lock counters, service counters  |
/// | `GET /v1/events`                               | the same and the locks in use, as a stream  |
/// |                                                | of server-sent events;                      |
/// |   `?entity=id` adds                            | `"post"`, as of that entity                 |
/// | `PUT /v1/experiment` `{"locking", "dawdle_ms"}`| `{"locking"}`. Needs --experiments           |
/// | `GET /`                                        | a page that shows all this                  |
///
/// An entity's id is `<author>.<name>`. Errors: see api_error.hpp.
class api {
public:
    /// `locks` may be null: see `likes`.
    /// Browsers may reach the service by an address, as "localhost", and by `host_names`.
    api(likes& likes, like_store& store, const colock::client* locks, bool allows_experiments,
        std::vector<std::string> host_names, counters& counters)
        : likes_(likes),
          store_(store),
          locks_(locks),
          allows_experiments_(allows_experiments),
          host_names_(std::move(host_names)),
          counters_(counters) {}

    /// Answers a request. Does not throw.
    boost::asio::awaitable<http_response> answer(http_request request);

    /// Returns the stream that the request asks for. Returns nothing if it asks for something else, or if
    /// there are `most_listeners` already. `answer` then says so.
    std::optional<event_stream> stream(const http_request& request);

    static constexpr int most_listeners = 16;

private:
    boost::asio::awaitable<http_response> dispatch(const http_request& request);
    void check_sender(const http_request& request) const;
    boost::asio::awaitable<http_response> change(const http_request& request, const route& where);
    boost::asio::awaitable<http_response> entity(const route& where);
    boost::asio::awaitable<http_response> author(const route& where);
    boost::asio::awaitable<http_response> health();
    http_response experiment(const http_request& request);
    [[nodiscard]] colock::histogram waits() const;
    boost::asio::awaitable<nlohmann::json> status(colock::histogram waits);
    boost::asio::awaitable<std::string> event(std::optional<entity_id> entity, recent_waits& waits);
    void count(const http_response& response);

    likes& likes_;
    like_store& store_;
    const colock::client* locks_;
    bool allows_experiments_;
    std::vector<std::string> host_names_;
    counters& counters_;
    int listeners_ = 0;
};

}  // namespace like_counter

#endif
