// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_API_HPP
#define LIKE_COUNTER_API_HPP

#include "counters.hpp"
#include "http_message.hpp"
#include "like_store.hpp"
#include "likes.hpp"
#include "route.hpp"

#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>

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
/// | `GET /v1/status`                               | instances, lock counters, service counters  |
/// | `GET /`                                        | a page that shows all this                  |
///
/// An entity's id is `<author>.<name>`. Errors: see api_error.hpp.
class api {
public:
    /// `locks` may be null: see `likes`.
    api(likes& likes, like_store& store, const colock::client* locks, counters& counters)
        : likes_(likes), store_(store), locks_(locks), counters_(counters) {}

    /// Answers a request. Does not throw.
    boost::asio::awaitable<http_response> answer(http_request request);

private:
    boost::asio::awaitable<http_response> dispatch(const http_request& request);
    boost::asio::awaitable<http_response> change(const http_request& request, const route& where);
    boost::asio::awaitable<http_response> entity(const route& where);
    boost::asio::awaitable<http_response> author(const route& where);
    boost::asio::awaitable<http_response> health();
    [[nodiscard]] http_response status() const;
    void count(const http_response& response);

    likes& likes_;
    like_store& store_;
    const colock::client* locks_;
    counters& counters_;
};

}  // namespace like_counter

#endif
