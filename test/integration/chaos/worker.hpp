// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_WORKER_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_WORKER_HPP

#include "integration/chaos/client_settings.hpp"
#include "integration/chaos/visit.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <ostream>
#include <random>

namespace colock::chaos {

/// One of the many coroutines of a client. In a loop, it acquires one of the shared locks, stays inside for a
/// while, and releases it. It uses all ways to do so, and gives up at random moments.
class worker {
public:
    using milliseconds = std::chrono::milliseconds;

    worker(client& locks, const client_settings& settings, std::ostream& sections,
           client_report& report, std::uint64_t seed)
        : locks_(locks), settings_(settings), sections_(sections), report_(report), random_(seed) {}

    /// Runs until `stopping` is set. The object behind the reference must live until then.
    boost::asio::awaitable<void> run(const bool& stopping);

private:
    boost::asio::awaitable<void> with_lease();
    boost::asio::awaitable<void> under_with_lock();
    boost::asio::awaitable<void> stay(const lease& held, visit::time_point asked);

    [[nodiscard]] mutex any_lock();
    [[nodiscard]] milliseconds up_to(milliseconds longest);
    [[nodiscard]] milliseconds length_of_stay();
    [[nodiscard]] milliseconds patience();
    [[nodiscard]] bool once_in(unsigned times);
    void count(const boost::system::error_code& failure);

    client& locks_;
    const client_settings& settings_;
    std::ostream& sections_;
    client_report& report_;
    std::mt19937_64 random_;
};

}  // namespace colock::chaos

#endif
