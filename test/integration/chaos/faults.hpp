// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_FAULTS_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_FAULTS_HPP

#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace colock::chaos {

using random_engine = std::mt19937_64;

/// The target of a fault: a server and its proxy.
struct target {
    test::redis_server& server;
    test::tcp_proxy& network;
    std::jthread caller{};  ///< Waits for the reply to a script that never ends.
};

/// A temporary fault of one instance. Faults are legal while at most a minority of the instances has one.
/// Mutual exclusion, and the availability of the majority, must survive them.
struct fault {
    using milliseconds = std::chrono::milliseconds;

    std::string name;
    milliseconds shortest;
    milliseconds longest;
    std::function<void(target&, milliseconds, random_engine&)> begin;
    std::function<void(target&)> end;
};

/// Returns all kinds of faults.
///
/// A restart without data is legal, because the clients' quarantine covers it. Two kinds are left out,
/// because Redlock can neither detect nor survive them. A server may lose data without a restart (FLUSHALL,
/// an eviction, a restored snapshot). A third party may delete locks.
const std::vector<fault>& instance_faults();

}  // namespace colock::chaos

#endif
