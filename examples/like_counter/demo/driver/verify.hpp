// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_VERIFY_HPP
#define LIKE_COUNTER_DRIVER_VERIFY_HPP

#include "http_client.hpp"
#include "ledger.hpp"
#include "workload.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace like_counter::driver {

/// What the service has, against what the driver knows.
struct verdict {
    std::int64_t accepted = 0;      ///< likes that must be there, by the driver's ledger
    std::int64_t counted = 0;       ///< sum of the entities' running totals
    std::int64_t set_members = 0;   ///< sum of the sizes of the sets of likers
    std::int64_t author_total = 0;  ///< sum of the authors' running totals
    std::uint64_t entities = 0;     ///< checked
    std::uint64_t authors = 0;      ///< checked
    std::uint64_t entity_mismatches = 0;
    std::uint64_t author_mismatches = 0;
    std::uint64_t unexplained = 0;      ///< likes that no outcome of unknown requests explains
    std::vector<std::string> examples;  ///< of mismatches, the first few

    [[nodiscard]] std::uint64_t mismatches() const noexcept {
        return entity_mismatches + author_mismatches + unexplained;
    }
};

/// Compares every entity and every author: the set's size, the running total and the ledger must be
/// the same number. To be called when no request is under way any more.
boost::asio::awaitable<verdict> verify(http_client& client, const workload& workload,
                                       ledger& ledger);

}  // namespace like_counter::driver

#endif
