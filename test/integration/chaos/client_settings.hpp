// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_CLIENT_SETTINGS_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_CLIENT_SETTINGS_HPP

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace colock::chaos {

/// What a client of the chaos is told when it starts, as JSON in its only argument.
///
/// After that it is told by lines on its standard input, and answers each with a line of JSON:
///     report   what it has done so far, and how it sees the instances (see `client_report`)
///     finish   the same, when it has let go of everything and is closed; then it ends
struct client_settings {
    std::string name;
    std::vector<std::string> instances;
    std::uint64_t seed = 0;
    std::size_t tasks = 0;
    std::size_t names = 0;  ///< of the locks they all want
    std::int64_t ttl_ms = 0;
    std::int64_t quarantine_ms = 0;
    bool renews = true;
    bool hold_past_validity = false;  ///< broken: stays inside when its lease has ended
    std::string sections;             ///< where to write them, see `test::read_sections`
    std::string probes;               ///< likewise, with a name of its own for each
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(client_settings, name, instances, seed, tasks, names, ttl_ms,
                                   quarantine_ms, renews, hold_past_validity, sections, probes)

/// What a client says of itself.
struct client_report {
    std::vector<bool> ready;      ///< each instance
    std::size_t sections = 0;     ///< it has been through
    std::size_t cancelled = 0;    ///< acquires and sections
    std::size_t lost = 0;         ///< leases
    std::size_t renewed = 0;      ///< likewise
    std::size_t unavailable = 0;  ///< acquires that gave up for lack of a quorum
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(client_report, ready, sections, cancelled, lost, renewed,
                                   unavailable)

}  // namespace colock::chaos

#endif
