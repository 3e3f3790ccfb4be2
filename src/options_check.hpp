// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_SRC_OPTIONS_CHECK_HPP
#define COLOCK_SRC_OPTIONS_CHECK_HPP

#include <colock/error.hpp>

#include "core/validity.hpp"
#include "runtime/shared_parts.hpp"

#include <chrono>
#include <string>

namespace colock::detail {

/// A duration for an error's text: "1500 ms".
inline std::string to_text(std::chrono::milliseconds d) {
    return std::to_string(d.count()) + " ms";
}

/// Throws `config_error` unless `least <= value <= most`.
inline void check_range(const std::string& field, std::chrono::milliseconds value,
                        std::chrono::milliseconds least, std::chrono::milliseconds most) {
    if (value < least || value > most) {
        throw config_error(field, to_text(value), to_text(least) + " to " + to_text(most));
    }
}

/// The shortest ttl leaves something after drift, the longest is one that is meant.
inline void check_ttl(const std::string& field, std::chrono::milliseconds ttl) {
    check_range(field, ttl, std::chrono::milliseconds(10), std::chrono::hours(24));
}

/// Throws `config_error` for a ttl of which the client's drift leaves nothing: a lock that is never valid.
inline void check_drift(std::chrono::milliseconds ttl, const core::drift_bound& drift) {
    if (drift.of(ttl) < ttl) {
        return;
    }
    const auto all =
        std::chrono::duration<double, std::milli>(drift.minimum) / (1.0 - drift.factor);
    throw config_error("ttl", to_text(ttl),
                       "more than " + to_text(std::chrono::floor<std::chrono::milliseconds>(all)) +
                           ", which the client's drift_factor and drift_minimum take off");
}

/// Throws `config_error` for a ttl that is longer than one of the client's quarantines, unless that is 0.
inline void check_quarantine(std::chrono::milliseconds ttl,
                             const runtime::quarantine_lengths& longest) {
    const auto is_too_long = [ttl](std::chrono::milliseconds quarantine) {
        return quarantine.count() != 0 && ttl > quarantine;
    };
    std::string of_restart;
    std::string of_failover;
    if (is_too_long(longest.restart)) {
        of_restart = "at most " + to_text(longest.restart) +
                     ", the client's restart_quarantine: a server that has restarted without its "
                     "data grants again after that";
    }
    if (is_too_long(longest.failover)) {
        of_failover = "at most " + to_text(longest.failover) +
                      ", the client's failover_quarantine: a replica that was promoted without the "
                      "last locks grants again after that";
    }
    if (of_restart.empty() && of_failover.empty()) {
        return;
    }
    const std::string between = of_restart.empty() || of_failover.empty() ? "" : "; and ";
    throw config_error("ttl", to_text(ttl),
                       longest.restart <= longest.failover ? of_restart + between + of_failover
                                                           : of_failover + between + of_restart);
}

}  // namespace colock::detail

#endif
