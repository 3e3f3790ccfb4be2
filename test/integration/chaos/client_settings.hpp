// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_CLIENT_SETTINGS_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_CLIENT_SETTINGS_HPP

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::chaos {

/// The settings of a client process, as JSON in its only argument.
///
/// The process reads further commands from its standard input, one per line, and answers each with a
/// `client_report` as a line of JSON:
/// - `report`: Answers immediately, with the counts so far and the state of each instance.
/// - `finish`: Answers when all leases are released and the client is closed. Then the process exits.
struct client_settings {
    std::string name;
    std::vector<std::string> instances;
    std::uint64_t seed = 0;
    std::size_t tasks = 0;
    std::size_t names = 0;  ///< Number of locks that all clients share.
    std::int64_t ttl_ms = 0;
    std::int64_t quarantine_ms = 0;
    bool renews = true;
    /// Breaks the client: it stays inside after its lease has ended.
    bool hold_past_validity = false;
    /// The file for critical sections, see `test::read_sections`.
    std::string sections;
    /// The file for the probes. Each probe acquires a name that no other client uses.
    std::string probes;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(client_settings, name, instances, seed, tasks, names, ttl_ms,
                                   quarantine_ms, renews, hold_past_validity, sections, probes)

/// The state of a client, as it reports it.
struct client_report {
    std::vector<bool> ready;      ///< One value for each instance.
    std::size_t sections = 0;     ///< Critical sections entered so far.
    std::size_t cancelled = 0;    ///< Acquires and critical sections.
    std::size_t lost = 0;         ///< Number of lost leases.
    std::size_t renewed = 0;      ///< Number of renewals.
    std::size_t unavailable = 0;  ///< Acquires that failed for lack of a quorum.
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(client_report, ready, sections, cancelled, lost, renewed,
                                   unavailable)

}  // namespace colock::chaos

#endif
