// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_SERVICE_HPP
#define LIKE_COUNTER_SERVICE_HPP

#include "api.hpp"
#include "counters.hpp"
#include "http_server.hpp"
#include "like_store.hpp"
#include "likes.hpp"
#include "options.hpp"

#include <colock/client.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>
#include <optional>

namespace like_counter {

/// The whole service, put together.
class service {
public:
    /// Listens from now on. Throws what cannot be listened on or connected to.
    service(boost::asio::any_io_executor executor, const options& options);

    [[nodiscard]] boost::asio::ip::tcp::endpoint local_endpoint() const {
        return server_.local_endpoint();
    }

    /// Serves until `stop`.
    boost::asio::awaitable<void> run() { return server_.run(); }

    /// Lets requests in flight finish and gives back all locks; then nothing is left running.
    boost::asio::awaitable<void> stop();

private:
    counters counters_;
    std::unique_ptr<like_store> store_;
    std::optional<colock::client> locks_;
    likes likes_;
    api api_;
    http_server server_;
    std::chrono::milliseconds stop_patience_;
};

}  // namespace like_counter

#endif
