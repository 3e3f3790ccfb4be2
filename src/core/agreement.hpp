// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_AGREEMENT_HPP
#define COLOCK_CORE_AGREEMENT_HPP

#include "core/round.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::core {

/// The condition for the values of a quorum's grants.
enum class agreement : std::uint8_t {
    none,     ///< Grants have no value.
    largest,  ///< Any values. The lease has the largest, once a majority stores it: a fence.
    same,     ///< Equal values: the number of a permit, or the numbers of several.
};

/// The result of the grants of a round.
struct agreed_value {
    std::uint64_t value = 0;  ///< The value of the lease, or the one to ask for in another round.
    std::string values{};     ///< For a lease with several values: see `command::values`.
    bool reached = true;      ///< No other round is needed.
    bool may_be_reached = false;  ///< If not reached: outstanding votes may still bring agreement.
};

/// Computes the value of the round's grants, which must make a quorum.
///
/// If the values must be equal and differ, the next round asks for the `quorum`-th smallest value or more. A
/// value that is free at a quorum is not smaller, unless a vote of that quorum is outstanding. The search
/// therefore does not pass such a value. Each round comes nearer to it, because it asks for more than some
/// instances have. For several values this holds at each position.
[[nodiscard]] agreed_value agree(agreement how, const round& votes);

}  // namespace colock::core

#endif
