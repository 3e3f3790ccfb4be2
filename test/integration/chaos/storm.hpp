// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_STORM_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_STORM_HPP

#include "integration/chaos/faults.hpp"
#include "integration/chaos/fleet.hpp"
#include "support/proxies.hpp"
#include "support/servers.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace colock::chaos {

/// Injects the faults of a run. A new fault begins every few hundred milliseconds. The kinds are drawn at
/// random, all equally often.
///
/// At most a minority of the instances is in trouble at any time. An instance is in trouble from the
/// beginning of its fault until all clients report it `ready` again after the end. It is then connected and
/// not quarantined. Clients are stopped too, one at a time, for longer than the ttl.
class storm {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;

    /// `only` selects kinds of faults. Empty selects all.
    storm(test::servers& servers, test::proxies& network, fleet& clients, milliseconds ttl,
          const std::vector<std::string>& only, random_engine random);
    ~storm();
    storm(const storm&) = delete;
    storm& operator=(const storm&) = delete;

    /// Returns the names of all kinds.
    static std::vector<std::string> kinds();

    /// Ends the faults that are due, and begins a new one if it is time.
    void blow(time_point now);

    /// Ends all faults.
    void calm_down();

    /// Returns whether all instances are well for all clients.
    [[nodiscard]] bool over() const { return !paused_client_ && count_troubled() == 0; }

    /// Returns how many faults of each kind there were.
    [[nodiscard]] const std::map<std::string, std::size_t>& faults() const noexcept {
        return counts_;
    }

    /// Returns a description of the current faults.
    [[nodiscard]] std::string to_text() const;

private:
    /// An instance and its fault.
    struct place {
        target what;
        const fault* now = nullptr;
        time_point until{};   ///< The end of the current fault.
        time_point healed{};  ///< The end of the last fault.
    };

    void end_what_is_due(time_point now);
    void end(place& where);
    void begin_one(time_point now);
    void begin_at_a_well_one(const fault& kind, time_point now);
    void pause_a_client(time_point now);

    [[nodiscard]] bool troubled(std::size_t index) const;
    [[nodiscard]] std::size_t count_troubled() const;
    [[nodiscard]] std::string next_kind();
    [[nodiscard]] milliseconds between(milliseconds shortest, milliseconds longest);

    fleet& clients_;
    milliseconds ttl_;
    random_engine random_;
    std::vector<place> places_;
    std::deque<std::string> deck_;  // The kinds to use next.
    std::vector<std::string> kinds_;
    std::map<std::string, std::size_t> counts_;
    std::optional<std::size_t> paused_client_;
    time_point client_wakes_{};
    time_point next_{};
};

}  // namespace colock::chaos

#endif
