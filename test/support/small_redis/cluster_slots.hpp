// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_CLUSTER_SLOTS_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_CLUSTER_SLOTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// The slot table of a cluster node. At first every slot is unserved.
class cluster_slots {
public:
    enum class movement : std::uint8_t {
        none,
        migrating,  ///< This node serves the slot, and its keys are moving to the peer.
        importing,  ///< The peer serves the slot, and its keys are moving to this node.
    };

    cluster_slots();

    /// Makes this node the owner of the slots from `first` to `last`.
    void serve(std::size_t first, std::size_t last);
    /// Makes the node at this address, `host:port`, the owner of the slots from `first` to `last`.
    void assign(std::size_t first, std::size_t last, std::string_view address);
    /// Removes the owner of the slots from `first` to `last`.
    void leave_unserved(std::size_t first, std::size_t last);

    void migrate(std::size_t slot, std::string_view to);
    void import(std::size_t slot, std::string_view from);
    /// Ends the movement of the slot. The owner remains.
    void settle(std::size_t slot);

    [[nodiscard]] bool is_served(std::size_t slot) const { return slots_[slot].owner != nobody; }
    [[nodiscard]] bool is_ours(std::size_t slot) const { return slots_[slot].owner == us; }
    [[nodiscard]] movement movement_of(std::size_t slot) const { return slots_[slot].moves; }
    /// Returns the address of the owner, which must be another node.
    [[nodiscard]] const std::string& owner(std::size_t slot) const {
        return addresses_[slots_[slot].owner - first_address];
    }
    /// Returns the address of the node to or from which the slot moves.
    [[nodiscard]] const std::string& peer(std::size_t slot) const {
        return addresses_[slots_[slot].peer - first_address];
    }

    /// If true, the node believes that the cluster is down, and refuses every key.
    bool is_down = false;

private:
    static constexpr std::uint16_t nobody = 0;
    static constexpr std::uint16_t us = 1;
    static constexpr std::uint16_t first_address = 2;
    struct entry {
        std::uint16_t owner = nobody;
        std::uint16_t peer = nobody;
        movement moves = movement::none;
    };

    void give(std::size_t first, std::size_t last, std::uint16_t owner);
    [[nodiscard]] std::uint16_t number_of(std::string_view address);

    std::vector<entry> slots_;
    std::vector<std::string> addresses_;
};

}  // namespace colock::small_redis

#endif
