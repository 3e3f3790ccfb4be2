// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_PAGE_SERVER_HPP
#define LIKE_COUNTER_DRIVER_PAGE_SERVER_HPP

#include "crowd.hpp"
#include "stage.hpp"
#include "watch.hpp"

#include "http_message.hpp"
#include "http_server.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace like_counter::driver {

/// An action that cannot be carried out now. The page shows why.
class action_refused : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The page in a browser, and what its buttons do. All paths begin with a secret, so that no other page in
/// the browser can use them:
///
/// | request                          | answer                                                          |
/// |----------------------------------|-----------------------------------------------------------------|
/// | `GET /{secret}/`                 | the page                                                        |
/// | `GET /{secret}/events`           | everything that the page shows, as server-sent events           |
/// | `POST /{secret}/actions/{name}`  | `{"ok", "message"}`, when the action has ended                  |
///
/// The actions are `like`, `unlike` (`{"service", "user"}`), `burst` (`{"people"}`), `locking` (`{"on"}`),
/// `freeze`, `new_post`, and `stop`, `resume`, `kill` and `restart` (`{"server"}`).
class page_server {
public:
    page_server(asio::any_io_executor executor, stage& stage,
                const asio::ip::tcp::endpoint& listen);

    /// Serves until `stop`.
    asio::awaitable<void> run();
    asio::awaitable<void> stop();

    [[nodiscard]] std::string address() const;

private:
    using clock = std::chrono::steady_clock;

    struct log_entry {
        clock::time_point at;
        std::string kind;
        std::string text;
    };

    asio::awaitable<http_response> answer(http_request request);
    std::optional<event_stream> stream(const http_request& request);
    asio::awaitable<nlohmann::json> act(std::string name, nlohmann::json body);

    asio::awaitable<std::string> like(nlohmann::json body, bool liked);
    asio::awaitable<std::string> burst(nlohmann::json body);
    asio::awaitable<std::string> set_locking(bool on);
    asio::awaitable<std::string> freeze();
    asio::awaitable<std::string> act_on_server(std::string name, nlohmann::json body);
    std::string begin_post();

    asio::awaitable<void> change_experiment(const stage::service& which, std::string field,
                                            nlohmann::json value);
    asio::awaitable<bool> until_first_service_holds();
    asio::awaitable<void> keep_reading();
    asio::awaitable<void> read_post();
    asio::awaitable<void> settle();

    void note(std::string kind, std::string text);
    [[nodiscard]] nlohmann::json snapshot();
    [[nodiscard]] nlohmann::json services() const;
    [[nodiscard]] nlohmann::json servers() const;
    [[nodiscard]] nlohmann::json post() const;
    [[nodiscard]] std::optional<std::string> path_of(const http_request& request) const;

    asio::any_io_executor executor_;
    stage& stage_;
    std::string secret_;
    std::string prefix_;
    int posts_ = 0;
    int freezes_ = 0;
    crowd crowd_;
    std::list<watch> watches_;
    http_server server_;
    std::vector<log_entry> log_;
    std::string busy_with_;  // the action that excludes others
    bool stopped_ = false;
    int listeners_ = 0;

    struct figures {
        std::int64_t members = 0;
        std::int64_t counted = 0;
        std::uint64_t ended = 0;  // likes that had been answered before
        bool settled = false;     // no like was under way
    };
    std::optional<figures> figures_;
};

}  // namespace like_counter::driver

#endif
