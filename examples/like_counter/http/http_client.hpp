// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_CLIENT_HPP
#define LIKE_COUNTER_HTTP_CLIENT_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/verb.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace like_counter {

struct http_reply {
    unsigned status = 0;
    nlohmann::json body;  ///< Empty if the answer is no JSON object.

    /// Returns a field of the error in the body.
    [[nodiscard]] std::string error(const std::string& field) const {
        return body.value(nlohmann::json::json_pointer("/error/" + field), "unknown");
    }

    /// Whether the service says that it wrote nothing: see service/api_error.hpp. On a cluster, a stale writer may
    /// be refused in one of two slots.
    [[nodiscard]] bool wrote_nothing() const {
        const std::string code = error("code");
        return (status >= 400 && status < 500) || code == "busy" || code == "locks_unavailable";
    }
};

/// Where the likes of an entity are.
inline std::string likes_target(const std::string& entity) {
    return "/v1/entities/" + entity + "/likes";
}

/// One keep-alive connection to a service, made when it is needed.
class http_client {
public:
    http_client(boost::asio::any_io_executor executor, boost::asio::ip::tcp::endpoint server);

    /// Sends a request, with a JSON body unless that is null, and waits for the answer. Throws
    /// `boost::system::system_error`. Then it is not known whether the request took effect.
    boost::asio::awaitable<http_reply> request(boost::beast::http::verb method, std::string target,
                                               nlohmann::json body = nullptr);

    boost::asio::awaitable<http_reply> get(std::string target);

    /// Uses another server from now on.
    void move_to(boost::asio::ip::tcp::endpoint server);

private:
    boost::asio::awaitable<http_reply> exchange(boost::beast::http::verb method, std::string target,
                                                nlohmann::json body);

    boost::asio::any_io_executor executor_;
    boost::asio::ip::tcp::endpoint server_;
    std::optional<boost::beast::tcp_stream> stream_;
    boost::beast::flat_buffer buffer_;
};

}  // namespace like_counter

#endif
