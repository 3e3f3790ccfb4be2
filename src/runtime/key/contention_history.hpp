// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_CONTENTION_HISTORY_HPP
#define COLOCK_RUNTIME_KEY_CONTENTION_HISTORY_HPP

#include "core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace colock::runtime {

/// Records whether other clients wait for the keys that this client has held recently. If they do, the client
/// joins their remote queue before an attempt. An attempt directly after the client's own release would
/// usually win, and would starve the other clients.
///
/// Keys are identified by hash, and several keys share an entry. A lost entry only makes an attempt too
/// early.
class contention_history {
public:
    /// Returns whether to look for a remote queue before an attempt. Even a client that never meets others
    /// looks from time to time.
    [[nodiscard]] bool expected_at(std::size_t key_hash, core::time_point now) noexcept {
        entry& known = of(key_hash);
        if (!known.others && ++known.tries > tries_between_looks &&
            now - known.looked > between_looks) {
            known.looked = now;
            known.tries = 0;
            return true;
        }
        return known.others;
    }

    /// Records whether other clients wait for that key.
    void note(std::size_t key_hash, bool others, core::time_point now) noexcept {
        entry& known = of(key_hash);
        known.looked = now;
        known.tries = 0;
        known.others = others;
    }

    /// Returns whether an attempt that only checks for holders would probably be denied. Such an attempt is
    /// made from time to time, because the key may be free again.
    [[nodiscard]] bool has_holders(std::size_t key_hash) noexcept {
        std::uint8_t& left = looks_saved_[key_hash % looks_saved_.size()];
        left -= left == 0 ? 0 : 1;
        return left != 0;
    }
    /// Records that such an attempt was denied.
    void note_holders(std::size_t key_hash) noexcept {
        looks_saved_[key_hash % looks_saved_.size()] = looks_to_save;
    }

    /// Records that the client has left the remote queue and must not join it again before `until`.
    void step_aside(std::size_t key_hash, core::time_point until) noexcept {
        of(key_hash).join_from = until;
    }
    [[nodiscard]] core::time_point join_from(std::size_t key_hash) noexcept {
        return of(key_hash).join_from;
    }

private:
    // Looking costs a round trip and usually finds no other client.
    static constexpr std::uint32_t tries_between_looks = 64;
    static constexpr core::duration between_looks = core::milliseconds(250);
    static constexpr std::uint8_t looks_to_save = 32;

    struct entry {
        std::size_t key_hash = 0;
        core::time_point looked{};
        core::time_point join_from{};
        std::uint32_t tries = 0;  // Since the last look.
        bool others = false;
    };

    entry& of(std::size_t key_hash) noexcept {
        entry& result = entries_[key_hash % entries_.size()];
        if (result.key_hash != key_hash) {
            result = entry{key_hash, {}, {}, 0, false};
        }
        return result;
    }

    std::array<entry, 256> entries_{};
    std::array<std::uint8_t, 4096> looks_saved_{};  // A collision of two keys only costs time.
};

}  // namespace colock::runtime

#endif
