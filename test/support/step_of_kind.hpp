// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_STEP_OF_KIND_HPP
#define COLOCK_TEST_SUPPORT_STEP_OF_KIND_HPP

#include "kinds/command.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/kind.hpp"
#include "kinds/queue/remote_queue.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

/// A step of a lock kind. The default is the only kind that has the step, or else an exclusive lock.
struct step_of_kind {
    step_of_kind(core::step s) noexcept  // NOLINT(*-explicit-*)
        : step_of_kind(s, usual_kind_of(s)) {}
    step_of_kind(core::step s, const kinds::lock_kind& k, bool again = false) noexcept
        : step(s), kind(&k), contended(again) {}

    /// Returns the step as an acquire that restores a key which a quorum still has.
    [[nodiscard]] step_of_kind healing() const noexcept {
        step_of_kind result = *this;
        result.heals = true;
        return result;
    }

    /// Returns the step of a sender that does not wait.
    [[nodiscard]] step_of_kind without_waiting() const {
        step_of_kind result = *this;
        result.announces = false;
        return result;
    }

    /// Returns the step with a slower and more detailed reply.
    [[nodiscard]] step_of_kind explaining() const {
        step_of_kind result = *this;
        result.explains = true;
        return result;
    }

    /// Returns the step with these values.
    [[nodiscard]] step_of_kind with_values(std::string all) const {
        step_of_kind result = *this;
        result.values = std::move(all);
        return result;
    }

    /// Returns the step of a lock that also has these names.
    [[nodiscard]] step_of_kind with_more_keys(std::vector<std::string> names) const {
        step_of_kind result = *this;
        result.more_keys = std::move(names);
        return result;
    }

    /// Returns the step of a waiter with that place, of that client.
    [[nodiscard]] step_of_kind at_place(std::uint64_t client_number, std::uint64_t number,
                                        std::uint16_t ttl = 60'000) const {
        step_of_kind result = *this;
        result.client = client_number;
        result.place = number;
        result.place_ttl = ttl;
        return result;
    }

    /// Returns only that part of the step.
    [[nodiscard]] step_of_kind only_part(std::uint8_t which) const {
        step_of_kind result = *this;
        result.part = which;
        return result;
    }

    /// Returns the step as a command. The caller fills in the remaining fields.
    [[nodiscard]] kinds::command command() const {
        kinds::command result;
        result.kind = kind;
        result.step = step;
        result.part = part;
        result.heals = heals;
        result.contended = contended;
        result.announces = announces;
        result.explains = explains;
        return result;
    }

    friend bool operator==(const step_of_kind&, const step_of_kind&) = default;

    core::step step;
    const kinds::lock_kind* kind;
    std::uint8_t part = 0;
    bool contended = false;
    bool heals = false;
    bool announces = true;
    bool explains = false;
    std::string values;
    std::vector<std::string> more_keys;
    std::uint64_t client = 0;  // 0 means that there is no place.
    std::uint64_t place = 0;
    std::uint16_t place_ttl = 0;

private:
    static const kinds::lock_kind& usual_kind_of(core::step s) noexcept {
        switch (s) {
            case core::step::confirm:
                return kinds::fenced;
            case core::step::join:
            case core::step::leave:
                return kinds::remote_queue;
            default:
                return kinds::exclusive;
        }
    }
};

/// Returns a client number for the token of a test. Different tokens have different clients.
inline std::uint64_t client_of(std::string_view token) noexcept {
    return std::hash<std::string_view>{}(token) % core::value_limit;
}

inline const step_of_kind fenced_acquire{core::step::acquire, kinds::fenced};

/// Returns the part of a step that increments the fence counter, whichever token holds the key.
inline step_of_kind counts_of(const kinds::lock_kind& kind) {
    return step_of_kind(core::step::confirm, kind).only_part(kinds::counter_part);
}

}  // namespace colock::test

#endif
