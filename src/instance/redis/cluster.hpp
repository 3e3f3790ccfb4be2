// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_CLUSTER_HPP
#define COLOCK_INSTANCE_REDIS_CLUSTER_HPP

#include "instance/instance.hpp"
#include "instance/redis/cluster_map.hpp"
#include "instance/redis/cluster_watch.hpp"
#include "instance/redis/detour_queue.hpp"
#include "instance/redis/key_slot.hpp"
#include "instance/redis/map_selection.hpp"
#include "instance/redis/node.hpp"
#include "instance/redis/promotion.hpp"
#include "instance/redis/redis_instance.hpp"
#include "instance/redis/retired_nodes.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// The topology of a Redis Cluster: each command goes to the master of its key's slot.
///
/// A command becomes a *detour* if the node redirects it (MOVED, ASK) or puts it off. TRYAGAIN and
/// CLUSTERDOWN put it off. A detour is sent again, to the other node or later, until its deadline. Commands
/// for one key keep their order. While a slot cannot be used, all its commands are detours, and few are sent:
/// see `detour_queue`.
///
/// `map_selection` decides which map is used. A command for a slot without an owner goes to some node, which
/// redirects it.
class cluster final : public instance, private node_observer, private map_observer {
public:
    cluster(std::size_t index, const cluster_address& to, const redis_settings& settings,
            std::uint64_t seed, const boost::asio::any_io_executor& executor,
            instance_observer& observer);
    cluster(const cluster&) = delete;
    cluster& operator=(const cluster&) = delete;
    ~cluster() override;

    void start() override;
    void stop() override;
    void send(const std::shared_ptr<const batch>& commands, core::time_point now) override;
    /// Returns whether some slots can be used.
    [[nodiscard]] bool ready() const noexcept override;
    [[nodiscard]] bool starting() const noexcept override;
    [[nodiscard]] std::uint64_t keeper_id() const noexcept override;
    [[nodiscard]] bool takes_commands(core::time_point now) const override;
    [[nodiscard]] bool answers_since(core::time_point then) const override;
    [[nodiscard]] std::size_t room() const noexcept override;
    [[nodiscard]] status snapshot() const override;

private:
    class detour;
    struct member {
        std::shared_ptr<node> where;
        core::time_point last_used;  // Last time it had slots, or another node named it.
        bool is_listed = false;      ///< The map in use lists it.
        /// It has lost all its slots. If it gets some again, it may have been promoted in the meantime.
        bool has_left = false;
        std::string run_id{};   ///< Run id of the last server at this endpoint.
        bool was_away = false;  ///< The server was unreachable for some time.
        /// The sweep in which another server was noticed at this endpoint. That server may belong to another
        /// cluster. It is doubted until it reports a map of this cluster.
        std::optional<std::uint64_t> doubted_since{};
    };

    // The map.
    std::vector<map_source> begin_sweep() override;
    bool on_map(const address& from, cluster_map map) override;
    void on_no_map(const address& from, const std::string& reason) override;
    void end_sweep() override;
    void use(const map_decision& decided);
    node& node_at(const std::string& host, const std::string& port);
    [[nodiscard]] node* target_at(const std::string& host, const std::string& port,
                                  const node& named_by);
    [[nodiscard]] bool make_room_for_target(const node& named_by);
    void retire_those_without_slots(const std::set<const node*>& former_owners);
    void retire(const std::string& endpoint);
    void look_after_slots();
    void set_owner(std::size_t slot, node& owner, bool is_another, core::time_point now);
    void bar(std::size_t slot, core::time_point now);
    void bar_all(core::time_point now);
    void doubt(member& one);
    [[nodiscard]] member* member_of(const address& where);
    [[nodiscard]] bool is_doubted(const node& one) const;

    // From the nodes.
    admission admit(const node& from, const server_facts& facts) override;
    void on_disconnected(const node& from) override;
    void on_state_change(const node& from) override;
    void on_redirected(const node& from, const submission& command,
                       const resp::value& error) override;
    void on_pending() override { observer_.on_pending(index_); }
    void on_accepting() override { observer_.on_accepting(index_); }
    void on_key_changed(std::string_view key) override { observer_.on_key_changed(index_, key); }
    void on_all_keys_changed() override { observer_.on_all_keys_changed(index_); }

    // Commands.
    [[nodiscard]] node* owner_of_all(const batch& commands, core::time_point now) const;
    [[nodiscard]] node* node_for(std::size_t slot, std::size_t tries) const;
    void send_split(const batch& commands, core::time_point now);
    struct bar_reason {
        std::string_view why{};                ///< Empty = not barred.
        core::time_point until = core::never;  ///< `never` = until the nodes report otherwise.
        [[nodiscard]] core::vote vote() const;
    };
    [[nodiscard]] bar_reason why_barred(const kinds::command& command, const node* to,
                                        core::time_point now) const;
    void vote_on(const submission& one, core::failure reason, core::time_point now,
                 std::string detail = {});

    // Detours.
    detour* begin_detour(const submission& command, core::time_point now, std::string why);
    void divide_names(detour& of);
    void follow(detour& of, const node& from, core::time_point now);
    void wait_to_be_sent(detour& of);
    void send_detours(core::time_point now);
    [[nodiscard]] bool is_to_be_sent(detour& of, core::time_point now);
    [[nodiscard]] node* target_of(detour& of);
    void end_detour(detour& of, core::vote vote, core::time_point now);
    void shut(std::size_t slot);
    void look_after_detours(core::time_point now);
    void wake_at(core::time_point time);

    std::size_t index_;
    cluster_address to_;
    redis_settings settings_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    instance_observer& observer_;
    std::shared_ptr<cluster_watch> watch_;
    boost::asio::steady_timer detour_timer_;
    core::time_point wake_at_ = core::never;                      // Expiry of the timer.
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // For the timer's handler.

    std::atomic<bool> stopped_{false};
    bool has_map_ = false;
    bool starting_ = true;  // Until the first map is available.
    bool missed_ = false;   // Votes have failed before there was a node for them.
    map_selection selection_;
    std::uint64_t sweep_ = 0;    // Number of the current sweep.
    bool is_undecided_ = false;  // It is undecided whether another map will be followed.
    std::array<node*, slot_count> owners_{};
    // Slots without an owner in the map. `owners_` keeps the last owner.
    std::bitset<slot_count> holes_;
    std::size_t doubted_ = 0;  // Number of doubted nodes.
    /// End of each slot's own quarantine. A slot is quarantined if its owner was down when the slot changed
    /// hands. `any_barred_until_` is the latest end.
    std::vector<core::time_point> barred_until_;
    core::time_point any_barred_until_ = core::time_point::min();
    std::optional<address> informed_;  // The target of the latest MOVED redirection.
    seen_promotions promotions_;
    std::list<detour> detours_;
    detour_queue waiting_;  // The detours that are not in flight.
    std::atomic<std::size_t> detour_count_{0};

    mutable std::mutex nodes_mutex_;       // Protects the members that `snapshot` reads.
    std::map<std::string, member> nodes_;  // Keyed by endpoint.
    retired_nodes retired_;
    /// End of the quarantine of all slots. They are quarantined if the nodes report another cluster or an
    /// older state.
    core::time_point all_barred_until_ = core::time_point::min();
    std::string map_reason_;  // Why there is no map, or which reports were ignored.
};

}  // namespace colock::instance::redis

#endif
