// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_MAJORITY_HPP
#define COLOCK_TEST_INTEGRATION_MAJORITY_HPP

#include "support/proxies.hpp"
#include "support/redis_server.hpp"
#include "support/servers.hpp"

#include <functional>
#include <vector>

namespace colock::test {

/// Five servers, each behind a proxy, and the failures that can hit a majority of them.
struct majority {
    using action = std::function<void(redis_server&, tcp_proxy&)>;
    struct failure {
        action begin;
        action end;
    };

    servers all{5};
    proxies network{all};

    /// Applies the action to the servers 0, 2 and 3.
    void each(const action& what) {
        for (const std::size_t i : {0U, 2U, 3U}) {
            what(all[i], network[i]);
        }
    }

    /// Returns the failures. The servers are stopped, killed, silent in one or both directions, refuse
    /// connections, or are demoted.
    static std::vector<failure> failures() {
        using way = tcp_proxy::way;
        return {
            {[](redis_server& s, tcp_proxy&) { s.pause(); },
             [](redis_server& s, tcp_proxy&) { s.resume(); }},
            {[](redis_server& s, tcp_proxy&) { s.kill(); },
             [](redis_server& s, tcp_proxy&) { s.restart(); }},
            {[](redis_server&, tcp_proxy& p) { p.drop(); },
             [](redis_server&, tcp_proxy& p) { p.resume(); }},
            {[](redis_server&, tcp_proxy& p) { p.drop(way::to_client); },
             [](redis_server&, tcp_proxy& p) { p.resume(); }},
            {[](redis_server&, tcp_proxy& p) {
                 p.refuse();
                 p.cut();
             },
             [](redis_server&, tcp_proxy& p) { p.accept(); }},
            {[](redis_server& s, tcp_proxy&) {
                 s.command({"REPLICAOF", "127.0.0.1", "1"});
             },
             [](redis_server& s, tcp_proxy&) {
                 s.command({"REPLICAOF", "NO", "ONE"});
             }},
        };
    }
};

}  // namespace colock::test

#endif
