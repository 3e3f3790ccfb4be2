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

/// What a fault is done to: a server, and the network before it.
struct target {
    test::redis_server& server;
    test::tcp_proxy& network;
    std::jthread caller{};  ///< who waits for the server's answer to a script without end
};

/// Something that goes wrong with one instance, and comes to an end. It is a legal fault as long as
/// no more than a minority has one: mutual exclusion, and the availability of the majority, are to
/// survive it.
struct fault {
    using milliseconds = std::chrono::milliseconds;

    std::string name;
    milliseconds shortest;
    milliseconds longest;
    std::function<void(target&, milliseconds, random_engine&)> begin;
    std::function<void(target&)> end;
};

/// All kinds there are.
///
/// A restart without data is legal thanks to the clients' quarantine. Not among them, because Redlock
/// can neither notice nor survive them: a server that loses data and does not restart (FLUSHALL, an
/// eviction, a snapshot put back), and somebody who deletes other people's locks.
const std::vector<fault>& instance_faults();

}  // namespace colock::chaos

#endif
