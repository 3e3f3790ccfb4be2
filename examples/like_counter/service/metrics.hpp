// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_METRICS_HPP
#define LIKE_COUNTER_METRICS_HPP

#include "counters.hpp"

#include <colock/client.hpp>

#include <string>

namespace like_counter {

/// Returns the metrics of the service, and those of its locks, as text for Prometheus. `locks` may be null.
///
/// The service's own metrics begin with `likecounter_`. The linter of Prometheus rejects `like_counter_`, because
/// "counter" is the name of a type.
std::string metrics_text(const counters& service, const colock::client* locks);

}  // namespace like_counter

#endif
