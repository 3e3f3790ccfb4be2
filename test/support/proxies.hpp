// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_PROXIES_HPP
#define COLOCK_TEST_SUPPORT_PROXIES_HPP

#include "support/servers.hpp"
#include "support/tcp_proxy.hpp"

#include <colock/config.hpp>

#include <cstddef>
#include <vector>

namespace colock::test {

/// Puts a `tcp_proxy` in front of each of these servers. The servers keep their ports when killed and
/// restarted.
class proxies {
public:
    explicit proxies(servers& behind) {
        for (const redis_server& server : behind) {
            proxies_.emplace_back(server.port());
        }
    }

    [[nodiscard]] std::size_t size() const noexcept { return proxies_.size(); }
    tcp_proxy& operator[](std::size_t i) { return proxies_.at(i); }
    auto begin() noexcept { return proxies_.begin(); }
    auto end() noexcept { return proxies_.end(); }

    /// Returns a configuration with all proxies as instances. All other fields are those of
    /// `servers::config`.
    [[nodiscard]] colock::config config() const {
        colock::config configuration;
        configuration.restart_quarantine = std::chrono::milliseconds(0);
        for (const tcp_proxy& proxy : proxies_) {
            configuration.instances.push_back(proxy.uri());
        }
        return configuration;
    }

private:
    std::vector<tcp_proxy> proxies_;
};

}  // namespace colock::test

#endif
