// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_INSPECTION_INSPECTION_HPP
#define COLOCK_KINDS_INSPECTION_INSPECTION_HPP

#include "core/command.hpp"
#include "kinds/kind.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

// Questions about any lock: who has a name, and the removal of a holder by somebody else. No lock is of this
// kind. See report.hpp for what an instance reports.

namespace colock::kinds {

/// The kind of the step `inspect`. The grant contains the report as its detail.
extern const lock_kind& inspection;

/// The part of the step `inspect` that reports about the lock's key only.
inline constexpr std::uint8_t key_part = 1;

/// The step by which a token, or the mark of a waiting writer, is removed from a key.
struct removal {
    const lock_kind* kind = nullptr;
    core::step step = core::step::release;
    std::uint64_t ticket = 0;  ///< For a mark: the number of the client.
};

/// Returns the step that removes this token from a key, whichever kind of lock has it. A text that is no
/// token of colock is compared with the whole value of the key. Returns nothing if the text is no token and
/// never can be: an empty text, or the result of a name that was run once.
[[nodiscard]] std::optional<removal> removal_of(std::string_view token);

/// The parts of a semaphore's token.
struct permit_token {
    std::uint32_t limit;
    std::uint32_t count;
    std::string_view digits_and_label;
};

/// Returns nothing if the text is no token of a semaphore.
[[nodiscard]] std::optional<permit_token> parse_permit(std::string_view token);

/// Returns the label in a token of any kind. Returns an empty text if it has none.
[[nodiscard]] std::string_view label_of_holder(std::string_view token) noexcept;

}  // namespace colock::kinds

#endif
