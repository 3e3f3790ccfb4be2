// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/route.hpp"

#include "simulation/client.hpp"

#include "instance/redis/agreed_master.hpp"
#include "instance/redis/cluster_map.hpp"
#include "instance/redis/map_selection.hpp"
#include "instance/redis/promotion.hpp"
#include "kinds/kind.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace colock::simulation {
namespace {

namespace redis = instance::redis;

/// Corresponds to `redis::standalone`.
class standalone_route final : public route {
public:
    standalone_route(world& w, client& c, voter& v, std::size_t index) : route(w, c, v, index) {
        const std::size_t lanes = w.faults().second_connections > 0 ? 2 : 1;
        for (std::size_t lane = 0; lane != lanes; ++lane) {
            connect_to(0).start();
        }
    }

    void send(const request& r) override {
        // An attempt for permits may have sent several acquires. A release cannot show which of them it has
        // overtaken.
        const bool may_overtake =
            r.command.step == core::step::release && !(r.life != nullptr && r.life->is_permit());
        const bool second = links_.size() > 1 && may_overtake &&
                            world_.goes_wrong(world_.faults().second_connections);
        client_.send_on(index_, *links_[second ? 1 : 0].to, r);
    }

    [[nodiscard]] std::uint64_t keeper_id() const override { return keeper_id_of(0); }
};

// --- Sentinel ---------------------------------------------------------------------------------------

/// The interval of queries to a Sentinel while there is no usable master.
constexpr duration asking_urgently = voter::asking_interval / 10;

/// Corresponds to `redis::sentinel`.
class sentinel_route final : public route {
public:
    sentinel_route(world& w, client& c, voter& v, std::size_t index)
        : route(w, c, v, index),
          opinions_(voter::sentinel_count),
          lines_(opinions_.size()),
          cut_until_(opinions_.size()) {
        for (std::size_t i = 0; i != opinions_.size(); ++i) {
            opinions_[i] = opinion_of(i);
        }
        follow();
        for (std::size_t i = 0; i != opinions_.size(); ++i) {
            ask_later(i, w.random.up_to(voter::asking_interval));
        }
    }

    void send(const request& r) override {
        if (master_ == nullptr) {
            client_.refuse(index_, r, core::vote::failed(core::failure::down));
        } else {
            client_.send_on(index_, *master_, r);
        }
    }

    void reset() override {
        if (master_ != nullptr) {
            master_->reset();
        }
    }

    void cut_sentinel(std::size_t sentinel, true_time until) override {
        cut_until_[sentinel] = std::max(cut_until_[sentinel], until);
    }

    void on_failover_message(std::size_t sentinel) override {
        if (cut_until_[sentinel] <= world_.now()) {
            world_.after(world_.delay(), [this] { ask_all(); });
        }
    }

    [[nodiscard]] std::uint64_t keeper_id() const override {
        return named_ ? keeper_id_of(std::stoul(named_->port)) : 0;
    }

    core::time_point admit(const server& s) override {
        if (!s.was_promoted()) {
            return core::time_point::min();
        }
        return end_of_quarantine(redis::left_by_all(named_->since, voter::noticed_within));
    }

    void on_broken() override {
        route::on_broken();
        ask_all();
    }

private:
    void ask_later(std::size_t sentinel, duration how_much) {
        client_.post(world_.now() + how_much, [this, sentinel] {
            ask(sentinel);
            const bool is_urgent = master_ == nullptr || !master_->ready();
            ask_later(sentinel, is_urgent ? asking_urgently : voter::asking_interval);
        });
    }

    void ask_all() {
        for (std::size_t i = 0; i != opinions_.size(); ++i) {
            ask(i);
        }
    }

    void ask(std::size_t sentinel) {
        true_time& arrival = lines_[sentinel].asked;
        arrival = std::max(arrival, world_.now() + world_.delay());
        world_.at(arrival, [this, sentinel] {
            if (cut_until_[sentinel] > world_.now()) {
                hear(sentinel, std::nullopt);
            } else {
                hear(sentinel, voter_.sentinel(sentinel));
            }
        });
    }

    void hear(std::size_t sentinel, const std::optional<voter::opinion>& what) {
        const duration age = what ? world_.now() - what->since : duration{};
        true_time& arrival = lines_[sentinel].answered;
        arrival = std::max(arrival, world_.now() + world_.delay());
        world_.at(arrival, [this, sentinel, what, age] {
            client_.run_or_defer([this, sentinel, what, age] {
                if (what) {
                    opinions_[sentinel] = redis::named_master{"node", std::to_string(what->node),
                                                              client_.now() - age};
                } else {
                    opinions_[sentinel].reset();
                }
                follow();
            });
        });
    }

    [[nodiscard]] redis::named_master opinion_of(std::size_t sentinel) const {
        constexpr duration for_long = 1h;
        return {"node", std::to_string(voter_.sentinel(sentinel).node), client_.now() - for_long};
    }

    void follow() {
        if (const auto agreed = redis::agreed_master(opinions_)) {
            use(agreed);
        } else if (named_ && redis::is_contradicted(*named_, opinions_)) {
            use(std::nullopt);
        }
    }

    void use(const std::optional<redis::named_master>& next) {
        const bool same = next && named_ && next->same_place(*named_);
        named_ = next;
        if (same) {
            return;
        }
        if (world_.tracing()) {
            world_.tell(client_.who(), "uses " + (next ? "node " + next->port : "no node") +
                                           " of instance " + std::to_string(index_));
        }
        if (master_ != nullptr) {
            std::exchange(master_, nullptr)->close();
        }
        if (next) {
            master_ = &connect_to(std::stoul(next->port));
            master_->start();
        }
    }

    /// The order of messages to and from a Sentinel. As in `redis::sentinel_watch`, they all use one
    /// connection. A reply from before a failover therefore never arrives after a reply that reports the
    /// failover.
    struct line {
        true_time asked{};     // When the latest query arrives.
        true_time answered{};  // When the latest reply arrives.
    };

    std::vector<std::optional<redis::named_master>> opinions_;
    std::vector<line> lines_;
    std::vector<true_time> cut_until_;
    std::optional<redis::named_master> named_;
    connection* master_ = nullptr;
};

// --- Cluster ----------------------------------------------------------------------------------------

/// Corresponds to `redis::cluster`. In addition, the commands of a token never overtake each other. Otherwise
/// an acquire on the former node could be given up after a `heal` on the new one.
class cluster_route final : public route {
public:
    cluster_route(world& w, client& c, voter& v, std::size_t index) : route(w, c, v, index) {
        for (std::size_t slot = 0; slot != voter::slot_count; ++slot) {
            map_.push_back(v.owner_of(slot));
        }
        select_map();
        for (const std::size_t owner : map_) {
            node_at(owner);
        }
    }

    void send(const request& r) override {
        if (redis::spans_slots(r.command)) {
            request divided = r;
            divided.names = std::make_shared<std::vector<std::string_view>>();
            divided.rest = redis::divide_by_slot(r.command, *divided.names);
            divided.groups.emplace();
            take_next(divided);
            wait(divided, world_.now());
        } else if (is_on_detour(r.command.key) || is_elsewhere(r)) {
            wait(r, world_.now());
        } else {
            send_to_owner(r);
        }
    }

    void on_answer(const request& r, const core::vote& v) override {
        arrived(r);
        if (r.groups) {
            client_.run_or_defer([this, r, v] { on_group(r, v); });
        } else if (!r.rest.empty() && v.kind == core::vote_kind::granted) {
            client_.run_or_defer([this, r] {
                request next = client_.unsent(index_, r);
                take_next(next);
                next.is_partly_done = true;
                next.asks.reset();
                wait(next, world_.now());
            });
        } else if (r.is_partly_done && v.kind != core::vote_kind::granted &&
                   !core::outcome_unknown(v.reason)) {  // The key exists.
            route::on_answer(r, core::vote::failed(core::failure::unclear_error));
        } else {
            route::on_answer(r, v);
        }
    }

    void on_redirected(const request& r, const redis::redirection& to) override {
        arrived(r);
        client_.run_or_defer([this, r, to] { follow(client_.unsent(index_, r), to); });
    }

    bool send_again(connection& way, const request& r, script_form form) override {
        const bool is_sent = route::send_again(way, r, form);
        if (!is_sent) {
            arrived(r);
        }
        return is_sent;
    }

    [[nodiscard]] std::uint64_t keeper_id() const override { return keeper_id_of(map_.front()); }

    core::time_point admit(const server& s) override {
        if (std::exchange(cluster_, voter_.cluster()) != voter_.cluster()) {
            // mutant: replaced_server_is_trusted
            doubted_ = true;
            refresh();
        }
        if (!s.was_promoted()) {
            return core::time_point::min();
        }
        constexpr std::size_t most = 100;
        return end_of_quarantine(
            promotions_.first_seen(s.term(), client_.now(), world_.faults().quarantine, most));
    }

    void on_accepting() override {
        route::on_accepting();
        if (!detours_.empty()) {
            wake_at(world_.now());
        }
    }

    void on_broken() override {
        route::on_broken();
        refresh();
    }

private:
    static constexpr unsigned most_hops = 16;

    struct detour {
        request what;
        true_time not_before;
        true_time give_up_at;
    };

    struct sent {
        const instance::vote_receiver* receiver;
        instance::command_tag tag;
        std::size_t node;
    };

    static void take_next(request& r) {
        r.command = r.rest.front();
        r.rest.erase(r.rest.begin());
        r.is_divided = r.is_divided && !r.groups;
    }

    /// Fails a command whose remaining parts will not be executed.
    void give_up(request r) {
        const core::vote failed = core::vote::failed(core::failure::server_error);
        if (r.groups) {
            r.groups->end(failed);
            const core::vote result = r.groups->result();
            r.groups.reset();
            route::on_answer(r, result);
        } else {
            client_.refuse(index_, r, failed);
        }
    }

    /// Handles the vote on the names of a slot.
    void on_group(request r, const core::vote& v) {
        const bool goes_on = r.groups->add(r.command.step, v);
        if (r.rest.empty() || !goes_on) {
            const core::vote result = r.groups->result();
            r.groups.reset();
            r.is_partly_done = false;
            route::on_answer(r, result);
            return;
        }
        world_.count(fault::divided);
        request next = client_.unsent(index_, std::move(r));
        take_next(next);
        next.is_partly_done = true;
        next.asks.reset();
        wait(next, world_.now());
    }

    void send_to_owner(const request& r) {
        if (core::relies_on_memory(r.command) && (doubted_ || client_.now() < barred_until_)) {
            client_.refuse(index_, r,
                           core::vote::quarantined(doubted_ ? core::never : barred_until_));
            return;
        }
        const std::size_t node = r.asks ? *r.asks : map_[voter_.slot_of(r.command.key)];
        const auto form = r.asks ? std::optional(script_form::asking) : std::nullopt;
        if (client_.send_on(index_, node_at(node), r, form)) {
            sent_.push_back({r.receiver, r.tag, node});
        }
    }

    void arrived(const request& r) {
        const auto found = std::find_if(sent_.begin(), sent_.end(), [&r](const sent& one) {
            return one.receiver == r.receiver && one.tag == r.tag;
        });
        if (found != sent_.end()) {
            sent_.erase(found);
        }
    }

    /// Returns whether a different node than the target has yet to answer an earlier command for this token.
    [[nodiscard]] bool is_elsewhere(const request& r) const {
        const std::size_t owner = map_[voter_.slot_of(r.command.key)];
        return r.hops == 0 && !r.is_divided &&
               std::any_of(sent_.begin(), sent_.end(), [&](const sent& one) {
                   return one.receiver == r.receiver && one.node != owner;
               });
    }

    connection& node_at(std::size_t node) {
        for (const link& one : links_) {
            if (one.node == node) {
                return *one.to;
            }
        }
        connection& made = connect_to(node);
        made.start();
        return made;
    }

    connection& owner_of(const request& r) {
        return node_at(r.asks ? *r.asks : map_[voter_.slot_of(r.command.key)]);
    }

    void follow(request r, const redis::redirection& to) {
        using kind = redis::redirection::kind_type;
        bool is_put_off = true;
        r.asks.reset();
        if (to.kind == kind::moved) {
            follow(std::move(r), std::stoul(to.port));
            return;
        }
        if (to.kind == kind::ask) {
            world_.count(fault::asked);
            r.asks = std::stoul(to.port);
            is_put_off = ++r.hops > 2;
        } else if (to.kind == kind::again) {
            if (!std::exchange(r.is_divided, true)) {
                const std::vector<kinds::command> parts = r.command.kind->apart(r.command);
                is_put_off = parts.empty();
                r.rest.insert(r.rest.begin(), parts.begin(), parts.end());
                if (!parts.empty() && !r.command.more_keys.empty() && !r.groups) {
                    r.groups.emplace();
                }
            }
            if (!is_put_off) {
                world_.count(fault::divided);
                take_next(r);
            } else if (r.command.kind->has_auxiliary_key(r.command) &&
                       !core::takes_key(r.command)) {
                r.hops = most_hops;  // A hint, or a step with an alternative.
            }
        }
        if (r.hops >= most_hops) {
            give_up(r);
            return;
        }
        wait(r, is_put_off ? world_.now() + world_.random.up_to(20ms) : world_.now());
    }

    void follow(request r, std::size_t node) {
        if (world_.tracing()) {
            world_.tell(client_.who(), "is sent on to node " + std::to_string(node) +
                                           " of instance " + std::to_string(index_));
        }
        if (!doubted_) {
            map_[voter_.slot_of(r.command.key)] = node;
        }
        refresh();
        if (++r.hops > most_hops) {
            give_up(r);
            return;
        }
        wait(r, r.hops > 2 ? world_.now() + world_.random.up_to(20ms) : world_.now());
    }

    void wait(const request& r, true_time not_before) {
        constexpr duration stall_timeout = 200ms;
        detours_.push_back({r, not_before, world_.now() + stall_timeout});
        wake_at(not_before + 10us);
    }

    void wake_at(true_time when) {
        if (when < wake_at_) {
            wake_at_ = when;
            client_.post(when, [this, when] {
                if (wake_at_ == when) {
                    wake_at_ = true_time::max();
                }
                send_detours();
            });
        }
    }

    [[nodiscard]] bool is_on_detour(std::string_view key) const {
        return std::any_of(detours_.begin(), detours_.end(),
                           [key](const detour& one) { return one.what.command.key == key; });
    }

    /// Sends the detours that are due, in order.
    void send_detours() {
        std::vector<std::string_view> held_up;
        for (auto it = detours_.begin(); it != detours_.end();) {
            const std::string_view key = it->what.command.key;
            if (std::find(held_up.begin(), held_up.end(), key) != held_up.end()) {
                ++it;
                continue;
            }
            connection& to = owner_of(it->what);
            const bool in_time = world_.now() < it->give_up_at;
            if (in_time &&
                (world_.now() < it->not_before || !to.ready() || is_elsewhere(it->what))) {
                held_up.push_back(key);
                wake_at(std::max(it->not_before, world_.now() + 5ms));
                ++it;
                continue;
            }
            const request r = it->what;
            it = detours_.erase(it);
            if (in_time) {
                send_to_owner(r);
            } else {
                give_up(r);
            }
        }
    }

    /// Asks a node for the map. Repeats this while a slot is not served.
    void refresh() {
        if (std::exchange(asking_, true)) {
            return;
        }
        client_.post(world_.now() + world_.delay() + world_.delay(), [this] {
            asking_ = false;
            const std::vector<std::size_t> former = map_;
            bool all_served = select_map();
            const bool changed = map_ != former;
            for (const std::size_t owner : map_) {
                all_served = node_at(owner).ready() && all_served;
            }
            if (changed) {  // Unsent commands can be sent again.
                client_.on_accepting(index_);
            }
            if (!all_served) {
                client_.post(world_.now() + 20ms, [this] { refresh(); });
            }
        });
    }

    /// Returns the map that a node reports. Each slot here stands for many.
    [[nodiscard]] redis::cluster_map reported_map() const {
        constexpr std::size_t width = redis::slot_count / voter::slot_count;
        const auto id_of = [this](std::size_t node) {
            return std::to_string(voter_.cluster()) + "." + std::to_string(node);
        };
        redis::cluster_map result;
        for (std::size_t slot = 0; slot != voter::slot_count; ++slot) {
            const std::size_t owner = voter_.owner_of(slot);
            result.ranges.push_back({slot * width, (slot + 1) * width - 1, "node",
                                     std::to_string(owner), id_of(owner)});
        }
        for (std::size_t i = 0; i != voter_.size(); ++i) {
            result.ids.insert(id_of(i));
        }
        result.epoch = voter_.epoch();
        result.is_ok = true;
        return result;
    }

    /// Selects a map, as `redis::cluster` does after a sweep. Returns whether there is a usable one.
    bool select_map() {
        selection_.begin();
        selection_.add("a node", reported_map());
        const redis::map_decision decided = selection_.decide(client_.now());
        if (!decided.map) {
            return false;
        }
        if (decided.is_another) {
            // mutant: another_cluster_without_quarantine
            barred_until_ = end_of_quarantine(client_.now());
        }
        doubted_ = false;
        for (std::size_t slot = 0; slot != map_.size(); ++slot) {
            map_[slot] = std::stoul(decided.map->ranges[slot].port);
        }
        return true;
    }

    std::vector<std::size_t> map_;  // The client's view of the node for each slot.
    redis::map_selection selection_;
    std::uint64_t cluster_ = voter_.cluster();  // The cluster of the last connected server.
    bool doubted_ = false;                      // That server has not yet confirmed this cluster.
    core::time_point barred_until_ = core::time_point::min();  // For all slots.
    std::deque<detour> detours_;
    std::vector<sent> sent_;  // Sent but not answered.
    redis::seen_promotions promotions_;
    true_time wake_at_ = true_time::max();
    bool asking_ = false;
};

}  // namespace

// --- All routes -------------------------------------------------------------------------------------

route::route(world& w, client& c, voter& v, std::size_t index)
    : world_(w), client_(c), voter_(v), index_(index) {}

connection& route::connect_to(std::size_t node) {
    links_.push_back({node, std::make_unique<connection>(world_, voter_, node, client_.who(),
                                                         client_.clock(), last_executed_, *this)});
    connection& made = *links_.back().to;
    for (const auto d : {connection::to_server, connection::to_client}) {
        made.block(d, blocked_until_[d]);
    }
    return made;
}

/// Returns the end of a replica's quarantine. All clients have left its former master by then.
core::time_point route::end_of_quarantine(core::time_point since) const {
    // mutant: failover_quarantine_off
    return core::gone_at(since, world_.faults().quarantine, world_.profile().drift);
}

void route::reset() {
    links_[world_.random.below(links_.size())].to->reset();
}

void route::reset(std::optional<duration> deliver_after) {
    for (link& one : links_) {
        one.to->reset(deliver_after);
    }
}

void route::reset(std::size_t node, std::optional<duration> deliver_after) {
    for (link& one : links_) {
        if (one.node == node) {
            one.to->reset(deliver_after);
        }
    }
}

void route::block(connection::direction d, true_time until) {
    blocked_until_[d] = std::max(blocked_until_[d], until);
    for (link& one : links_) {
        one.to->block(d, until);
    }
}

void route::abandon() {
    for (link& one : links_) {
        one.to->abandon();
    }
}

void route::close() {
    for (link& one : links_) {
        one.to->close();
    }
}

bool route::connected() const {
    return std::ranges::any_of(links_, [](const link& one) { return one.to->ready(); });
}

bool route::ready() const {
    return std::ranges::any_of(links_, [this](const link& one) {
        return one.to->ready() && client_.now() >= one.to->quarantined_until();
    });
}

core::time_point route::quarantined_until() const {
    core::time_point last = core::time_point::min();
    for (const link& one : links_) {
        if (one.to->ready()) {
            last = std::max(last, one.to->quarantined_until());
        }
    }
    return last;
}

std::uint64_t route::keeper_id_of(std::size_t node) const {
    constexpr std::uint64_t most_nodes = 100;
    return voter_.kind().tells_changes ? 1 + index_ * most_nodes + node : 0;
}

void route::on_broken() {
    client_.run_or_defer([this] { client_.on_broken(index_); });
}

void route::on_key_changed(const std::string& key) {
    client_.run_or_defer([this, key] { client_.on_key_changed(index_, key); });
}

void route::on_accepting() {
    client_.run_or_defer([this] { client_.on_accepting(index_); });
}

void route::run_or_defer(world::step what) {
    client_.run_or_defer(std::move(what));
}

bool route::send_again(connection& way, const request& r, script_form form) {
    return client_.send_on(index_, way, client_.unsent(index_, r), form, true);
}

void route::on_answer(const request& r, const core::vote& v) {
    client_.run_or_defer([this, r, v] { client_.on_answer(index_, r, v); });
}

std::unique_ptr<route> make_route(world& w, client& c, voter& v, std::size_t index) {
    switch (v.kind().kind) {
        case topology::sentinel:
            return std::make_unique<sentinel_route>(w, c, v, index);
        case topology::cluster:
            return std::make_unique<cluster_route>(w, c, v, index);
        case topology::standalone:
            break;
    }
    return std::make_unique<standalone_route>(w, c, v, index);
}

}  // namespace colock::simulation
