// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_CONTENTION_HISTORY_HPP
#define COLOCK_RUNTIME_KEY_CONTENTION_HISTORY_HPP

#include "core/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace colock::runtime {

/// Remembers whether other clients wait for the keys that this one has had lately: then it is fair to join their remote
/// queue before an attempt. An attempt right behind one's own release would mostly win, and nobody else would ever get
/// in.
///
/// Keys are told apart by their hashes, and each shares its entry with others: an entry that is forgotten only makes an
/// attempt too early.
class contention_history {
public:
    /// The client is about to try for a key that it does not have: whether to look for a remote queue first. A
    /// client that tries time and again and never meets anybody looks now and then as well.
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

    /// Others wait for that key, or do not.
    void note(std::size_t key_hash, bool others, core::time_point now) noexcept {
        entry& known = of(key_hash);
        known.looked = now;
        known.tries = 0;
        known.others = others;
    }

    /// Whether an attempt that only looks whether nobody holds that key would mostly be in vain. It is made now and then, since the
    /// key may be free again.
    [[nodiscard]] bool has_holders(std::size_t key_hash) noexcept {
        std::uint8_t& left = looks_saved_[key_hash % looks_saved_.size()];
        left -= left == 0 ? 0 : 1;
        return left != 0;
    }
    /// Such an attempt was denied.
    void note_holders(std::size_t key_hash) noexcept {
        looks_saved_[key_hash % looks_saved_.size()] = looks_to_save;
    }

    /// The client has left the queue, and is not to join it again before `until`.
    void step_aside(std::size_t key_hash, core::time_point until) noexcept {
        of(key_hash).join_from = until;
    }
    [[nodiscard]] core::time_point join_from(std::size_t key_hash) noexcept {
        return of(key_hash).join_from;
    }

private:
    // A look is a round trip more; and what looks for others sees none, mostly.
    static constexpr std::uint32_t tries_between_looks = 64;
    static constexpr core::duration between_looks = core::milliseconds(250);
    static constexpr std::uint8_t looks_to_save = 32;

    struct entry {
        std::size_t key_hash = 0;
        core::time_point looked{};
        core::time_point join_from{};
        std::uint32_t tries = 0;  // since it looked
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
    std::array<std::uint8_t, 4096> looks_saved_{};  // two keys with one entry cost nothing but time
};

}  // namespace colock::runtime

#endif
