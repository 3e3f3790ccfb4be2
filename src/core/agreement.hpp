// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_AGREEMENT_HPP
#define COLOCK_CORE_AGREEMENT_HPP

#include "core/round.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace colock::core {

/// What the values of a quorum's grants have to be.
enum class agreement : std::uint8_t {
    none,     ///< grants bring no value
    largest,  ///< any, and the lease has the largest once a majority knows it: a fence
    same,     ///< equal: the number of a permit, or the numbers of several
};

/// What the grants of a round come to.
struct agreed_value {
    std::uint64_t value = 0;      ///< what the lease has, or is to have after another round
    std::string values{};         ///< of a lease with several: see `command::values`
    bool reached = true;          ///< there need not be another round
    bool may_be_reached = false;  ///< otherwise: the votes that are still out may bring it
};

/// Works out the value of the round's grants, of which there must be a quorum.
///
/// If they must be equal and are not, the next round asks for the `quorum`-th smallest or more. A value that is free at a quorum is no
/// less than that, unless a vote of that quorum is still out. So it is not passed. The next round comes nearer to it, since it asks for
/// more than some have. Of several values this holds for each place.
[[nodiscard]] agreed_value agree(agreement how, const round& votes);

}  // namespace colock::core

#endif
