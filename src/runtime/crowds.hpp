#ifndef COLOCK_RUNTIME_CROWDS_HPP
#define COLOCK_RUNTIME_CROWDS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace colock::runtime {

/// Remembers whether other processes wait for the keys that this one has had lately: then it is fair to
/// join their line before an attempt. An attempt that comes right behind one's own release would mostly
/// win, and nobody else ever get in.
///
/// Keys are told apart by their hashes, and each shares its entry with others: who is forgotten only makes
/// an attempt too early.
class crowds {
public:
    /// The client is about to try for a key that it does not have: whether to look for a line first. Who has
    /// tried and never met anybody looks now and then as well.
    [[nodiscard]] bool expected_at(std::size_t key_hash) noexcept {
        entry& known = entries_[key_hash % entries_.size()];
        if (known.key_hash != key_hash) {
            known = {key_hash, 0, false};
        }
        return known.others || ++known.tries % tries_between_looks == 0;
    }

    /// Others wait for that key, or do not.
    void note(std::size_t key_hash, bool others) noexcept {
        entries_[key_hash % entries_.size()] = {key_hash, 0, others};
    }

private:
    static constexpr std::uint32_t tries_between_looks = 64;

    struct entry {
        std::size_t key_hash = 0;
        std::uint32_t tries = 0;
        bool others = false;
    };

    std::array<entry, 256> entries_{};
};

}  // namespace colock::runtime

#endif
