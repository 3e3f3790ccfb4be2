// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SERVERS_HPP
#define COLOCK_TEST_SUPPORT_SERVERS_HPP

#include "support/redis_server.hpp"

#include <colock/config.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// N independent servers, the instances of one client.
class servers {
public:
    /// Starts the servers, each with these arguments.
    explicit servers(std::size_t count, const std::vector<std::string>& arguments = {}) {
        servers_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            servers_.emplace_back(arguments);
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }
    redis_server& operator[](std::size_t i) { return servers_.at(i); }
    auto begin() noexcept { return servers_.begin(); }
    auto end() noexcept { return servers_.end(); }

    [[nodiscard]] std::vector<std::string> uris() const {
        std::vector<std::string> uris;
        for (const auto& server : servers_) {
            uris.push_back(server.uri());
        }
        return uris;
    }

    /// Returns a configuration with all servers and with defaults for other fields. It disables the
    /// quarantine, because the servers have just started.
    [[nodiscard]] colock::config config() const {
        colock::config configuration;
        configuration.instances = uris();
        configuration.restart_quarantine = std::chrono::milliseconds(0);
        return configuration;
    }

    /// Returns how many servers have this key. No server may be killed or paused.
    [[nodiscard]] std::size_t holding(std::string_view key) const {
        std::size_t count = 0;
        for (const auto& server : servers_) {
            count += server.has(key) ? 1 : 0;
        }
        return count;
    }

    /// Returns the total number of keys in database 0. No server may be killed or paused.
    [[nodiscard]] std::size_t keys() const {
        std::size_t count = 0;
        for (const auto& server : servers_) {
            count += server.keys().size();
        }
        return count;
    }

    void flush() const {
        for (const auto& server : servers_) {
            server.flush();
        }
    }

private:
    std::vector<redis_server> servers_;
};

}  // namespace colock::test

#endif
